/* coo_cuda.c: lists of entries on a device: memory, lists out of views, order, choosing entries. */
#include "ops/matrix/coo_cuda.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/view/view_data.h"
#include "ops/matrix/coo_kernels_cuda.h"
#include "ops/vector/vector_pass_cuda.h"

/* ---- Memory ---- */

dcsr_status dcsr_i_cuda_coo_open(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_type type,
                                 uint64_t rows, uint64_t cols, uint64_t capacity)
{
    size_t size = dcsr_type_size(type);
    *list = (dcsr_i_cuda_coo){.rows = rows, .cols = cols, .n = capacity, .capacity = capacity, .type = type};
    list->keys = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, capacity, sizeof *list->keys);
    if (list->keys && size) list->values = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, capacity, size);
    if (list->keys && (list->values || !size)) return DCSR_OK;
    dcsr_i_cuda_coo_close(list, stream);
    return dcsr_i_no_memory();
}

static void free_values(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream)
{
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, list->values, list->capacity, dcsr_type_size(list->type));
    list->values = NULL;
}

void dcsr_i_cuda_coo_close(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream)
{
    free_values(list, stream);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, list->keys, list->capacity, sizeof *list->keys);
    *list = (dcsr_i_cuda_coo){0};
}

/* ---- Order ---- */

/* A list while it is sorted: values are words, and there are arrays to sort into. */
typedef struct sorting {
    dcsr_i_cuda_coo *list;
    dcsr_i_cuda_stream *stream;
    size_t size; /* of a value */
    uint64_t *keys_spare, *words, *words_spare;
} sorting;

static uint64_t *alloc_words(const sorting *s)
{
    return dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, s->list->capacity, sizeof(uint64_t));
}

static void free_words(const sorting *s, uint64_t *words)
{
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, words, s->list->capacity, sizeof *words);
}

static dcsr_status open_sorting(sorting *s)
{
    dcsr_i_cuda_coo *list = s->list;
    s->size = dcsr_type_size(list->type);
    s->keys_spare = alloc_words(s);
    if (!s->keys_spare) return dcsr_i_no_memory();
    if (!s->size) return DCSR_OK;
    s->words_spare = alloc_words(s);
    s->words = s->size == sizeof *s->words ? list->values : s->words_spare ? alloc_words(s) : NULL;
    if (!s->words || !s->words_spare) return dcsr_i_no_memory();
    if (s->words != list->values)
        dcsr_i_cuda_widen(s->stream, list->values, (uint32_t)s->size, list->n, s->words);
    return DCSR_OK;
}

/* The list gets its values back, whatever has become of them. */
static void close_sorting(sorting *s)
{
    dcsr_i_cuda_coo *list = s->list;
    if (s->size == sizeof *s->words) {
        if (s->words) list->values = s->words;
    } else {
        if (s->words && s->words_spare)
            dcsr_i_cuda_narrow(s->stream, s->words, list->n, list->values, (uint32_t)s->size);
        free_words(s, s->words);
    }
    free_words(s, s->words_spare);
    free_words(s, s->keys_spare);
}

/* By column, then by row: that leaves out the bits between the two, which are 0. */
static dcsr_status sort(sorting *s)
{
    dcsr_i_cuda_coo *list = s->list;
    uint64_t **words = s->size ? &s->words : NULL, **spare = s->size ? &s->words_spare : NULL;
    DCSR_TRY(dcsr_i_cuda_sort(s->stream, &list->keys, &s->keys_spare, words, spare, list->n, 0,
                              dcsr_i_bits_for(list->cols)));
    return dcsr_i_cuda_sort(s->stream, &list->keys, &s->keys_spare, words, spare, list->n, 32,
                            32 + dcsr_i_bits_for(list->rows));
}

dcsr_status dcsr_i_cuda_coo_sort(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream)
{
    sorting s = {.list = list, .stream = stream};
    dcsr_status status = open_sorting(&s);
    if (status == DCSR_OK) status = sort(&s);
    close_sorting(&s);
    return status;
}

/* Equal keys become one entry each, their values combined in the order in which they stood. */
static dcsr_status combine(sorting *s, dcsr_policy policy)
{
    dcsr_i_cuda_coo *list = s->list;
    uint64_t *count = dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, 1, sizeof *count), *before = list->keys;
    if (!count) return dcsr_i_no_memory();
    dcsr_i_cuda_keyed entries = {list->keys, s->words, list->n, list->type};
    dcsr_status status =
        dcsr_i_cuda_combine(s->stream, &entries, policy, s->keys_spare, s->words_spare, count);
    if (status == DCSR_OK)
        status = dcsr_i_cuda_read_back(s->stream, &list->n, count, sizeof(uint64_t), "combining entries");
    list->keys = s->keys_spare;
    s->keys_spare = before;
    before = s->words;
    s->words = s->words_spare;
    s->words_spare = before;
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, count, 1, sizeof *count);
    return status;
}

