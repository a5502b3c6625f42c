/* balance.c: parts made of rows, and moving the borders between them.
 *
 * New parts are made beside the old ones from CSR in host memory, each by its device: on GPUs what moves goes through
 * the host. Old parts are kept by the views that show them. */
#include "dcsr/view/view_data.h"
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

/* The k-th border is at the row before which as near to k shares of the entries are as may be, by bisection. */
dcsr_i_borders *dcsr_i_borders_by_entries(uint64_t parts, uint64_t rows, dcsr_i_entries_before *before,
                                          const void *of)
{
    dcsr_i_borders *created = dcsr_i_borders_create(parts);
    if (!created) return NULL;
    const uint64_t nnz = before(of, rows);
    for (uint64_t k = 1; k < parts; k++) {
        const uint64_t wanted = nnz / parts * k + nnz % parts * k / parts;
        uint64_t low = created->begin[k - 1], high = rows;
        while (low < high) { /* the first row with at least `wanted` entries before it */
            const uint64_t middle = low + (high - low) / 2;
            if (before(of, middle) < wanted)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > created->begin[k - 1] && wanted - before(of, low - 1) < before(of, low) - wanted) low--;
        created->begin[k] = low;
    }
    created->begin[parts] = rows;
    return created;
}

dcsr_i_borders *dcsr_i_borders_of_pieces(uint64_t parts, const dcsr_i_pieces *pieces)
{
    return dcsr_i_borders_by_entries(parts, dcsr_i_borders_end(pieces->borders), entries_before, pieces);
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

/* What the parts hold, as CSR in host memory. */
typedef struct opening {
    dcsr_multi_matrix *matrix;
    dcsr_view *view[DCSR_MAX_DEVICES];
    dcsr_i_pieces pieces;
} opening;

static dcsr_status open_part(void *user, uint64_t k)
{
    opening *o = user;
    DCSR_TRY(dcsr_view_create(&o->view[k], o->matrix->part[k], DCSR_LAYOUT_CSR, 0));
    return dcsr_view_get_csr_on_host(o->view[k], &o->pieces.csr[k]);
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

dcsr_status dcsr_i_multi_move_borders(dcsr_multi_matrix *matrix)
{
    opening o = {.matrix = matrix, .pieces.borders = matrix->row_borders};
    dcsr_matrix *part[DCSR_MAX_DEVICES];
    dcsr_i_borders *borders = NULL;
    matrix->given = 0;
    dcsr_status status = dcsr_multi_run(matrix->devices, open_part, &o);
    if (status == DCSR_OK) {
        for (uint64_t k = 0; k < matrix->parts; k++)
            o.pieces.before[k + 1] = o.pieces.before[k] + o.pieces.csr[k].nnz;
        borders = dcsr_i_borders_of_pieces(matrix->parts, &o.pieces);
        if (!borders) status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    const bool moves = status == DCSR_OK && !dcsr_i_borders_equal(borders, matrix->row_borders);
    if (moves) status = dcsr_i_parts_build(part, matrix->devices, borders, &o.pieces, &matrix->options);
    for (uint64_t k = 0; k < matrix->parts; k++) dcsr_view_destroy(o.view[k]);
    if (moves && status == DCSR_OK)
        replace_parts(matrix, part, borders);
    else
        dcsr_i_borders_release(borders);
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
