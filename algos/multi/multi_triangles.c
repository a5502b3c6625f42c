/* multi_triangles.c: triangles on several devices, as products under a mask.
 *
 *      U             each edge once, from its end of lower degree; of ends of the same degree, from the lower vertex
 *      C<U> = U U    over plus-pair: C[a][c] is how many b are between a and c, where a -> c
 *      D<U> = U U^T  D[a][b] is how many c both a and b lead to, where a -> b
 *
 * A triangle a -> b -> c, a -> c counts once in C, in row a and column c, and once in D, in row a and column b. So the
 * sum of C is the number of triangles, and its sums of rows and columns, with those of D's columns, are in how many
 * each vertex is. Lists are as short as may be (Chiba, Nishizeki 1985); each device fetches those that its vertices
 * lead to. GPUs count them by lists on the devices, where edges go both ways (cuda/multi_triangles_cuda.c). */
#include "algos/multi/cuda/multi_cuda.h"
#include "algos/multi/multi_work.h"
#include <dcsr/extend.h>
#include <string.h>

typedef struct counting {
    dcsr_i_multi_work w;
    dcsr_multi_view_info info, back_info; /* of A, of `back` */
    dcsr_multi_matrix *transpose;         /* where A has not each edge in both directions; else NULL */
    dcsr_multi_view *back;
    uint32_t *degree, *cols;  /* entries of each vertex; columns of U */
    uint64_t *offsets, *next; /* of U; where the next column of a row goes */
    uint64_t kept;
    dcsr_multi_matrix *U;
    dcsr_multi_view *lists;
} counting;

/* ---- Lists ---- */

/* Edges in the other direction: rows of a transpose, which has borders of its own. */
static void transpose(counting *c)
{
    dcsr_i_multi_work *w = &c->w;
    if (!w->status) w->status = dcsr_multi_transpose(&c->transpose, w->A, NULL);
    if (!w->status) w->status = dcsr_multi_view_create(&c->back, c->transpose, DCSR_LAYOUT_SEGMENTS, 0);
    if (!w->status) w->status = dcsr_multi_view_get_info(c->back, &c->back_info);
}

static bool leads(const counting *c, uint64_t from, uint64_t to)
{
    const uint32_t a = c->degree[from], b = c->degree[to];
    return a < b || (a == b && from < to);
}

typedef void use_row(counting *c, uint64_t v, const dcsr_piece *pieces, int count);

/* Calls `use` for rows begin to end - 1 of one that is shown in parts. */
static dcsr_status for_rows_of(counting *c, dcsr_multi_view *view, const dcsr_multi_view_info *info,
                               uint64_t begin, uint64_t end, use_row *use)
{
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < info->parts && !status; k++) {
        const uint64_t first = info->border[k] > begin ? info->border[k] : begin,
                       last = info->border[k + 1] < end ? info->border[k + 1] : end;
        dcsr_view *part;
        if (first < last) status = dcsr_multi_view_get_part(view, k, &part);
        for (uint64_t v = first; v < last && !status; v++) {
            dcsr_piece pieces[DCSR_MAX_SEGMENTS];
            int count;
            status = dcsr_view_get_pieces(part, v - info->border[k], pieces, &count);
            if (!status) use(c, v, pieces, count);
        }
    }
    return status;
}

/* Edges of the device's vertices, in both directions where A has not both. */
static dcsr_status for_rows(counting *c, uint64_t k, use_row *use)
{
    const uint64_t begin = c->info.border[k], end = c->info.border[k + 1];
    dcsr_status status = for_rows_of(c, c->w.A, &c->info, begin, end, use);
    return status || !c->back ? status : for_rows_of(c, c->back, &c->back_info, begin, end, use);
}