static dcsr_status combine_sorted(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_policy policy)
{
    sorting s = {.list = list, .stream = stream};
    dcsr_status status = open_sorting(&s);
    if (status == DCSR_OK) status = combine(&s, policy == DCSR_POLICY_KEEP ? DCSR_POLICY_SUM : policy);
    close_sorting(&s);
    return status;
}

static dcsr_status sort_and_combine(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_policy policy)
{
    sorting s = {.list = list, .stream = stream};
    dcsr_status status = open_sorting(&s);
    if (status == DCSR_OK) status = sort(&s);
    if (status == DCSR_OK) status = combine(&s, policy == DCSR_POLICY_KEEP ? DCSR_POLICY_SUM : policy);
    close_sorting(&s);
    return status;
}

/* ---- Out of views ---- */

/* A version of so many rows, few of which can have entries, is read by those that have some. */
#ifdef DCSR_SIMT
enum { MANY_ROWS = 1 << 8, ROWS_OF_ENTRY = 16 };
#else
enum { MANY_ROWS = 1 << 20, ROWS_OF_ENTRY = 64 };
#endif

static bool has_few_rows_in_use(const dcsr_i_cuda_rows *rows)
{
    return rows->root && rows->rows > MANY_ROWS && rows->stored < rows->rows / ROWS_OF_ENTRY;
}

/* Opens the list for the entries of the walk, and puts them there; `named`: rows keep their numbers. */
static dcsr_status gather(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_i_cuda_walk walk,
                          bool named)
{
    const dcsr_i_cuda_rows *rows = &walk.rows;
    uint64_t entries = rows->stored,
             *offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, walk.count + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    walk.offsets = offsets;
    dcsr_status status = dcsr_i_cuda_sum_lengths(stream, rows, walk.list, walk.count, offsets);
    if (status == DCSR_OK && walk.list && !named)
        status =
            dcsr_i_cuda_read_back(stream, &entries, offsets + walk.count, sizeof entries, "counting entries");
    if (status == DCSR_OK)
        status = dcsr_i_cuda_coo_open(list, stream, (dcsr_type)rows->type, named ? rows->rows : walk.count,
                                      rows->cols, entries);
    if (status == DCSR_OK)
        dcsr_i_cuda_list_entries(stream, &walk, entries, named ? walk.list : NULL, list->keys, list->values);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, walk.count + 1, sizeof *offsets);
    return status;
}

dcsr_status dcsr_i_cuda_coo_as_stored(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream,
                                      const dcsr_i_cuda_rows *rows)
{
    uint32_t *in_use;
    uint64_t count;
    if (!has_few_rows_in_use(rows))
        return gather(list, stream, (dcsr_i_cuda_walk){.rows = *rows, .count = rows->rows}, false);
    DCSR_TRY(dcsr_i_cuda_rows_in_use(&in_use, &count, stream, rows));
    dcsr_status status =
        gather(list, stream, (dcsr_i_cuda_walk){.rows = *rows, .list = in_use, .count = count}, true);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, in_use, count, sizeof *in_use);
    return status;
}

/* What one of the kernels that count adds up. */
static dcsr_status count_with(void (*add)(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n,
                                          unsigned long long *count),
                              uint64_t *result, const dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream)
{
    unsigned long long *count = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 1, sizeof *count);
    if (!count) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(stream, count, 0, sizeof *count);
    add(stream, list->keys, list->n, count);
    dcsr_status status =
        dcsr_i_cuda_read_back(stream, result, count, sizeof *result, "looking at the order of entries");
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, count, 1, sizeof *count);
    return status;
}

/* Entries k with keep[k] = 1: how many they are, and a list of them; place[] has room for one more than the
 * list. */
