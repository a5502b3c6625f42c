/* matrix_line_cuda.c: writing a vector to a row or a column of a matrix, on a device.
 *
 * The elements of the vector and of its mask become lists with entries in that line alone. In C's turn they
 * are brought together with what C has there; what comes of it takes the place of the line:
 *
 *      accum(held, u) where the mask is true; elsewhere held, or nothing with `replace` */
#include "dcsr/store/store.h"
#include "dcsr/vector/vector_data.h"
#include "ops/matrix/list_kernels_cuda.h"
#include "ops/matrix/list_pass_cuda.h"
#include "ops/matrix/matrix_ops_cuda.h"

typedef struct assignment {
    const dcsr_i_cuda_matrix_output *out;
    const dcsr_vector *mask, *u;
    uint64_t line;
    bool column;         /* the line is one */
    uint64_t rows, cols; /* of C */
} assignment;

/* ---- Lists ---- */

static dcsr_status list_of_vector(dcsr_i_cuda_list *list, dcsr_i_cuda_stream *stream, const assignment *x,
                                  const dcsr_vector *vector)
{
    dcsr_i_cuda_body body;
    DCSR_TRY(dcsr_i_cuda_vector_read(&body, vector, stream, DCSR_CUDA_SPARSE));
    DCSR_TRY(dcsr_i_cuda_list_open(list, stream, vector->type, x->rows, x->cols, body.nvals));
    dcsr_i_cuda_list_line_up(stream, body.indices, x->line, x->column, list);
    dcsr_i_cuda_copy(stream, list->values, body.values, body.nvals * vector->value_size);
    return DCSR_OK;
}

/* Keeps the entries of the line; or, where that is NULL, those whose values are not 0. */
static dcsr_status choose(dcsr_i_cuda_list *list, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_region *line)
{
    uint64_t n = list->n;
    uint32_t *keep = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *keep);
    if (!keep) return DCSR_ERROR_OUT_OF_MEMORY;
    if (line)
        dcsr_i_cuda_list_mark_inside(stream, list, line, keep);
    else
        dcsr_i_cuda_list_mark_true(stream, list, keep);
    dcsr_status status = dcsr_i_cuda_list_choose(list, stream, keep);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, keep, n, sizeof *keep);
    return status;
}

/* What C has in the line, in its turn. */
static dcsr_status read_held(dcsr_i_cuda_list *held, dcsr_i_cuda_stream *stream, const assignment *x)
{
    const dcsr_i_cuda_indices one = {.first = x->line, .n = 1}, rows = {.n = x->rows}, cols = {.n = x->cols};
    const dcsr_i_cuda_region line = {x->column ? rows : one, x->column ? one : cols};
    dcsr_view *view;
    DCSR_TRY(dcsr_view_create(&view, x->out->C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    dcsr_status status = dcsr_i_cuda_list_of_view(held, stream, view, false);
    dcsr_view_destroy(view);
    return status == DCSR_OK ? choose(held, stream, &line) : status;
}

/* A mask that is NULL and complemented is true nowhere, as one without elements. */
static dcsr_status read_mask(dcsr_i_cuda_list *places, dcsr_i_cuda_stream *stream, const assignment *x)
{
    const dcsr_desc *desc = x->out->desc;
    if (!x->mask) return DCSR_OK;
    DCSR_TRY(list_of_vector(places, stream, x, x->mask));
    return desc && desc->mask_structure ? DCSR_OK : choose(places, stream, NULL);
}

/* ---- Bringing them together ---- */

/* *to, which may be one of the two, becomes what merging them gives, as values of C's type. */
static dcsr_status merge(dcsr_i_cuda_list *to, dcsr_i_cuda_stream *stream, const assignment *x,
                         const dcsr_i_cuda_list *a, const dcsr_i_cuda_list *b, dcsr_i_cuda_merging how)
{
    dcsr_i_cuda_list merged;
    how.type = x->out->C->type;
    DCSR_TRY(dcsr_i_cuda_list_merge(&merged, stream, a, b, &how));
    dcsr_i_cuda_list_close(to, stream);
    *to = merged;
    return DCSR_OK;
}

/* T has u's elements before, and is afterwards what is written through the mask. */
static dcsr_status write_through(dcsr_i_cuda_list *T, dcsr_i_cuda_stream *stream, const assignment *x,
                                 dcsr_i_cuda_list *held, const dcsr_i_cuda_list *places)
{
    const dcsr_desc *desc = x->out->desc;
    bool masked = x->mask || (desc && desc->mask_complement);
    bool complement = x->mask && desc && desc->mask_complement;
    if (x->out->accum)
        DCSR_TRY(merge(T, stream, x, held, T,
                       (dcsr_i_cuda_merging){.x = true, .y = true, .both = true, .op = x->out->accum}));
    if (!masked) return DCSR_OK;
    DCSR_TRY(merge(T, stream, x, T, places, (dcsr_i_cuda_merging){.x = complement, .both = !complement}));
    if (desc && desc->replace) return DCSR_OK;
    DCSR_TRY(
        merge(held, stream, x, held, places, (dcsr_i_cuda_merging){.x = !complement, .both = complement}));
    return merge(T, stream, x, T, held, (dcsr_i_cuda_merging){.x = true, .y = true});
}

static dcsr_status compute_line(dcsr_i_cuda_list *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const assignment *x = user;
    const dcsr_i_table *current = x->out->C->versions.current;
    dcsr_i_cuda_list held = {0}, places = {0};
    DCSR_TRY(
        dcsr_i_check_shape(x->out->call, "C", current->rows, current->cols, "the result", x->rows, x->cols));
    dcsr_status status = read_held(&held, stream, x);
    if (status == DCSR_OK) status = read_mask(&places, stream, x);
    if (status == DCSR_OK) status = list_of_vector(T, stream, x, x->u);
    if (status == DCSR_OK) status = write_through(T, stream, x, &held, &places);
    dcsr_i_cuda_list_close(&places, stream);
    dcsr_i_cuda_list_close(&held, stream);
    return status;
}

dcsr_status dcsr_i_cuda_matrix_assign_line(const dcsr_i_cuda_matrix_output *out, const dcsr_vector *mask,
                                           const dcsr_vector *u, uint64_t line, bool column)
{
    /* Mask, accumulator and `replace` are about the line alone. */
    const dcsr_desc desc = {.report = out->desc ? out->desc->report : NULL};
    const dcsr_i_cuda_matrix_output to = {
        .call = out->call, .C = out->C, .desc = &desc, .region = out->region, .in_turn = true};
    assignment x = {.out = out, .mask = mask, .u = u, .line = line, .column = column};
    dcsr_i_shape_queued(out->C, &x.rows, &x.cols);
    return dcsr_i_cuda_matrix_run(&to, compute_line, &x, u->body.nvals);
}
