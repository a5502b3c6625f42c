/* write_matrix_cuda.c: mask, accumulator and what a matrix holds, brought to what an operation computed, on a
 * device.
 *
 *      inside      what C has where the mask is true: all of it with an accumulator, else what is outside of
 *                  the region that is assigned to, if there is one
 *      outside     what C has elsewhere; nothing with `replace`
 *      T           where the mask is true
 *
 * The new content is outside, beside accum(inside, T). In these C has each place once; of a matrix that keeps
 * duplicates, those at places that are not written are put back at the end.
 *
 * All of this may be about some rows alone, where the others cannot change. */
#include "ops/matrix/write_matrix_cuda.h"
#include "dcsr/store/result.h"
#include "dcsr/base/runtime.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "ops/matrix/coo_kernels_cuda.h"
#include "ops/matrix/write_matrix.h"

/* ---- Masks ---- */

/* Keeps the entries whose values are not 0. */
static dcsr_status choose_true(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream)
{
    uint64_t n = list->n;
    uint32_t *keep = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *keep);
    if (!keep) return dcsr_i_no_memory();
    dcsr_i_cuda_coo_mark_true(stream, list, keep);
    dcsr_status status = dcsr_i_cuda_coo_choose(list, stream, keep);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, keep, n, sizeof *keep);
    return status;
}

dcsr_status dcsr_i_cuda_mask_places(dcsr_i_cuda_coo *places, dcsr_i_cuda_stream *stream, dcsr_view *mask,
                                    const dcsr_desc *desc)
{
    DCSR_TRY(dcsr_i_cuda_coo_of_view(places, stream, mask, false));
    bool by_value = places->type != DCSR_PATTERN && !(desc && desc->mask_structure);
    dcsr_status status = by_value ? choose_true(places, stream) : DCSR_OK;
    if (status == DCSR_OK) status = dcsr_i_cuda_coo_cast(places, stream, DCSR_PATTERN);
    if (status != DCSR_OK) dcsr_i_cuda_coo_close(places, stream);
    return status;
}

/* ---- Regions ---- */

/* The indices of a list as bits, on the device; NULL where the list is of all. */
static dcsr_status bring_bits(uint32_t **bits, dcsr_i_cuda_stream *stream, const dcsr_i_index_list *list,
                              uint64_t size)
{
    uint64_t words = (size + 31) / 32;
    *bits = NULL;
    if (!list->indices) return DCSR_OK;
    *bits = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words, sizeof **bits);
    uint32_t *indices = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, list->n, sizeof *indices);
    if (*bits && indices) {
        dcsr_i_cuda_fill(stream, *bits, 0, words * sizeof **bits);
        dcsr_i_cuda_copy(stream, indices, list->indices, list->n * sizeof *indices);
        dcsr_i_cuda_coo_set_bits(stream, *bits, indices, list->n);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, indices, list->n, sizeof *indices);
    return *bits && indices ? DCSR_OK : dcsr_i_no_memory();
}

/* ---- Writing ---- */

typedef struct writing {
    const dcsr_i_matrix_output *out;
    dcsr_i_cuda_compute *compute;
    const void *user;
    bool complement, replace;
    dcsr_i_cuda_stream *stream; /* the matrix's */
    dcsr_i_cuda_coo T;          /* becomes the new content */
    dcsr_i_cuda_coo places, inside, outside;
    dcsr_i_cuda_coo duplicates; /* of C, at places that are not written */
    /* The rows that can change, on the device, where the others are kept: all lists of C are of these. */
    bool keep;
    uint32_t *rows;
    uint64_t count;
} writing;

/* The list becomes what comes of merging others. */
static void become(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *merged)
{
    dcsr_i_cuda_coo_close(list, stream);
    *list = *merged;
}

/* The entries at the places where the mask is true, or at the others. */
static dcsr_status part_of(dcsr_i_cuda_coo *part, const writing *w, const dcsr_i_cuda_coo *list, bool truth)
{
    bool named = truth != w->complement;
    dcsr_i_cuda_merging how = {.x = !named, .both = named, .type = list->type};
    return dcsr_i_cuda_coo_merge(part, w->stream, list, &w->places, &how);
}