static dcsr_status count_chosen(uint64_t *n, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                                const uint32_t *keep, uint64_t *place)
{
    DCSR_TRY(dcsr_i_cuda_scan_u32(stream, keep, place, list->n));
    return dcsr_i_cuda_read_back(stream, n, place + list->n, sizeof(uint64_t), "choosing entries");
}
static dcsr_status copy_chosen(dcsr_i_cuda_coo *chosen, dcsr_i_cuda_stream *stream,
                               const dcsr_i_cuda_coo *list, const uint32_t *keep, const uint64_t *place,
                               uint64_t n)
{
    DCSR_TRY(dcsr_i_cuda_coo_open(chosen, stream, list->type, list->rows, list->cols, n));
    dcsr_i_cuda_coo_scatter(stream, list, keep, place, chosen);
    return DCSR_OK;
}

/* The entries of ascending keys that stand more than once. */
static dcsr_status copy_duplicates(dcsr_i_cuda_coo *duplicates, dcsr_i_cuda_stream *stream,
                                   const dcsr_i_cuda_coo *list)
{
    uint64_t n, count = list->n + 1, *place = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, count, sizeof *place);
    uint32_t *keep = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, list->n, sizeof *keep);
    dcsr_status status = place && keep ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_cuda_coo_mark_duplicates(stream, list, keep);
        status = count_chosen(&n, stream, list, keep, place);
    }
    if (status == DCSR_OK) status = copy_chosen(duplicates, stream, list, keep, place, n);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, keep, list->n, sizeof *keep);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, place, count, sizeof *place);
    return status;
}

/* Where duplicates are wanted, and the policy keeps them, they are copied; NULL: they are not. *was: the list was in
 * order, each place once. */
static dcsr_status bring_into_order(dcsr_i_cuda_coo *list, dcsr_i_cuda_coo *duplicates,
                                    dcsr_i_cuda_stream *stream, dcsr_policy policy, bool *was)
{
    uint64_t descents;
    DCSR_TRY(count_with(dcsr_i_cuda_coo_count_descents, &descents, list, stream));
    *was = !descents;
    if (*was) return DCSR_OK;
    if (duplicates && policy == DCSR_POLICY_KEEP) {
        DCSR_TRY(dcsr_i_cuda_coo_sort(list, stream));
        DCSR_TRY(copy_duplicates(duplicates, stream, list));
        return duplicates->n ? combine_sorted(list, stream, policy) : DCSR_OK;
    }
    return sort_and_combine(list, stream, policy);
}

static dcsr_status order_rows_of_view(dcsr_i_cuda_coo *list, dcsr_i_cuda_coo *duplicates,
                                      dcsr_i_cuda_stream *stream, dcsr_view *view, bool transposed, bool some)
{
    bool was;
    if (!transposed && atomic_load(&view->ascends)) return dcsr_i_cuda_wait(stream, "reading a matrix");
    DCSR_TRY(bring_into_order(list, duplicates, stream, view->matrix->policy, &was));
    if (was && !transposed && !some) dcsr_i_view_note_ascending(view);
    return DCSR_OK;
}

static dcsr_status read_rows(dcsr_i_cuda_coo *list, dcsr_i_cuda_coo *duplicates, dcsr_i_cuda_stream *stream,
                             dcsr_view *view, bool transposed, const uint32_t *rows, uint64_t count)
{
    dcsr_i_cuda_walk walk = {.rows = view->form[0].rows.device, .list = rows, .count = count};
    *list = (dcsr_i_cuda_coo){0};
    if (duplicates) *duplicates = (dcsr_i_cuda_coo){0};
    if (transposed) DCSR_TRY(dcsr_i_cuda_view_transposed(&walk.rows, view));
    dcsr_status status =
        rows ? gather(list, stream, walk, false) : dcsr_i_cuda_coo_as_stored(list, stream, &walk.rows);
    if (status == DCSR_OK)
        status = order_rows_of_view(list, duplicates, stream, view, transposed, rows != NULL);
    if (status != DCSR_OK) {
        dcsr_i_cuda_coo_close(list, stream);
        if (duplicates) dcsr_i_cuda_coo_close(duplicates, stream);
    }
    if (status == DCSR_OK && !transposed) dcsr_i_view_was_read(view);
    return status;
}

dcsr_status dcsr_i_cuda_coo_of_rows(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_view *view,
                                    bool transposed, const uint32_t *rows, uint64_t count)
{
    return read_rows(list, NULL, stream, view, transposed, rows, count);
}

dcsr_status dcsr_i_cuda_coo_of_view(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_view *view,
                                    bool transposed)
{
    return read_rows(list, NULL, stream, view, transposed, NULL, 0);
}

