/* matrix_move_cuda.c: entries of a matrix, one value, or a vector, to other places, on a device: extraction and
 * assignment, by the kernels of coo_move.cu.
 *
 * Of a vector that is written to a row or a column, its elements and those of its mask become lists with entries
 * in that line alone. In C's turn they are brought together with what C has there; what comes of it takes the
 * place of the line:
 *
 *      accum(held, u) where the mask is true; elsewhere held, or nothing with `replace` */
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/vector/vector_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/store.h"
#include "ops/matrix/coo_kernels_cuda.h"
#include "ops/matrix/matrix_ops_cuda.h"
#include "dcsr/vector/vector_data.h"

/* ---- Lists of indices on the device ---- */

/* Rows and columns that are named, and the arrays of the device's that are to be freed. */
typedef struct places {
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_region region;
    uint32_t *rows, *cols, *positions; /* of columns */
} places;

static dcsr_status bring(uint32_t **there, dcsr_i_cuda_stream *stream, const uint32_t *indices, uint64_t n)
{
    *there = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof **there);
    if (!*there) return dcsr_i_no_memory();
    dcsr_i_cuda_copy(stream, *there, indices, n * sizeof **there);
    return DCSR_OK;
}

/* As the caller has given them: with 64 bits, unless they ascend. */
static dcsr_status bring_given(uint32_t **there, dcsr_i_cuda_stream *stream, const dcsr_i_selected *list)
{
    uint64_t n = list->n;
    if (!list->position) return bring(there, stream, list->sorted, n);
    uint64_t *words = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *words);
    *there = words ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof **there) : NULL;
    if (*there) {
        dcsr_i_cuda_copy(stream, words, list->given, n * sizeof *words);
        dcsr_i_cuda_narrow(stream, words, n, *there, sizeof **there);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, words, n, sizeof *words);
    return *there ? DCSR_OK : dcsr_i_no_memory();
}

/* Neighbours need no array. */
static dcsr_status bring_indices(dcsr_i_cuda_indices *there, uint32_t **array, dcsr_i_cuda_stream *stream,
                                 const dcsr_i_selected *list, bool as_given)
{
    *there = (dcsr_i_cuda_indices){.first = list->all ? 0 : list->first, .n = list->n};
    if (list->all || list->range) return DCSR_OK;
    DCSR_TRY(as_given ? bring_given(array, stream, list) : bring(array, stream, list->sorted, list->n));
    there->list = *array;
    return DCSR_OK;
}

/* Ascending, or as they were given. To be closed, also after a failure. */
static dcsr_status open_places(places *p, dcsr_i_cuda_stream *stream, const dcsr_i_selected *rows,
                               const dcsr_i_selected *cols, bool as_given)
{
    *p = (places){.stream = stream};
    DCSR_TRY(bring_indices(&p->region.rows, &p->rows, stream, rows, as_given));
    return bring_indices(&p->region.cols, &p->cols, stream, cols, as_given);
}

static void close_places(places *p)
{
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->positions, p->region.cols.n, sizeof *p->positions);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->cols, p->region.cols.n, sizeof *p->cols);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->rows, p->region.rows.n, sizeof *p->rows);
}

/* Keeps the entries of the region. */
static dcsr_status choose_inside(dcsr_i_cuda_coo *list, const places *p)
{
    uint64_t n = list->n;
    uint32_t *keep = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, n, sizeof *keep);
    if (!keep) return dcsr_i_no_memory();
    dcsr_i_cuda_coo_mark_inside(p->stream, list, &p->region, keep);
    dcsr_status status = dcsr_i_cuda_coo_choose(list, p->stream, keep);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, keep, n, sizeof *keep);
    return status;
}

/* ---- Extract ---- */

typedef struct moving {
    const dcsr_i_matrix_output *out;
    dcsr_view *A;
    const dcsr_i_selected *rows, *cols;
    uint64_t *read; /* of extraction: gets the entries of the rows that are named */
} moving;

static dcsr_status multiply(dcsr_i_cuda_coo *list, const places *p, uint64_t *begin)
{
    dcsr_i_cuda_coo all;
    uint64_t *total = dcsr_i_cuda_landing(p->stream, sizeof *total);
    if (!total) return dcsr_i_no_memory();
    dcsr_i_cuda_coo_count_named(p->stream, list, &p->region.cols, begin);
    DCSR_TRY(dcsr_i_cuda_scan_u64(p->stream, begin, begin, list->n));
    dcsr_i_cuda_copy(p->stream, total, begin + list->n, sizeof *total);
    DCSR_TRY(dcsr_i_cuda_wait(p->stream, "extracting entries"));
    DCSR_TRY(dcsr_i_cuda_coo_open(&all, p->stream, list->type, list->rows, list->cols, *total));
    dcsr_i_cuda_coo_multiply(p->stream, list, begin, &p->region.cols, &all);
    dcsr_i_cuda_coo_close(list, p->stream);
    *list = all;
    return DCSR_OK;
}

