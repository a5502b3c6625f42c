/* assign_vector.c: writing a vector to a row or a column of a matrix.
 *
 * What the row or column becomes is a matter of vectors: in C's turn it is read, written as any vector is,
 * and then takes the place of the old one. */
#include <dcsr/assign.h>
#include <dcsr/extract.h>
#include "ops/matrix/write_matrix.h"
#include "ops/vector/write_vector.h"
#ifdef DCSR_CUDA
#include "ops/matrix/matrix_ops_cuda.h"
#endif

typedef struct assignment {
    const char *call;
    dcsr_matrix *C;
    bool column;
    uint64_t index;
    const dcsr_vector *mask, *u;
    const dcsr_binary_op *accum;
    const dcsr_desc *desc;
    dcsr_type type;   /* of the line: C's, or bool for a pattern */
    dcsr_i_body line; /* what the row or column becomes, sparse */
} assignment;

/* The line as it is in C, whose turn it is. */
static dcsr_status read_line(const assignment *x, dcsr_vector *w)
{
    dcsr_view *view;
    DCSR_TRY(dcsr_view_create(&view, x->C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    dcsr_status status = x->column ? dcsr_matrix_extract_column(w, NULL, NULL, view, x->index, NULL)
                                   : dcsr_matrix_extract_row(w, NULL, NULL, view, x->index, NULL);
    dcsr_view_destroy(view);
    return status;
}

static dcsr_status write_line(assignment *x, dcsr_vector *w)
{
    const dcsr_vector *u = x->u;
    dcsr_i_body T;
    DCSR_TRY(dcsr_i_vector_check_output(x->call, w, x->mask, x->desc));
    DCSR_TRY(read_line(x, w));
    DCSR_TRY(dcsr_i_body_to_sparse(&T, &u->body, u->context, u->value_size, u->size));
    DCSR_TRY(dcsr_i_vector_write(x->call, w, x->mask, x->accum, x->desc, u->type, &T));
    return dcsr_i_body_to_sparse(&x->line, &w->body, w->context, w->value_size, w->size);
}

static dcsr_status begin(void *user, int threads)
{
    assignment *x = user;
    dcsr_vector *w;
    (void)threads;
    DCSR_TRY(dcsr_vector_create(&w, x->C->context, x->type, x->u->size));
    dcsr_status status = write_line(x, w);
    dcsr_vector_destroy(w);
    return status;
}

static void end(void *user)
{
    assignment *x = user;
    dcsr_i_body_free(&x->line, x->C->context, dcsr_type_size(x->type));
}

/* The first element of the line from an index on. */
static uint64_t line_from(const assignment *x, uint64_t index)
{
    return dcsr_i_list_find(x->line.indices, 0, x->line.nvals, index);
}

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const assignment *x = user;
    if (x->column) return line_from(x, first + count) - line_from(x, first);
    return x->index >= first && x->index < first + count ? x->line.nvals : 0;
}

static uint64_t next_page(void *user, uint64_t page)
{
    const assignment *x = user;
    uint64_t row = x->index, at = x->column ? line_from(x, page << DCSR_I_PAGE_SHIFT) : 0;
    if (x->column && at < x->line.nvals) row = x->line.indices[at];
    bool any = at < x->line.nvals && row >> DCSR_I_PAGE_SHIFT >= page;
    return any ? row >> DCSR_I_PAGE_SHIFT : UINT64_MAX;
}

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    const assignment *x = user;
    uint64_t n = most(user, first, count), from = x->column ? line_from(x, first) : 0;
    size_t size = dcsr_type_size(x->type);
    (void)thread;
    memset(lengths, 0, count * sizeof *lengths);
    for (uint64_t e = 0; e < n; e++) {
        uint32_t at = x->line.indices[from + e];
        room.columns[e] = x->column ? (uint32_t)x->index : at;
        lengths[x->column ? at - first : x->index - first]++;
    }
    if (room.values && n) memcpy(room.values, (const char *)x->line.values + from * size, n * size);
    return DCSR_OK;
}

static dcsr_status assign_line(assignment *x)
{
    uint32_t index = (uint32_t)x->index;
    dcsr_i_index_list one = {.indices = &index, .n = 1}, all = {0};
    dcsr_i_region region = {x->column ? all : one, x->column ? one : all};
    uint64_t rows, cols;
    DCSR_TRY(dcsr_i_check_output(x->call, x->C, NULL, x->desc));
    DCSR_TRY(dcsr_i_vector_admit(x->u, "matrix_assign_row, matrix_assign_column: u"));
    if (x->u->context != x->C->context)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: u is of another context than C", x->call);
    dcsr_i_shape_queued(x->C, &rows, &cols);
    uint64_t lines = x->column ? cols : rows, size = x->column ? rows : cols;
    if (x->index >= lines)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s: %llu of %llu", x->call,
                           (unsigned long long)x->index, (unsigned long long)lines);
    if (x->u->size != size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: u has %llu elements; %llu are needed", x->call,
                           (unsigned long long)x->u->size, (unsigned long long)size);
#ifdef DCSR_CUDA
    const dcsr_i_cuda_matrix_output there = {
        .call = x->call, .C = x->C, .accum = x->accum, .desc = x->desc, .region = &region};
    if (dcsr_i_cuda_matrix_takes(&there, false)) {
        DCSR_TRY(dcsr_i_vector_admit_output(x->call, x->u, x->mask, x->desc));
        return dcsr_i_cuda_matrix_assign_line(&there, x->mask, x->u, x->index, x->column);
    }
#endif
    DCSR_TRY(dcsr_i_vector_check(x->u, "u"));
    x->type = x->C->type == DCSR_PATTERN ? DCSR_BOOL : x->C->type;
    dcsr_i_rowwise driver = {.call = x->call,
                             .C = x->C,
                             .type = x->type,
                             .rows = rows,
                             .cols = cols,
                             .work = x->u->body.nvals,
                             .next_page = next_page,
                             .user = x,
                             .begin = begin,
                             .end = end,
                             .most = most,
                             .block = block,
                             .region = &region};
    DCSR_TRY(dcsr_i_rowwise_run(&driver));
    dcsr_i_report(x->desc, x->u->body.nvals);
    return DCSR_OK;
}

dcsr_status dcsr_matrix_assign_row(dcsr_matrix *C, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                   const dcsr_vector *u, uint64_t row, const dcsr_desc *desc)
{
    return assign_line(&(assignment){.call = "matrix_assign_row",
                                     .C = C,
                                     .index = row,
                                     .mask = mask,
                                     .u = u,
                                     .accum = accum,
                                     .desc = desc});
}

dcsr_status dcsr_matrix_assign_column(dcsr_matrix *C, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                      const dcsr_vector *u, uint64_t col, const dcsr_desc *desc)
{
    return assign_line(&(assignment){.call = "matrix_assign_column",
                                     .C = C,
                                     .column = true,
                                     .index = col,
                                     .mask = mask,
                                     .u = u,
                                     .accum = accum,
                                     .desc = desc});
}