dcsr_status dcsr_i_cuda_coo_of_output(dcsr_i_cuda_coo *list, dcsr_i_cuda_coo *duplicates,
                                      dcsr_i_cuda_stream *stream, dcsr_view *view)
{
    return read_rows(list, duplicates, stream, view, false, NULL, 0);
}

dcsr_status dcsr_i_cuda_coo_of_held(dcsr_i_cuda_coo *list, dcsr_i_cuda_coo *duplicates, dcsr_matrix *matrix,
                                    const uint32_t *rows, uint64_t count)
{
    dcsr_i_cuda_held held;
    dcsr_i_cuda_stream *stream = matrix->cuda->stream;
    const dcsr_i_table *now = matrix->versions.current;
    *list = (dcsr_i_cuda_coo){0};
    if (duplicates) *duplicates = (dcsr_i_cuda_coo){0};
    DCSR_TRY(dcsr_i_cuda_read_rows(&held, matrix, rows, count));
    *list = (dcsr_i_cuda_coo){.rows = now->rows,
                              .cols = now->cols,
                              .n = held.n,
                              .capacity = held.capacity,
                              .type = matrix->type,
                              .keys = held.keys,
                              .values = held.values};
    bool was,
        keeps = matrix->policy == DCSR_POLICY_KEEP,
        in_order = (held.resolved && !keeps) || atomic_load(&matrix->versions.ascending) == now->version;
    dcsr_status status =
        in_order ? DCSR_OK : bring_into_order(list, duplicates, stream, matrix->policy, &was);
    if (status == DCSR_OK) return DCSR_OK;
    dcsr_i_cuda_coo_close(list, stream);
    if (duplicates) dcsr_i_cuda_coo_close(duplicates, stream);
    return status;
}

/* ---- Choosing, casting, rows ---- */

static dcsr_status choose(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, const uint32_t *keep,
                          uint64_t *place)
{
    dcsr_i_cuda_coo chosen;
    uint64_t n;
    DCSR_TRY(count_chosen(&n, stream, list, keep, place));
    if (n == list->n) return DCSR_OK;
    DCSR_TRY(copy_chosen(&chosen, stream, list, keep, place, n));
    dcsr_i_cuda_coo_close(list, stream);
    *list = chosen;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_coo_choose(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, const uint32_t *keep)
{
    uint64_t count = list->n + 1, *place = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, count, sizeof *place);
    if (!place) return dcsr_i_no_memory();
    dcsr_status status = choose(list, stream, keep, place);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, place, count, sizeof *place);
    return status;
}

static dcsr_status list_rows(uint32_t **rows, uint64_t *count, dcsr_i_cuda_stream *stream,
                             const dcsr_i_cuda_coo *list, uint32_t *keep, uint64_t *place)
{
    dcsr_i_cuda_coo_mark_rows(stream, list, keep);
    DCSR_TRY(count_chosen(count, stream, list, keep, place));
    *rows = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, *count, sizeof **rows);
    if (!*rows) return dcsr_i_no_memory();
    dcsr_i_cuda_coo_name_rows(stream, list, keep, place, *rows);
    return DCSR_OK;
}

/* A long list may well be of too many rows: they are counted first, for which it is read once. */
dcsr_status dcsr_i_cuda_coo_rows_used(uint32_t **rows, uint64_t *count, dcsr_i_cuda_stream *stream,
                                      const dcsr_i_cuda_coo *list, uint64_t most)
{
    uint64_t n = list->n;
    *rows = NULL;
    *count = 0;
    if (n > most) DCSR_TRY(count_with(dcsr_i_cuda_coo_count_rows, count, list, stream));
    if (*count > most) return DCSR_OK;
    uint64_t *place = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n + 1, sizeof *place);
    uint32_t *keep = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *keep);
    dcsr_status status =
        place && keep ? list_rows(rows, count, stream, list, keep, place) : dcsr_i_no_memory();
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, keep, n, sizeof *keep);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, place, n + 1, sizeof *place);
    return status;
}

dcsr_status dcsr_i_cuda_coo_append(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream,
                                   const dcsr_i_cuda_coo *other)
{
    const size_t size = dcsr_type_size(list->type);
    dcsr_i_cuda_coo all;
    DCSR_TRY(dcsr_i_cuda_coo_open(&all, stream, list->type, list->rows, list->cols, list->n + other->n));
    dcsr_i_cuda_copy(stream, all.keys, list->keys, list->n * sizeof *all.keys);
    dcsr_i_cuda_copy(stream, all.keys + list->n, other->keys, other->n * sizeof *all.keys);
    if (size) {
        dcsr_i_cuda_copy(stream, all.values, list->values, list->n * size);
        dcsr_i_cuda_copy(stream, (char *)all.values + list->n * size, other->values, other->n * size);
    }
    dcsr_i_cuda_coo_close(list, stream);
    *list = all;
    return dcsr_i_cuda_coo_sort(list, stream);
}