/* Where columns are named more than once. */
static dcsr_status extract_repeated(dcsr_i_cuda_coo *list, const places *p)
{
    uint64_t count = list->n + 1, *begin = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, count, sizeof *begin);
    if (!begin) return dcsr_i_no_memory();
    dcsr_status status = multiply(list, p, begin);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, begin, count, sizeof *begin);
    return status;
}

static dcsr_status extract_once(dcsr_i_cuda_coo *list, const places *p)
{
    DCSR_TRY(choose_inside(list, p));
    dcsr_i_cuda_coo_renumber(p->stream, list, &p->region.cols);
    return DCSR_OK;
}

/* The entries of the rows that are named, in that order. */
static dcsr_status extract_rows(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const moving *m)
{
    bool transposed = m->out->desc && m->out->desc->transpose_a;
    uint32_t *rows;
    if (m->rows->all) return dcsr_i_cuda_coo_of_view(T, stream, m->A, transposed);
    DCSR_TRY(bring_given(&rows, stream, m->rows));
    dcsr_status status = dcsr_i_cuda_coo_of_rows(T, stream, m->A, transposed, rows, m->rows->n);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, rows, m->rows->n, sizeof *rows);
    return status;
}

/* Of these the columns that are named. */
static dcsr_status extract_cols(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const dcsr_i_selected *cols)
{
    const dcsr_i_selected rows = {.all = true, .n = T->rows};
    places p;
    dcsr_status status = open_places(&p, stream, &rows, cols, false);
    if (status == DCSR_OK && cols->position) status = bring(&p.positions, stream, cols->position, cols->n);
    p.region.cols.position = p.positions;
    if (status == DCSR_OK) status = cols->repeats > 1 ? extract_repeated(T, &p) : extract_once(T, &p);
    close_places(&p);
    T->cols = cols->n;
    return status == DCSR_OK && cols->position ? dcsr_i_cuda_coo_sort(T, stream) : status;
}

static dcsr_status compute_extract(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const moving *m = user;
    DCSR_TRY(extract_rows(T, stream, m));
    *m->read = T->n;
    return m->cols->all ? DCSR_OK : extract_cols(T, stream, m->cols);
}

static dcsr_status extract(const dcsr_i_matrix_output *out, dcsr_view *A, const dcsr_i_selected *rows,
                           const dcsr_i_selected *cols)
{
    uint64_t read;
    DCSR_TRY(dcsr_i_cuda_matrix_run(out, compute_extract, &(moving){out, A, rows, cols, &read}, 0));
    if (out->desc && out->desc->report) out->desc->report->entries = read;
    return DCSR_OK;
}

/* ---- Assign ---- */

static dcsr_status compute_assign(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const moving *m = user;
    const dcsr_desc *desc = m->out->desc;
    places p;
    DCSR_TRY(dcsr_i_cuda_coo_of_view(T, stream, m->A, desc && desc->transpose_a));
    if (m->rows->all && m->cols->all) return DCSR_OK;
    dcsr_status status = open_places(&p, stream, m->rows, m->cols, true);
    if (status == DCSR_OK) dcsr_i_cuda_coo_move(stream, T, &p.region);
    close_places(&p);
    T->rows = m->rows->size;
    T->cols = m->cols->size;
    bool in_order = !m->rows->position && !m->cols->position;
    return status == DCSR_OK && !in_order ? dcsr_i_cuda_coo_sort(T, stream) : status;
}

static dcsr_status assign(const dcsr_i_matrix_output *out, dcsr_view *A, const dcsr_i_selected *rows,
                          const dcsr_i_selected *cols)
{
    const dcsr_i_region region = {dcsr_i_selected_list(rows), dcsr_i_selected_list(cols)};
    dcsr_i_matrix_output to = *out;
    if (!rows->all || !cols->all) to.region = &region;
    return dcsr_i_cuda_matrix_run(&to, compute_assign, &(moving){out, A, rows, cols, NULL},
                                  dcsr_i_view_rows(A)->device.stored);
}

/* ---- Assign a scalar ---- */

typedef struct filling {
    const dcsr_i_matrix_output *out;
    const void *value;
    dcsr_type type;
    const dcsr_i_selected *rows, *cols;
} filling;