/* Where the mask is true. */
static dcsr_status restrict_to_mask(dcsr_i_cuda_coo *list, const writing *w)
{
    dcsr_i_cuda_coo part;
    DCSR_TRY(part_of(&part, w, list, true));
    become(list, w->stream, &part);
    return DCSR_OK;
}

/* T and entries of C beside it, to values of C's type. */
static dcsr_status unite(writing *w, const dcsr_i_cuda_coo *kept, const dcsr_binary_op *accum)
{
    dcsr_i_cuda_coo all;
    dcsr_i_cuda_merging how = {.x = true, .y = true, .both = true, .op = accum, .type = w->out->C->type};
    DCSR_TRY(dcsr_i_cuda_coo_merge(&all, w->stream, kept, &w->T, &how));
    become(&w->T, w->stream, &all);
    return DCSR_OK;
}

/* Keeps the entries that stay as they are. All rows that can change are in the region. */
static dcsr_status choose_staying(dcsr_i_cuda_coo *list, const writing *w, dcsr_i_cuda_staying how)
{
    const dcsr_i_region *region = w->out->region;
    uint64_t n = list->n, rows = list->rows, cols = list->cols;
    uint32_t *of_rows = NULL, *of_cols = NULL, *keep = NULL;
    dcsr_status status = region && !w->keep ? bring_bits(&of_rows, w->stream, &region->rows, rows) : DCSR_OK;
    if (status == DCSR_OK && region) status = bring_bits(&of_cols, w->stream, &region->cols, cols);
    if (status == DCSR_OK) {
        keep = dcsr_i_cuda_alloc(w->stream, DCSR_I_SCRATCH, n, sizeof *keep);
        status = keep ? DCSR_OK : dcsr_i_no_memory();
    }
    if (status == DCSR_OK) {
        how.region = region != NULL;
        how.rows = of_rows;
        how.cols = of_cols;
        dcsr_i_cuda_coo_mark_staying(w->stream, list, &how, keep);
        status = dcsr_i_cuda_coo_choose(list, w->stream, keep);
    }
    dcsr_i_cuda_free(w->stream, DCSR_I_SCRATCH, keep, n, sizeof *keep);
    dcsr_i_cuda_free(w->stream, DCSR_I_SCRATCH, of_cols, (cols + 31) / 32, sizeof *of_cols);
    dcsr_i_cuda_free(w->stream, DCSR_I_SCRATCH, of_rows, (rows + 31) / 32, sizeof *of_rows);
    return status;
}

/* ---- Rows that can change ---- */

/* Lists the rows of C that can change, if they are few. */
static dcsr_status find_rows(writing *w)
{
    const dcsr_i_matrix_output *out = w->out;
    const dcsr_i_change change = dcsr_i_change_of(out);
    const uint64_t most = dcsr_i_change_most(w->T.rows);
    if (change.in_T) {
        DCSR_TRY(dcsr_i_cuda_coo_rows_used(&w->rows, &w->count, w->stream, &w->T, most));
    } else if (change.in_mask) {
        if (change.in_region) DCSR_TRY(choose_staying(&w->places, w, (dcsr_i_cuda_staying){.others = true}));
        DCSR_TRY(dcsr_i_cuda_coo_rows_used(&w->rows, &w->count, w->stream, &w->places, most));
    } else if (change.in_region && out->region->rows.n <= most) {
        w->count = out->region->rows.n;
        w->rows = dcsr_i_cuda_alloc(w->stream, DCSR_I_SCRATCH, w->count, sizeof *w->rows);
        if (!w->rows) return dcsr_i_no_memory();
        dcsr_i_cuda_copy(w->stream, w->rows, out->region->rows.indices, w->count * sizeof *w->rows);
    }
    w->keep = w->rows != NULL;
    return DCSR_OK;
}

