/* write_vector_cuda.c: writing what was computed on a device into a vector, through mask and accum.
 *
 * How it is gone about depends on where something may change:
 *
 *      T is what w gets, but for a cast               moved
 *      in a list, and w is dense and needed           the list is gone through, in place
 *      in a list, and w is sparse, or not needed      both lists, united, are gone through, into a new body
 *      anywhere                                       all elements are; in place where w is needed
 *
 * Lists are T's, and the mask's where it is not complemented. */
#include "ops/vector/write_vector_cuda.h"
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_data.h"
#include "ops/vector/vector_pass_cuda.h"

/* ---- Sources and masks ---- */

dcsr_i_cuda_write_source dcsr_i_cuda_source_of(const dcsr_i_cuda_body *body, dcsr_type type,
                                               const uint32_t *list)
{
    dcsr_i_cuda_write_source source = {
        .type = type, .values = body->values, .n = body->nvals, .count = body->count};
    if (body->dense) {
        source.how = DCSR_CUDA_BY_BITS;
        source.present = body->present;
    } else if (list && list == body->indices) {
        source.how = DCSR_CUDA_BY_ORDER;
    } else {
        source.how = DCSR_CUDA_BY_SEARCH;
        source.indices = body->indices;
    }
    return source;
}

/* The mask that a vector, or NULL, and a description, or NULL, make, for a pass over a list, or NULL over all. It lasts
 * as long as the vector is not changed. */
static dcsr_status open_mask(dcsr_i_cuda_mask *mask, dcsr_i_cuda_stream *stream, const dcsr_vector *vector,
                             const dcsr_desc *desc, dcsr_i_cuda_form form, const uint32_t *list)
{
    *mask = (dcsr_i_cuda_mask){.whole = !vector,
                               .structure = desc && desc->mask_structure,
                               .complement = desc && desc->mask_complement};
    if (!vector) return DCSR_OK;
    dcsr_i_cuda_body body;
    DCSR_TRY(dcsr_i_cuda_vector_read(&body, vector, stream, form));
    mask->source = dcsr_i_cuda_source_of(&body, vector->type, list);
    return DCSR_OK;
}

/* ---- What is to be written ---- */

typedef struct writing {
    dcsr_i_cuda_stream *stream;
    dcsr_vector *w;
    const dcsr_vector *mask;
    const dcsr_desc *desc;
    const dcsr_i_cuda_written *what;
    const dcsr_binary_op *accum; /* NULL also where w is empty */
    dcsr_i_cuda_body T;          /* of zeros for a constant */
    bool all, replace;           /* the mask is true everywhere; it is not, and what it leaves out goes */
    bool listed;                 /* it is true at some of its own entries alone */
    bool complete;               /* T has an element everywhere, in the region */
    bool needs_w;                /* some of w stays, or is accumulated to */

    dcsr_i_cuda_write_pass pass;
    void *cast;              /* T's values as values of w's type, where they are others */
    dcsr_i_cuda_body own;    /* w's */
    dcsr_i_cuda_body result; /* what w gets, by parts w's own where that is changed in place */
} writing;

static void plan(writing *a)
{
    const dcsr_i_cuda_written *what = a->what;
    dcsr_vector *w = a->w;
    bool complement = a->desc && a->desc->mask_complement;
    a->accum = w->body.nvals ? what->accum : NULL;
    a->all = !a->mask && !complement;
    a->replace = !a->all && a->desc && a->desc->replace;
    a->listed = a->mask && !a->mask->body.dense && !complement;
    a->complete = what->region ? what->complete : !what->T || (a->T.dense && !a->T.present);
    a->needs_w = w->body.nvals && (a->accum || what->region || (!a->all && !a->replace));
    a->pass.region = what->region;
    a->pass.replace = a->replace;
    a->pass.accum = a->accum != NULL;
    if (a->accum) a->pass.name = a->accum->name;
    if (a->accum) a->pass.type = a->accum->xtype;
    a->pass.one = what->one;
    a->pass.w = (dcsr_i_cuda_write_source){.how = DCSR_CUDA_NOWHERE, .type = w->type};
}