/* The places of the region where the mask is true; all, where it does not name those. */
static dcsr_status find_places(dcsr_i_cuda_coo *T, const filling *f, const places *p)
{
    const dcsr_i_matrix_output *out = f->out;
    bool complement = out->desc && out->desc->mask_complement;
    if (out->mask && !complement) {
        DCSR_TRY(dcsr_i_cuda_mask_places(T, p->stream, out->mask, out->desc));
        return f->rows->all && f->cols->all ? DCSR_OK : choose_inside(T, p);
    }
    bool nowhere = !out->mask && complement;
    DCSR_TRY(dcsr_i_cuda_coo_open(T, p->stream, DCSR_PATTERN, f->rows->size, f->cols->size,
                                  nowhere ? 0 : f->rows->n * f->cols->n));
    dcsr_i_cuda_coo_name_all(p->stream, &p->region, T);
    return DCSR_OK;
}

/* Gives the entries of a pattern the value; it is cast before, where it is not to be accumulated. */
static dcsr_status set_values(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const filling *f)
{
    const dcsr_type to = f->out->C->type, type = f->out->accum ? f->type : to;
    if (type == DCSR_PATTERN || to == DCSR_PATTERN) return DCSR_OK;
    dcsr_i_scalar value = {0};
    dcsr_i_cast(type, &value, f->type, f->value, 1);
    T->values = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, T->capacity, dcsr_type_size(type));
    if (!T->values) return dcsr_i_no_memory();
    T->type = type;
    dcsr_i_cuda_coo_set_values(stream, T, value);
    return DCSR_OK;
}

static dcsr_status compute_filling(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const filling *f = user;
    places p;
    dcsr_status status = open_places(&p, stream, f->rows, f->cols, false);
    if (status == DCSR_OK) status = find_places(T, f, &p);
    close_places(&p);
    T->rows = f->rows->size;
    T->cols = f->cols->size;
    return status == DCSR_OK ? set_values(T, stream, f) : status;
}

static dcsr_status assign_scalar(const dcsr_i_matrix_output *out, const void *value, dcsr_type type,
                                 const dcsr_i_selected *rows, const dcsr_i_selected *cols)
{
    const dcsr_i_region region = {dcsr_i_selected_list(rows), dcsr_i_selected_list(cols)};
    dcsr_i_matrix_output to = *out;
    bool named = out->mask && !(out->desc && out->desc->mask_complement);
    if (!rows->all || !cols->all) to.region = &region;
    return dcsr_i_cuda_matrix_run(&to, compute_filling, &(filling){out, value, type, rows, cols},
                                  named ? dcsr_i_view_rows(out->mask)->device.stored : rows->n * cols->n);
}

/* ---- Assign a vector to a row or a column ---- */

typedef struct assignment {
    const dcsr_i_matrix_output *out;
    const dcsr_vector *mask, *u;
    uint32_t line;
    bool column;         /* the line is one */
    uint64_t rows, cols; /* of C */
} assignment;

/* ---- Lists ---- */

static dcsr_status list_of_vector(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, const assignment *x,
                                  const dcsr_vector *vector)
{
    dcsr_i_cuda_body body;
    DCSR_TRY(dcsr_i_cuda_vector_read(&body, vector, stream, DCSR_CUDA_SPARSE));
    DCSR_TRY(dcsr_i_cuda_coo_open(list, stream, vector->type, x->rows, x->cols, body.nvals));
    dcsr_i_cuda_coo_line_up(stream, body.indices, x->line, x->column, list);
    dcsr_i_cuda_copy(stream, list->values, body.values, body.nvals * vector->value_size);
    return DCSR_OK;
}

/* Keeps the entries of the line; or, where that is NULL, those whose values are not 0. */
static dcsr_status choose(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_region *line)
{
    uint64_t n = list->n;
    uint32_t *keep = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *keep);
    if (!keep) return dcsr_i_no_memory();
    if (line)
        dcsr_i_cuda_coo_mark_inside(stream, list, line, keep);
    else
        dcsr_i_cuda_coo_mark_true(stream, list, keep);
    dcsr_status status = dcsr_i_cuda_coo_choose(list, stream, keep);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, keep, n, sizeof *keep);
    return status;
}

/* Whether any of what C has in the line may stay, or is accumulated with. */
static bool is_held_wanted(const assignment *x)
{
    const dcsr_desc *desc = x->out->desc;
    bool masked = x->mask || (desc && desc->mask_complement);
    return x->out->accum || (masked && !(desc && desc->replace));
}

static dcsr_status read_row(dcsr_i_cuda_coo *held, dcsr_i_cuda_stream *stream, const assignment *x)
{
    uint32_t *row;
    DCSR_TRY(bring(&row, stream, &x->line, 1));
    dcsr_status status = dcsr_i_cuda_coo_of_held(held, NULL, x->out->C, row, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, row, 1, sizeof *row);
    return status;
}

