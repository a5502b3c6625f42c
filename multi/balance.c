/* balance.c: parts made of rows, and moving the borders between them.
 *
 * New parts are made beside the old ones, each by its device: on the cpu from CSR in host memory, on GPUs from the rows
 * that it has and those that it gets from others, GPU to GPU; where a row may have an entry more than once, by way of
 * the host. Old parts are kept by the views that show them. */
#include "dcsr/view/view_data.h"
#include "multi/fetch_rows_cuda.h"
#include "multi/multi_data.h"
#include <dcsr/convert.h>

/* ---- Borders by entries ---- */

static uint64_t entries_before(const void *of, uint64_t row)
{
    const dcsr_i_pieces *pieces = of;
    const dcsr_i_borders *borders = pieces->borders;
    if (row == borders->begin[borders->parts]) return pieces->before[borders->parts];
    const uint64_t k = dcsr_i_owner(borders, row);
    return pieces->before[k] + pieces->csr[k].offsets[row - borders->begin[k]];
}

/* The row from low to high before which as near to so many entries are as may be, by bisection. */
static uint64_t row_before(dcsr_i_entries_before *before, const void *of, uint64_t low, uint64_t high,
                           uint64_t wanted)
{
    const uint64_t least = low;
    while (low < high) { /* the first row with at least `wanted` entries before it */
        const uint64_t middle = low + (high - low) / 2;
        if (before(of, middle) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low > least && wanted - before(of, low - 1) < before(of, low) - wanted ? low - 1 : low;
}

/* Two levels: first the borders between nodes of memory, by how many devices each has; then within the range of each
 * node those between its devices, which share what is there. */
dcsr_i_borders *dcsr_i_borders_by_entries(const dcsr_multi *devices, uint64_t rows,
                                          dcsr_i_entries_before *before, const void *of)
{
    const uint64_t parts = dcsr_i_multi_count(devices), nnz = before(of, rows);
    dcsr_i_borders *created = dcsr_i_borders_create(parts);
    if (!created) return NULL;
    uint64_t *begin = created->begin;
    for (uint64_t k = 0, end; k < parts; k = end) {
        end = dcsr_i_multi_node_end(devices, k);
        begin[end] =
            end == parts ? rows : row_before(before, of, begin[k], rows, dcsr_i_even_border(nnz, end, parts));
        const uint64_t first = before(of, begin[k]), here = before(of, begin[end]) - first;
        for (uint64_t i = k + 1; i < end; i++)
            begin[i] = row_before(before, of, begin[i - 1], begin[end],
                                  first + dcsr_i_even_border(here, i - k, end - k));
    }
    return created;
}

dcsr_i_borders *dcsr_i_borders_of_pieces(const dcsr_multi *devices, const dcsr_i_pieces *pieces)
{
    return dcsr_i_borders_round(
        dcsr_i_borders_by_entries(devices, dcsr_i_borders_end(pieces->borders), entries_before, pieces),
        dcsr_i_multi_grain(devices));
}

/* ---- Building parts ---- */

typedef struct building {
    dcsr_matrix **part;
    dcsr_multi *devices;
    const dcsr_i_borders *borders;
    const dcsr_i_pieces *pieces;
    const dcsr_matrix_options *options;
} building;

/* The rows first to end - 1 of the piece that has them all: its columns and values, with offsets from 0. */
static void lend(dcsr_csr *csr, const dcsr_csr *piece, uint64_t *offsets, uint64_t first, uint64_t end)
{
    const uint64_t begin = piece->offsets[first];
    for (uint64_t i = 0; i <= end - first; i++) offsets[i] = piece->offsets[first + i] - begin;
    csr->col_indices = piece->col_indices + begin;
    csr->values = piece->values ? (const char *)piece->values + begin * dcsr_type_size(csr->type) : NULL;
}

/* Copies the rows first to end - 1 of the whole behind one another. */
static void gather(uint64_t *offsets, uint32_t *cols, char *values, size_t size, const dcsr_i_pieces *pieces,
                   uint64_t first, uint64_t end)
{
    const dcsr_i_borders *borders = pieces->borders;
    uint64_t to = 0, next = 0;
    for (uint64_t k = dcsr_i_owner(borders, first); first < end; k++) {
        const uint64_t until = borders->begin[k + 1] < end ? borders->begin[k + 1] : end;
        if (until <= first) continue;
        const dcsr_csr *piece = &pieces->csr[k];
        const uint64_t *from = piece->offsets + (first - borders->begin[k]), rows = until - first;
        for (uint64_t i = 0; i < rows; i++) offsets[next++] = to + (from[i] - from[0]);
        const uint64_t n = from[rows] - from[0];
        memcpy(cols + to, piece->col_indices + from[0], n * sizeof *cols);
        if (size) memcpy(values + to * size, (const char *)piece->values + from[0] * size, n * size);
        to += n;
        first = until;
    }
    offsets[next] = to;
}

/* A task of the device's: makes its part. */
static dcsr_status build_part(void *user, uint64_t k)
{
    const building *b = user;
    const dcsr_i_pieces *pieces = b->pieces;
    dcsr_context *context = dcsr_i_multi_context(b->devices, k);
    const uint64_t first = b->borders->begin[k], end = b->borders->begin[k + 1], rows = end - first;
    dcsr_csr csr = pieces->csr[0];
    const size_t size = dcsr_type_size(csr.type);
    csr.rows = rows;
    csr.nnz = entries_before(pieces, end) - entries_before(pieces, first);
    if (!rows) return dcsr_matrix_create(&b->part[k], context, csr.type, 0, csr.cols, b->options);
    const uint64_t piece = dcsr_i_owner(pieces->borders, first);
    const bool whole = end <= pieces->borders->begin[piece + 1];
    const uint64_t copied = whole ? 0 : csr.nnz;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t *offsets = dcsr_i_alloc(context, DCSR_I_SCRATCH, rows + 1, sizeof *offsets);
    uint32_t *cols = dcsr_i_alloc(context, DCSR_I_SCRATCH, copied, sizeof *cols);
    char *values = dcsr_i_alloc(context, DCSR_I_SCRATCH, copied, size);
    if (offsets && cols && values) {
        if (whole) {
            const uint64_t border = pieces->borders->begin[piece];
            lend(&csr, &pieces->csr[piece], offsets, first - border, end - border);
        } else {
            gather(offsets, cols, values, size, pieces, first, end);
            csr.col_indices = cols;
            csr.values = size ? values : NULL;
        }
        csr.offsets = offsets;
        status = dcsr_matrix_from_csr(&b->part[k], context, &csr, b->options);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, values, copied, size);
    dcsr_i_free(context, DCSR_I_SCRATCH, cols, copied, sizeof *cols);
    dcsr_i_free(context, DCSR_I_SCRATCH, offsets, rows + 1, sizeof *offsets);
    return status;
}

dcsr_status dcsr_i_parts_build(dcsr_matrix **part, dcsr_multi *devices, const dcsr_i_borders *borders,
                               const dcsr_i_pieces *pieces, const dcsr_matrix_options *options)
{
    building b = {part, devices, borders, pieces, options};
    for (uint64_t k = 0; k < borders->parts; k++) part[k] = NULL;
    dcsr_status status = dcsr_multi_run(devices, build_part, &b);
    for (uint64_t k = 0; k < borders->parts && status != DCSR_OK; k++) {
        dcsr_matrix_destroy(part[k]);
        part[k] = NULL;
    }
    return status;
}

/* ---- Moving borders ---- */

/* What the parts hold: CSR in host memory, or on GPUs only the offsets of that. */
typedef struct moving {
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *view;
    bool by_gpus;
    uint64_t *offsets[DCSR_MAX_DEVICES];
    dcsr_i_pieces pieces;
    dcsr_i_borders *borders; /* as they will be */
    dcsr_matrix *part[DCSR_MAX_DEVICES];
    uint64_t bytes[DCSR_MAX_DEVICES];
} moving;

static dcsr_status (*const row_offsets)(uint64_t *, dcsr_view *) = DCSR_I_IN_CUDA(dcsr_i_cuda_row_offsets);
static dcsr_status (*const fetch_rows)(dcsr_matrix **, dcsr_context *, dcsr_multi_view *,
                                       const dcsr_i_wanted_rows *, const dcsr_matrix_options *, uint64_t,
                                       uint64_t *) = DCSR_I_IN_CUDA(dcsr_i_cuda_fetch_rows);

static uint64_t rows_of(const dcsr_i_borders *borders, uint64_t k)
{
    return borders->begin[k + 1] - borders->begin[k];
}

static dcsr_status look_at_part(void *user, uint64_t k)
{
    moving *m = user;
    dcsr_csr *csr = &m->pieces.csr[k];
    if (!m->by_gpus) return dcsr_view_get_csr_on_host(m->view->part[k], csr);
    const uint64_t rows = rows_of(m->view->rows, k);
    m->offsets[k] = dcsr_i_alloc(m->matrix->home, DCSR_I_SCRATCH, rows + 1, sizeof *m->offsets[k]);
    if (!m->offsets[k]) return DCSR_ERROR_OUT_OF_MEMORY;
    DCSR_TRY(row_offsets(m->offsets[k], m->view->part[k]));
    csr->offsets = m->offsets[k];
    csr->nnz = m->offsets[k][rows];
    return DCSR_OK;
}

static dcsr_status fetch_part(void *user, uint64_t k)
{
    moving *m = user;
    dcsr_context *context = dcsr_i_multi_context(m->matrix->devices, k);
    const dcsr_i_wanted_rows rows = {.begin = m->borders->begin[k], .end = m->borders->begin[k + 1]};
    if (rows.begin == rows.end)
        return dcsr_matrix_create(&m->part[k], context, m->matrix->type, 0, m->matrix->cols,
                                  &m->matrix->options);
    return fetch_rows(&m->part[k], context, m->view, &rows, &m->matrix->options, k, &m->bytes[k]);
}

/* All new parts, or none. */
static dcsr_status make_new_parts(moving *m)
{
    dcsr_multi *devices = m->matrix->devices;
    if (!m->by_gpus) return dcsr_i_parts_build(m->part, devices, m->borders, &m->pieces, &m->matrix->options);
    dcsr_status status = dcsr_multi_run(devices, fetch_part, m);
    for (uint64_t k = 0; k < m->borders->parts && status != DCSR_OK; k++) dcsr_matrix_destroy(m->part[k]);
    return status;
}

/* The parts and borders are others from here on. */
static void replace_parts(dcsr_multi_matrix *matrix, dcsr_matrix **part, dcsr_i_borders *borders)
{
    dcsr_matrix *old[DCSR_MAX_DEVICES];
    dcsr_i_borders *rows = matrix->row_borders, *cols = matrix->col_borders;
    pthread_mutex_lock(&matrix->lock);
    memcpy(old, matrix->part, sizeof old);
    memcpy(matrix->part, part, matrix->parts * sizeof *part);
    matrix->row_borders = borders;
    if (cols == rows) matrix->col_borders = dcsr_i_borders_hold(borders);
    matrix->version++;
    matrix->balances++;
    pthread_mutex_unlock(&matrix->lock);
    for (uint64_t k = 0; k < matrix->parts; k++) dcsr_matrix_destroy(old[k]);
    if (cols == rows) dcsr_i_borders_release(cols);
    dcsr_i_borders_release(rows);
}

/* Looks at what the parts hold; then borders are there, if others are better. */
static dcsr_status draw_new_borders(moving *m)
{
    dcsr_multi_matrix *matrix = m->matrix;
    DCSR_TRY(dcsr_i_multi_view_make(&m->view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    m->by_gpus = dcsr_i_multi_goes_by_gpus(m->view);
    if (!m->by_gpus) {
        dcsr_multi_view_destroy(m->view);
        m->view = NULL;
        DCSR_TRY(dcsr_i_multi_view_make(&m->view, matrix, DCSR_LAYOUT_CSR, 0));
    }
    DCSR_TRY(dcsr_multi_run(matrix->devices, look_at_part, m));
    for (uint64_t k = 0; k < matrix->parts; k++)
        m->pieces.before[k + 1] = m->pieces.before[k] + m->pieces.csr[k].nnz;
    m->borders = dcsr_i_borders_of_pieces(matrix->devices, &m->pieces);
    if (!m->borders) return DCSR_ERROR_OUT_OF_MEMORY;
    if (!dcsr_i_borders_equal(m->borders, matrix->row_borders)) return DCSR_OK;
    dcsr_i_borders_release(m->borders);
    m->borders = NULL;
    return DCSR_OK;
}

dcsr_status dcsr_i_multi_move_borders(dcsr_multi_matrix *matrix)
{
    moving m = {.matrix = matrix, .pieces.borders = matrix->row_borders};
    matrix->given = 0;
    dcsr_status status = draw_new_borders(&m);
    if (status == DCSR_OK && m.borders) status = make_new_parts(&m);
    for (uint64_t k = 0; k < matrix->parts; k++)
        if (m.offsets[k])
            dcsr_i_free(matrix->home, DCSR_I_SCRATCH, m.offsets[k], rows_of(matrix->row_borders, k) + 1,
                        sizeof *m.offsets[k]);
    dcsr_multi_view_destroy(m.view);
    if (status == DCSR_OK && m.borders)
        replace_parts(matrix, m.part, m.borders);
    else
        dcsr_i_borders_release(m.borders);
    return status;
}

bool dcsr_i_multi_is_uneven(dcsr_multi_matrix *matrix)
{
    enum { LEAST = 4096 }; /* entries of an equal share: fewer are not worth it */
    uint64_t all = 0, most = 0;
    for (uint64_t k = 0; k < matrix->parts; k++) {
        dcsr_matrix *part = matrix->part[k];
        pthread_mutex_lock(&part->versions.lock);
        const uint64_t stored = part->versions.current->stored;
        pthread_mutex_unlock(&part->versions.lock);
        all += stored;
        if (stored > most) most = stored;
    }
    /* What is given in between pays for moving all, even where a long row keeps its part uneven. */
    return all >= LEAST * matrix->parts && most > all / matrix->parts / 4 * 5 && matrix->given >= all / 8;
}