/* What the pass reads of T and the mask; T's values are cast where they are not accumulated. */
static dcsr_status open_sources(writing *a, dcsr_i_cuda_form form, const uint32_t *list)
{
    const dcsr_i_cuda_written *what = a->what;
    DCSR_TRY(open_mask(&a->pass.mask, a->stream, a->mask, a->desc, form, list));
    if (!what->T) {
        a->pass.t =
            (dcsr_i_cuda_write_source){.how = DCSR_CUDA_BY_BITS, .type = what->type, .one = what->operand};
        return DCSR_OK;
    }
    a->pass.t = dcsr_i_cuda_source_of(&a->T, what->type, list);
    a->pass.fresh = a->T.values;
    if (what->type == a->w->type) return DCSR_OK;
    a->cast = dcsr_i_cuda_alloc(a->stream, DCSR_I_SCRATCH, a->T.capacity, a->w->value_size);
    if (!a->cast) return dcsr_i_no_memory();
    dcsr_i_cuda_run_cast(a->stream, a->w->type, a->cast, what->type, &a->T);
    a->pass.fresh = a->cast;
    return DCSR_OK;
}

static dcsr_status read_own(writing *a, dcsr_i_cuda_form form, const uint32_t *list)
{
    DCSR_TRY(dcsr_i_cuda_vector_read(&a->own, a->w, a->stream, form));
    a->pass.w = dcsr_i_cuda_source_of(&a->own, a->w->type, list);
    return DCSR_OK;
}

/* Memory of the result that w did not have before. */
static dcsr_status add_bits(writing *a)
{
    uint64_t words = dcsr_i_cuda_bit_words(a->result.size);
    a->result.present = dcsr_i_cuda_alloc(a->stream, DCSR_I_SCRATCH, words, sizeof *a->result.present);
    return a->result.present ? DCSR_OK : dcsr_i_no_memory();
}

static dcsr_status add_count(writing *a)
{
    a->result.count = dcsr_i_cuda_alloc(a->stream, DCSR_I_SCRATCH, 1, sizeof *a->result.count);
    if (!a->result.count) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(a->stream, a->result.count, 0, sizeof *a->result.count);
    return DCSR_OK;
}

/* ---- Moved ---- */

static dcsr_status move(writing *a, const char *call)
{
    DCSR_TRY(open_sources(a, DCSR_CUDA_AS_IT_IS, NULL));
    DCSR_TRY(dcsr_i_cuda_body_finish(&a->T, a->stream, call));
    if (a->cast) {
        dcsr_i_cuda_free(a->stream, DCSR_I_SCRATCH, a->T.values, a->T.capacity,
                         dcsr_type_size(a->what->type));
        a->T.values = a->cast;
        a->cast = NULL;
    }
    dcsr_i_cuda_vector_put(a->w, &a->T, a->stream);
    return DCSR_OK;
}

/* ---- All elements ---- */

static dcsr_status spread(writing *a)
{
    size_t size = dcsr_type_size(a->what->type);
    dcsr_i_cuda_body dense;
    DCSR_TRY(dcsr_i_cuda_body_dense(&dense, a->stream, size, a->T.size, true));
    dcsr_i_cuda_spread(a->stream, &dense, &a->T, size);
    dcsr_i_cuda_body_free(&a->T, a->stream, size);
    a->T = dense;
    return DCSR_OK;
}