/* What C has in the line, in its turn. */
static dcsr_status read_held(dcsr_i_cuda_coo *held, dcsr_i_cuda_stream *stream, const assignment *x)
{
    const dcsr_i_cuda_indices one = {.first = x->line, .n = 1}, rows = {.n = x->rows}, cols = {.n = x->cols};
    const dcsr_i_cuda_region line = {x->column ? rows : one, x->column ? one : cols};
    dcsr_view *view;
    if (!x->column) return read_row(held, stream, x);
    DCSR_TRY(dcsr_view_create(&view, x->out->C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    dcsr_status status = dcsr_i_cuda_coo_of_view(held, stream, view, false);
    dcsr_view_destroy(view);
    return status == DCSR_OK ? choose(held, stream, &line) : status;
}

/* A mask that is NULL and complemented is true nowhere, as one without elements. */
static dcsr_status read_mask(dcsr_i_cuda_coo *allowed, dcsr_i_cuda_stream *stream, const assignment *x)
{
    const dcsr_desc *desc = x->out->desc;
    if (!x->mask) return DCSR_OK;
    DCSR_TRY(list_of_vector(allowed, stream, x, x->mask));
    return desc && desc->mask_structure ? DCSR_OK : choose(allowed, stream, NULL);
}

/* ---- Bringing them together ---- */

/* *to, which may be one of the two, becomes what merging them gives, as values of C's type. */
static dcsr_status merge(dcsr_i_cuda_coo *to, dcsr_i_cuda_stream *stream, const assignment *x,
                         const dcsr_i_cuda_coo *a, const dcsr_i_cuda_coo *b, dcsr_i_cuda_merging how)
{
    dcsr_i_cuda_coo merged;
    how.type = x->out->C->type;
    DCSR_TRY(dcsr_i_cuda_coo_merge(&merged, stream, a, b, &how));
    dcsr_i_cuda_coo_close(to, stream);
    *to = merged;
    return DCSR_OK;
}

/* T has u's elements before, and is afterwards what is written through the mask. */
static dcsr_status write_through(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const assignment *x,
                                 dcsr_i_cuda_coo *held, const dcsr_i_cuda_coo *allowed)
{
    const dcsr_desc *desc = x->out->desc;
    bool masked = x->mask || (desc && desc->mask_complement);
    bool complement = x->mask && desc && desc->mask_complement;
    if (x->out->accum)
        DCSR_TRY(merge(T, stream, x, held, T,
                       (dcsr_i_cuda_merging){.x = true, .y = true, .both = true, .op = x->out->accum}));
    if (!masked) return DCSR_OK;
    DCSR_TRY(merge(T, stream, x, T, allowed, (dcsr_i_cuda_merging){.x = complement, .both = !complement}));
    if (desc && desc->replace) return DCSR_OK;
    DCSR_TRY(
        merge(held, stream, x, held, allowed, (dcsr_i_cuda_merging){.x = !complement, .both = complement}));
    return merge(T, stream, x, T, held, (dcsr_i_cuda_merging){.x = true, .y = true});
}

static dcsr_status compute_line(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const assignment *x = user;
    const dcsr_i_table *current = x->out->C->versions.current;
    dcsr_i_cuda_coo held = {0}, allowed = {0};
    DCSR_TRY(
        dcsr_i_check_shape(x->out->call, "C", current->rows, current->cols, "the result", x->rows, x->cols));
    dcsr_status status = is_held_wanted(x) ? read_held(&held, stream, x) : DCSR_OK;
    if (status == DCSR_OK) status = read_mask(&allowed, stream, x);
    if (status == DCSR_OK) status = list_of_vector(T, stream, x, x->u);
    if (status == DCSR_OK) status = write_through(T, stream, x, &held, &allowed);
    dcsr_i_cuda_coo_close(&allowed, stream);
    dcsr_i_cuda_coo_close(&held, stream);
    return status;
}

static dcsr_status assign_line(const dcsr_i_matrix_output *out, const dcsr_vector *mask, const dcsr_vector *u,
                               uint64_t line, bool column)
{
    /* Mask, accumulator and `replace` are about the line alone. */
    const dcsr_desc desc = {.report = out->desc ? out->desc->report : NULL};
    const dcsr_i_matrix_output to = {
        .call = out->call, .C = out->C, .desc = &desc, .region = out->region, .in_turn = true};
    assignment x = {.out = out, .mask = mask, .u = u, .line = (uint32_t)line, .column = column};
    dcsr_i_shape_queued(out->C, &x.rows, &x.cols);
    return dcsr_i_cuda_matrix_run(&to, compute_line, &x, u->body.nvals);
}

const dcsr_i_matrix_moves dcsr_i_cuda_matrix_moves = {
    .extract = extract, .assign = assign, .assign_scalar = assign_scalar, .assign_line = assign_line};