static void measure_row(counting *c, uint64_t v, const dcsr_piece *pieces, int count)
{
    uint64_t length = 0;
    for (int p = 0; p < count; p++) length += pieces[p].length;
    length += c->degree[v];
    c->degree[v] = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

static void count_row(counting *c, uint64_t v, const dcsr_piece *pieces, int count)
{
    for (int p = 0; p < count; p++)
        for (uint64_t e = 0; e < pieces[p].length; e++) c->offsets[v + 1] += leads(c, v, pieces[p].cols[e]);
}

static void keep_row(counting *c, uint64_t v, const dcsr_piece *pieces, int count)
{
    for (int p = 0; p < count; p++)
        for (uint64_t e = 0; e < pieces[p].length; e++)
            if (leads(c, v, pieces[p].cols[e])) c->cols[c->next[v]++] = pieces[p].cols[e];
}

static dcsr_status measure_rows(void *user, uint64_t k)
{
    counting *c = user;
    dcsr_status status =
        dcsr_multi_meet(c->info.devices, for_rows(c, k, measure_row)); /* degrees of all are wanted */
    return status ? status : for_rows(c, k, count_row);
}

static dcsr_status keep_rows(void *user, uint64_t k)
{
    return for_rows(user, k, keep_row);
}

static void make_lists(counting *c)
{
    dcsr_i_multi_work *w = &c->w;
    if (w->status) return;
    c->degree = dcsr_context_allocate(w->context, w->n, sizeof *c->degree);
    c->offsets = c->degree ? dcsr_context_allocate(w->context, w->n + 1, sizeof *c->offsets) : NULL;
    w->status = c->offsets ? dcsr_multi_run(c->info.devices, measure_rows, c) : dcsr_thread_status();
    if (w->status) return;
    for (uint64_t v = 0; v < w->n; v++) c->offsets[v + 1] += c->offsets[v];
    c->kept = c->offsets[w->n];
    c->next = dcsr_context_allocate(w->context, w->n, sizeof *c->next);
    c->cols = c->next ? dcsr_context_allocate(w->context, c->kept, sizeof *c->cols) : NULL;
    if (c->cols) memcpy(c->next, c->offsets, w->n * sizeof *c->next);
    w->status = c->cols ? dcsr_multi_run(c->info.devices, keep_rows, c) : dcsr_thread_status();
    const dcsr_csr csr = {.rows = w->n,
                          .cols = w->n,
                          .nnz = c->kept,
                          .type = DCSR_PATTERN,
                          .offsets = c->offsets,
                          .col_indices = c->cols};
    if (!w->status) w->status = dcsr_multi_matrix_from_csr(&c->U, c->info.devices, &csr, NULL);
    if (!w->status)
        w->status = dcsr_multi_view_create(&c->lists, c->U, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
}

/* ---- Counting ---- */

/* The sums of a product's rows and columns, each added to own where that is not NULL, and the sum of all. */
static uint64_t add_sums(counting *c, bool transposed, uint64_t *own_rows, uint64_t *own_cols)
{
    dcsr_i_multi_work *w = &c->w;
    const dcsr_desc desc = {.mask_structure = true, .transpose_b = transposed};
    const uint64_t one = 1, none = 0;
    uint64_t all = 0;
    dcsr_multi_matrix *product = NULL;
    dcsr_multi_view *view = NULL;
    dcsr_multi_vector *ones = NULL, *sums = NULL;
    uint64_t *array = NULL;
    if (!w->status)
        w->status =
            dcsr_multi_mxm(&product, DCSR_UINT32, c->lists, dcsr_semiring_of(DCSR_PLUS_PAIR, DCSR_UINT32),
                           c->lists, c->lists, &desc, NULL);
    if (!w->status) w->status = dcsr_multi_view_create(&view, product, DCSR_LAYOUT_SEGMENTS, 0);
    if (!w->status) w->status = dcsr_multi_vector_create(&ones, view, DCSR_UINT64, false);
    if (!w->status) w->status = dcsr_multi_vector_fill(ones, &one);
    if (!w->status) w->status = dcsr_multi_vector_create(&sums, view, DCSR_UINT64, false);
    if (!w->status && (own_rows || own_cols)) {
        array = dcsr_context_allocate(w->context, w->n, sizeof *array);
        if (!array) w->status = dcsr_thread_status();
    }
    for (int by_columns = 0; by_columns < 2 && !w->status; by_columns++) {
        uint64_t *own = by_columns ? own_cols : own_rows;
        if (by_columns && !own) continue;
        w->status = by_columns
                        ? dcsr_multi_vxm(sums, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_SECOND, DCSR_UINT64),
                                         ones, view, NULL, NULL)
                        : dcsr_multi_mxv(sums, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_FIRST, DCSR_UINT64),
                                         view, ones, NULL, NULL);
        if (!w->status && !by_columns)
            w->status = dcsr_multi_vector_reduce(&all, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_UINT64), sums);
        if (!w->status && own) w->status = dcsr_multi_vector_to_array(sums, &none, array);
        for (uint64_t v = 0; v < w->n && own && !w->status; v++) own[v] += array[v];
    }
    if (array) dcsr_context_free(w->context, array, w->n, sizeof *array);
    dcsr_multi_vector_destroy(ones);
    dcsr_multi_vector_destroy(sums);
    dcsr_multi_view_destroy(view);
    dcsr_multi_matrix_destroy(product);
    return all;
}

static void close(counting *c)
{
    dcsr_i_multi_work *w = &c->w;
    dcsr_multi_view_destroy(c->lists);
    dcsr_multi_matrix_destroy(c->U);
    dcsr_multi_view_destroy(c->back);
    dcsr_multi_matrix_destroy(c->transpose);
    if (c->next) dcsr_context_free(w->context, c->next, w->n, sizeof *c->next);
    if (c->cols) dcsr_context_free(w->context, c->cols, c->kept, sizeof *c->cols);
    if (c->offsets) dcsr_context_free(w->context, c->offsets, w->n + 1, sizeof *c->offsets);
    if (c->degree) dcsr_context_free(w->context, c->degree, w->n, sizeof *c->degree);
}

dcsr_status dcsr_multi_triangles(uint64_t *triangles, dcsr_triangles_result *result, dcsr_multi_view *A,
                                 const dcsr_graph_options *options)
{
    counting c = {0};
    uint64_t *made = NULL, all = 0;
    if (!triangles && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_multi_triangles: triangles and result are NULL; give one of them");
    dcsr_i_multi_work *w = &c.w;
    dcsr_i_multi_work_open(w, A, "dcsr_multi_triangles");
    if (!w->status) w->status = dcsr_multi_view_get_info(A, &c.info);
    const bool symmetric = options && options->symmetric;
    bool done = false;
    if (!w->status && triangles) {
        made = dcsr_context_allocate(w->context, w->n, sizeof *made);
        if (!made) w->status = dcsr_thread_status();
    }
    if (!w->status && symmetric && w->on_gpus)
        w->status = dcsr_i_multi_graph_device->triangles(made, &all, &done, A);
    if (!done) {
        if (made) memset(made, 0, w->n * sizeof *made);
        if (!symmetric) transpose(&c);
        make_lists(&c);
        all = add_sums(&c, false, made, made);
        if (made) add_sums(&c, true, NULL, made);
    }
    if (!w->status && made) memcpy(triangles, made, w->n * sizeof *made);
    if (!w->status && result) result->triangles = all;
    if (made) dcsr_context_free(w->context, made, w->n, sizeof *made);
    close(&c);
    return dcsr_i_multi_work_close(w);
}