static dcsr_status write_all(writing *a)
{
    uint64_t size = a->w->size;
    bool stays_full = a->w->body.nvals == size && (a->accum || a->complete) && !a->replace;
    bool full = stays_full || (a->complete && a->all && !a->what->region);
    if (a->what->T && !a->T.dense) DCSR_TRY(spread(a));
    DCSR_TRY(open_sources(a, DCSR_CUDA_DENSE, NULL));
    if (a->needs_w) {
        DCSR_TRY(read_own(a, DCSR_CUDA_DENSE, NULL));
        a->result = a->own;
        a->pass.in_place = true;
        if (full) a->result.present = NULL;
        if (!full && !a->own.present) DCSR_TRY(add_bits(a));
        if (!full) DCSR_TRY(add_count(a));
    } else {
        DCSR_TRY(dcsr_i_cuda_body_dense(&a->result, a->stream, a->w->value_size, size, !full));
    }
    a->result.nvals = size;
    a->pass.pass = (dcsr_i_cuda_pass){
        .n = size, .present = a->result.present, .count = a->result.count, .values = a->result.values};
    dcsr_i_cuda_run_write(a->stream, &a->pass);
    return DCSR_OK;
}

/* ---- A list ---- */

/* In place: w is dense. `deletes`: elements of w may go. The count is of what comes and goes. */
static dcsr_status write_listed(writing *a, const dcsr_i_cuda_body *list, bool deletes)
{
    DCSR_TRY(open_sources(a, DCSR_CUDA_AS_IT_IS, list->indices));
    DCSR_TRY(read_own(a, DCSR_CUDA_DENSE, NULL));
    a->result = a->own;
    a->pass.in_place = true;
    if (!a->own.present && deletes) {
        DCSR_TRY(add_bits(a));
        dcsr_i_cuda_set_bits(a->stream, a->result.present, a->result.size);
    }
    if (a->result.present) DCSR_TRY(add_count(a));
    a->pass.bits = a->result.present;
    a->pass.pass = (dcsr_i_cuda_pass){.n = list->nvals,
                                      .list = list->indices,
                                      .length = list->count,
                                      .count = a->result.count,
                                      .values = a->result.values};
    dcsr_i_cuda_run_write(a->stream, &a->pass);
    return DCSR_OK;
}

/* The entries of a list that the pass takes, as the result; the list is a new one where all are taken. */
static dcsr_status take_listed(writing *a, dcsr_i_cuda_body *list, bool takes_all)
{
    dcsr_i_cuda_stream *stream = a->stream;
    size_t size = a->w->value_size;
    uint64_t n = list->nvals, words = dcsr_i_cuda_bit_words(n);
    a->pass.pass =
        (dcsr_i_cuda_pass){.n = n, .list = list->indices, .length = list->count, .values = list->values};
    if (takes_all) {
        dcsr_i_cuda_run_write(stream, &a->pass);
        a->result = *list;
        *list = (dcsr_i_cuda_body){0};
        return DCSR_OK;
    }
    dcsr_status status = dcsr_i_cuda_body_sparse(&a->result, stream, size, a->w->size, n);
    uint32_t *bits = NULL;
    void *values = NULL;
    if (status == DCSR_OK) bits = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words, sizeof *bits);
    if (bits) values = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, size);
    if (values) {
        a->pass.pass.present = bits;
        a->pass.pass.values = values;
        dcsr_i_cuda_run_write(stream, &a->pass);
        status = dcsr_i_cuda_compact(&a->result, stream, size, bits, n, list->indices, values);
    } else {
        status = dcsr_i_no_memory();
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, bits, words, sizeof *bits);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, values, n, size);
    return status;
}

/* Into a new body: of w, which is sparse, only what is needed is looked at. */
static dcsr_status write_merged(writing *a, const dcsr_i_cuda_body *list)
{
    dcsr_i_cuda_body united = *list;
    if (a->needs_w) {
        DCSR_TRY(read_own(a, DCSR_CUDA_SPARSE, NULL));
        DCSR_TRY(dcsr_i_cuda_body_sparse(&united, a->stream, a->w->value_size, a->w->size,
                                         a->own.nvals + list->nvals));
    }
    dcsr_status status = a->needs_w ? dcsr_i_cuda_unite(&united, a->stream, &a->own, list) : DCSR_OK;
    if (status == DCSR_OK) status = open_sources(a, DCSR_CUDA_AS_IT_IS, united.indices);
    if (status == DCSR_OK) status = take_listed(a, &united, a->all && a->needs_w);
    if (a->needs_w) dcsr_i_cuda_body_free(&united, a->stream, a->w->value_size);
    return status;
}