/* ---- What C holds ---- */

/* All of it as `inside`, each place once. */
static dcsr_status read_all(writing *w)
{
    dcsr_view *view;
    DCSR_TRY(dcsr_view_create(&view, w->out->C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    dcsr_status status = dcsr_i_cuda_coo_of_output(&w->inside, &w->duplicates, w->stream, view);
    dcsr_view_destroy(view);
    return status;
}

/* The same, or the rows that can change; and the duplicates that stay. */
static dcsr_status read_old(writing *w)
{
    const dcsr_i_matrix_output *out = w->out;
    DCSR_TRY(w->keep ? dcsr_i_cuda_coo_of_held(&w->inside, &w->duplicates, out->C, w->rows, w->count)
                     : read_all(w));
    if (!w->duplicates.n) return DCSR_OK;
    const dcsr_i_cuda_staying how = {.masked = out->mask != NULL,
                                     .complement = w->complement,
                                     .replace = w->replace,
                                     .places = w->places,
                                     .accumulates = out->accum != NULL,
                                     .T = w->T};
    return choose_staying(&w->duplicates, w, how);
}

/* Brings what may stay of C to T. With an accumulator and without `replace` that is all of C, for what stands
 * where the mask is false meets nothing. */
static dcsr_status keep_old(writing *w)
{
    const dcsr_i_matrix_output *out = w->out;
    DCSR_TRY(read_old(w));
    if (out->mask && !w->replace && !out->accum) DCSR_TRY(part_of(&w->outside, w, &w->inside, false));
    if (out->mask && (w->replace || !out->accum)) DCSR_TRY(restrict_to_mask(&w->inside, w));
    if (out->region && !out->accum) DCSR_TRY(choose_staying(&w->inside, w, (dcsr_i_cuda_staying){0}));
    if (out->accum || out->region) DCSR_TRY(unite(w, &w->inside, out->accum));
    return w->outside.keys ? unite(w, &w->outside, NULL) : DCSR_OK;
}

/* Duplicates take the place of their sum in T. */
static dcsr_status put_duplicates_back(writing *w)
{
    uint64_t n = w->T.n;
    uint32_t *keep = dcsr_i_cuda_alloc(w->stream, DCSR_I_SCRATCH, n, sizeof *keep);
    if (!keep) return dcsr_i_no_memory();
    dcsr_i_cuda_coo_mark_missing(w->stream, &w->T, &w->duplicates, keep);
    dcsr_status status = dcsr_i_cuda_coo_choose(&w->T, w->stream, keep);
    dcsr_i_cuda_free(w->stream, DCSR_I_SCRATCH, keep, n, sizeof *keep);
    return status == DCSR_OK ? dcsr_i_cuda_coo_append(&w->T, w->stream, &w->duplicates) : status;
}

/* Whether something may stay of what C has in the rows that can change. */
static bool keeps_entries(const writing *w)
{
    const dcsr_i_matrix_output *out = w->out;
    return !w->keep || out->accum || out->mask || out->region->cols.indices;
}

static dcsr_status make_content(writing *w)
{
    const dcsr_i_matrix_output *out = w->out;
    const bool restricts = out->mask && !out->within_mask,
               keeps = (out->accum || out->region || (out->mask && !w->replace)) &&
                       out->C->versions.current->stored;
    if (out->mask && (restricts || keeps))
        DCSR_TRY(dcsr_i_cuda_mask_places(&w->places, w->stream, out->mask, out->desc));
    if (restricts) DCSR_TRY(restrict_to_mask(&w->T, w));
    if (keeps) DCSR_TRY(find_rows(w));
    if (w->keep && !w->count) return DCSR_OK;
    if (keeps && keeps_entries(w)) DCSR_TRY(keep_old(w));
    DCSR_TRY(dcsr_i_cuda_coo_cast(&w->T, w->stream, out->C->type));
    return w->duplicates.n ? put_duplicates_back(w) : DCSR_OK;
}

static dcsr_status publish_content(const writing *w)
{
    dcsr_matrix *C = w->out->C;
    const dcsr_i_cuda_held content = {.n = w->T.n, .keys = w->T.keys, .values = w->T.values};
    const bool strictly = !w->duplicates.n;
    if (!w->keep) return dcsr_i_cuda_replace_entries(C, content.keys, content.values, content.n, strictly);
    return w->count ? dcsr_i_cuda_replace_some(C, w->rows, w->count, &content, strictly) : DCSR_OK;
}

/* In C's turn, on C's stream, which the thread has entered. */
static dcsr_status write_list(writing *w)
{
    dcsr_status status = make_content(w);
    if (status == DCSR_OK) status = publish_content(w);
    dcsr_i_cuda_free(w->stream, DCSR_I_SCRATCH, w->rows, w->count, sizeof *w->rows);
    dcsr_i_cuda_coo_close(&w->duplicates, w->stream);
    dcsr_i_cuda_coo_close(&w->places, w->stream);
    dcsr_i_cuda_coo_close(&w->inside, w->stream);
    dcsr_i_cuda_coo_close(&w->outside, w->stream);
    dcsr_i_cuda_coo_close(&w->T, w->stream);
    return status;
}

/* Of the right shape? */
static dcsr_status check_T(const writing *w, uint64_t rows, uint64_t cols, const char *what)
{
    return dcsr_i_check_shape(w->out->call, what, rows, cols, "the result", w->T.rows, w->T.cols);
}

/* In C's turn. A mask that is NULL and complemented is true nowhere. */
static dcsr_status write_in_turn(dcsr_matrix *C, void *user)
{
    writing *w = user;
    bool nowhere = !w->out->mask && w->complement;
    w->stream = C->cuda->stream;
    dcsr_i_cuda_enter(w->stream);
    dcsr_status status = w->out->in_turn ? w->compute(&w->T, w->stream, w->user) : DCSR_OK;
    if (status == DCSR_OK) status = check_T(w, C->versions.current->rows, C->versions.current->cols, "C");
    if (status == DCSR_OK && !nowhere)
        status = write_list(w);
    else if (status == DCSR_OK && w->replace)
        status = dcsr_i_cuda_replace_entries(C, NULL, NULL, 0, true);
    /* Copies of the region's lists may be under way. */
    if (status != DCSR_OK) dcsr_i_cuda_settle(w->stream, "writing a result");
    dcsr_i_cuda_leave(w->stream);
    return status;
}

/* T's memory is used on two streams: the first is waited for in between. */
static dcsr_status compute_before(writing *w, dcsr_i_cuda_stream *stream)
{
    const dcsr_i_rows *mask = w->out->mask ? dcsr_i_view_rows(w->out->mask) : NULL;
    dcsr_status status = w->compute(&w->T, stream, w->user),
                waited = dcsr_i_cuda_wait(stream, "computing a matrix");
    DCSR_TRY(status);
    DCSR_TRY(waited);
    return mask ? check_T(w, mask->rows, mask->cols, "the mask") : DCSR_OK;
}

dcsr_status dcsr_i_cuda_matrix_run(const dcsr_i_matrix_output *out, dcsr_i_cuda_compute *compute,
                                   const void *user, uint64_t work)
{
    const dcsr_desc *desc = out->desc;
    writing w = {.out = out,
                 .compute = compute,
                 .user = user,
                 .complement = desc && desc->mask_complement,
                 .replace = desc && desc->replace};
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(out->C->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = out->in_turn ? DCSR_OK : compute_before(&w, stream);
    if (status == DCSR_OK) status = dcsr_i_result_turn(out->C, out->call, write_in_turn, &w);
    dcsr_i_cuda_coo_close(&w.T, stream);
    dcsr_i_stream_return(out->C->context, stream);
    if (status == DCSR_OK && desc && desc->report)
        *desc->report = (dcsr_report){.device = DCSR_DEVICE_CUDA, .entries = work};
    return status;
}