/* The values as values of another type, in memory of their own. */
static dcsr_status cast_values(void **values, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                               dcsr_type type)
{
    dcsr_i_cuda_body body = {.dense = true, .size = list->n, .capacity = list->n, .values = list->values};
    *values = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, list->capacity, dcsr_type_size(type));
    if (!*values) return dcsr_i_no_memory();
    dcsr_i_cuda_run_cast(stream, type, *values, list->type, &body);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_coo_cast(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_type type)
{
    void *values = NULL;
    if (type == list->type) return DCSR_OK;
    if (type != DCSR_PATTERN) DCSR_TRY(cast_values(&values, stream, list, type));
    free_values(list, stream);
    list->type = type;
    list->values = values;
    return DCSR_OK;
}

void dcsr_i_cuda_coo_offsets(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint64_t *offsets)
{
    dcsr_i_cuda_find_begins(stream, list->keys, list->n, 32, list->rows, offsets);
}

/* ---- Merging ---- */

/* Counts what is kept, opens the result, and writes it. */
static dcsr_status merge_parts(dcsr_i_cuda_merge *merge, dcsr_i_cuda_stream *stream, dcsr_type type,
                               uint32_t *counts, uint64_t *places)
{
    uint64_t n, parts = dcsr_i_cuda_merge_parts(merge);
    dcsr_i_cuda_merge_count(stream, merge, counts);
    DCSR_TRY(dcsr_i_cuda_scan_u32(stream, counts, places, parts));
    DCSR_TRY(dcsr_i_cuda_read_back(stream, &n, places + parts, sizeof(uint64_t), "merging entries"));
    DCSR_TRY(dcsr_i_cuda_coo_open(&merge->z, stream, type, merge->x.rows, merge->x.cols, n));
    dcsr_i_cuda_merge_write(stream, merge, places);
    return DCSR_OK;
}

static dcsr_status count_and_write(dcsr_i_cuda_merge *merge, dcsr_i_cuda_stream *stream, dcsr_type type)
{
    uint64_t parts = dcsr_i_cuda_merge_parts(merge);
    uint32_t *counts = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, parts, sizeof *counts);
    uint64_t *places = counts ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, parts + 1, sizeof *places) : NULL;
    if (places)
        merge->begins = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 2 * (parts + 1), sizeof *merge->begins);
    dcsr_status status =
        merge->begins ? merge_parts(merge, stream, type, counts, places) : dcsr_i_no_memory();
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, merge->begins, 2 * (parts + 1), sizeof *merge->begins);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, places, parts + 1, sizeof *places);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, counts, parts, sizeof *counts);
    return status;
}

/* Values of the result's type: the list's own, or a copy; NULL where none are copied. */
static dcsr_status open_values(const void **values, void **own, dcsr_i_cuda_stream *stream,
                               const dcsr_i_cuda_coo *list, dcsr_type type, bool copied)
{
    *values = *own = NULL;
    if (!copied || type == DCSR_PATTERN) return DCSR_OK;
    if (type != list->type) DCSR_TRY(cast_values(own, stream, list, type));
    *values = *own ? *own : list->values;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_coo_merge(dcsr_i_cuda_coo *z, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *x,
                                  const dcsr_i_cuda_coo *y, const dcsr_i_cuda_merging *how)
{
    size_t size = dcsr_type_size(how->type);
    bool operate = how->op && how->both && size;
    void *own_x, *own_y = NULL;
    dcsr_i_cuda_merge merge = {.x = *x,
                               .y = *y,
                               .keep_x = how->x,
                               .keep_y = how->y,
                               .keep_both = how->both,
                               .operate = operate,
                               .name = operate ? how->op->name : 0,
                               .type = operate ? how->op->xtype : DCSR_PATTERN};
    dcsr_status status =
        open_values(&merge.x_values, &own_x, stream, x, how->type, how->x || (how->both && !operate));
    if (status == DCSR_OK) status = open_values(&merge.y_values, &own_y, stream, y, how->type, how->y);
    if (status == DCSR_OK) status = count_and_write(&merge, stream, how->type);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, own_y, y->capacity, size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, own_x, x->capacity, size);
    *z = merge.z;
    return status;
}