/* ---- Either ---- */

/* Where something may change, if that is in a list; false where not. */
static dcsr_status find_list(writing *a, dcsr_i_cuda_body *list, bool *found)
{
    bool of_T = a->what->T && !a->T.dense, in_place = a->needs_w && a->w->body.dense;
    bool of_mask = a->listed;
    if (in_place) { /* what is not in the list must stay as it is */
        of_T = of_T && a->accum && !a->replace;
        of_mask = of_mask && !a->replace;
    }
    if (of_T && of_mask) of_T = a->T.nvals <= a->mask->body.nvals;
    *found = of_T || of_mask;
    if (of_T)
        *list = a->T;
    else if (of_mask)
        return dcsr_i_cuda_vector_read(list, a->mask, a->stream, DCSR_CUDA_SPARSE);
    return DCSR_OK;
}

static dcsr_status write_result(writing *a, const char *call)
{
    bool listed = false;
    dcsr_i_cuda_body list;
    /* All memory is taken before w is touched. */
    if (!dcsr_i_cuda_landing(a->stream, sizeof *a->result.count)) return dcsr_i_cuda_wait(a->stream, call);
    plan(a);
    if (a->all && !a->accum && !a->what->region && a->what->T) return move(a, call);
    DCSR_TRY(find_list(a, &list, &listed));
    if (!listed)
        DCSR_TRY(write_all(a));
    else if (a->needs_w && a->w->body.dense)
        DCSR_TRY(write_listed(a, &list, !a->accum && !a->complete));
    else
        DCSR_TRY(write_merged(a, &list));
    bool changes = a->pass.bits != NULL;
    DCSR_TRY(dcsr_i_cuda_body_finish(&a->result, a->stream, call));
    if (changes) a->result.nvals += a->own.nvals;
    dcsr_i_cuda_vector_put(a->w, &a->result, a->stream);
    return DCSR_OK;
}

/* After a failure the result has parts that are w's own. */
static void give_up(writing *a, const char *call)
{
    if (a->result.present == a->own.present) a->result.present = NULL;
    if (a->result.indices == a->own.indices) a->result.indices = NULL;
    if (a->result.values == a->own.values) a->result.values = NULL;
    dcsr_i_cuda_body_free(&a->result, a->stream, a->w->value_size);
    dcsr_i_cuda_settle(a->stream, call);
}

dcsr_status dcsr_i_cuda_vector_write_what(const char *call, dcsr_i_cuda_stream *stream, dcsr_vector *w,
                                          const dcsr_vector *mask, const dcsr_desc *desc,
                                          const dcsr_i_cuda_written *what)
{
    writing a = {.stream = stream, .w = w, .mask = mask, .desc = desc, .what = what};
    if (what->T) a.T = *what->T;
    dcsr_status status = write_result(&a, call);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.cast, a.T.capacity, w->value_size);
    dcsr_i_cuda_body_free(&a.T, stream, dcsr_type_size(what->type));
    if (what->T) *what->T = (dcsr_i_cuda_body){0};
    if (status != DCSR_OK)
        give_up(&a, call);
    else if (desc && desc->report)
        *desc->report = (dcsr_report){.device = DCSR_DEVICE_CUDA};
    return status;
}

dcsr_status dcsr_i_cuda_vector_write(const char *call, dcsr_i_cuda_stream *stream, dcsr_vector *w,
                                     const dcsr_vector *mask, const dcsr_binary_op *accum,
                                     const dcsr_desc *desc, dcsr_type ttype, dcsr_i_cuda_body *T)
{
    const dcsr_i_cuda_written what = {.accum = accum, .type = ttype, .T = T};
    return dcsr_i_cuda_vector_write_what(call, stream, w, mask, desc, &what);
}
