/* index_list.c: the lists of rows and columns that extraction and assignment take. */
#include "dcsr/base/search.h"
#include "ops/algebra/dispatch.h"
#include "ops/matrix/index_list.h"

static dcsr_status check(const dcsr_i_selected *list, const char *call, const char *what)
{
    if (list->n > DCSR_MAX_ROWS)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "%s: a list of %llu %ss is longer than any matrix", call,
                           (unsigned long long)list->n, what);
    for (uint64_t k = 0; k < list->n; k++)
        if (list->given[k] >= list->size)
            return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s: %s %llu, number %llu of the list, of %llu",
                               call, what, (unsigned long long)list->given[k], (unsigned long long)k,
                               (unsigned long long)list->size);
    return DCSR_OK;
}

/* Whether the list ascends strictly; notes whether it is a range. */
static bool ascends(dcsr_i_selected *list)
{
    bool strictly = true, range = true;
    list->first = list->n ? list->given[0] : 0;
    for (uint64_t k = 1; k < list->n; k++) {
        strictly &= list->given[k] > list->given[k - 1];
        range &= list->given[k] == list->given[k - 1] + 1;
    }
    list->range = range;
    return strictly;
}

/* Sorts by index, keeping what stands twice in order. */
static dcsr_status sort(dcsr_i_selected *list)
{
    uint64_t n = list->n;
    int bits = 0;
    while (bits < 32 && (list->size - 1) >> bits) bits++;
    uint64_t *keys = dcsr_i_alloc(list->context, DCSR_I_SCRATCH, 2 * n, sizeof *keys);
    list->position = dcsr_i_alloc(list->context, DCSR_I_SCRATCH, n, sizeof *list->position);
    if (keys && list->position) {
        for (uint64_t k = 0; k < n; k++) keys[k] = list->given[k] << 32 | k;
        const uint64_t *sorted = dcsr_i_sort(keys, keys + n, n, 1, 32, bits, 1);
        for (uint64_t k = 0, run = 0; k < n; k++) {
            list->sorted[k] = (uint32_t)(sorted[k] >> 32);
            list->position[k] = (uint32_t)sorted[k];
            run = k && list->sorted[k] == list->sorted[k - 1] ? run + 1 : 1;
            if (run > list->repeats) list->repeats = run;
        }
    }
    dcsr_i_free(list->context, DCSR_I_SCRATCH, keys, 2 * n, sizeof *keys);
    return keys && list->position ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static dcsr_status fill(dcsr_i_selected *list)
{
    list->sorted = list->few;
    if (list->n > DCSR_I_FEW_INDICES)
        list->sorted = dcsr_i_alloc(list->context, DCSR_I_SCRATCH, list->n, sizeof *list->sorted);
    if (!list->sorted) return DCSR_ERROR_OUT_OF_MEMORY;
    list->repeats = 1;
    if (!ascends(list)) return sort(list);
    for (uint64_t k = 0; k < list->n; k++) list->sorted[k] = (uint32_t)list->given[k];
    return DCSR_OK;
}

/* By index, when that takes no more memory than what it is made for. */
static dcsr_status make_starts(dcsr_i_selected *list, uint64_t reads)
{
    if (!reads || list->range || list->n <= DCSR_I_FEW_INDICES || list->size > 4 * (list->n + reads))
        return DCSR_OK;
    list->starts = dcsr_i_alloc(list->context, DCSR_I_SCRATCH, list->size, sizeof *list->starts);
    if (!list->starts) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0, k = 0; i < list->size; i++) {
        list->starts[i] = (uint32_t)k;
        while (k < list->n && list->sorted[k] == i) k++;
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_select_indices(dcsr_i_selected *list, dcsr_context *context, const dcsr_i_given *given)
{
    *list = (dcsr_i_selected){
        .context = context, .all = !given->list, .n = given->size, .repeats = 1, .size = given->size};
    if (list->all) return DCSR_OK;
    DCSR_TRY(dcsr_i_check_list(given->call, given->what, given->list));
    list->n = given->list->n;
    list->given = given->list->indices;
    DCSR_TRY(check(list, given->call, given->what));
    DCSR_TRY(fill(list));
    if (given->unique && list->repeats > 1)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: a %s stands more than once in the list",
                           given->call, given->what);
    return make_starts(list, given->reads);
}

dcsr_status dcsr_i_selected_mark(dcsr_i_selected *list)
{
    uint64_t words = (list->size + 63) / 64;
    if (list->all || list->range || list->n <= DCSR_I_FEW_INDICES || words > 4 * list->n) return DCSR_OK;
    list->bits = dcsr_i_calloc(list->context, DCSR_I_SCRATCH, words, sizeof *list->bits);
    if (!list->bits) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t k = 0; k < list->n; k++)
        list->bits[list->sorted[k] / 64] |= (uint64_t)1 << list->sorted[k] % 64;
    return DCSR_OK;
}

void dcsr_i_selected_free(dcsr_i_selected *list)
{
    dcsr_i_free(list->context, DCSR_I_SCRATCH, list->bits, (list->size + 63) / 64, sizeof *list->bits);
    if (list->n > DCSR_I_FEW_INDICES)
        dcsr_i_free(list->context, DCSR_I_SCRATCH, list->sorted, list->n, sizeof *list->sorted);
    dcsr_i_free(list->context, DCSR_I_SCRATCH, list->position, list->n, sizeof *list->position);
    dcsr_i_free(list->context, DCSR_I_SCRATCH, list->starts, list->size, sizeof *list->starts);
}

uint64_t dcsr_i_selected_find(const dcsr_i_selected *list, uint64_t from, uint64_t index)
{
    if (list->starts) return list->starts[index];
    return dcsr_i_list_find_near(list->sorted, from, list->n, index);
}

/* ---- Entries with new columns ---- */

dcsr_status dcsr_i_moved_room(dcsr_i_moved *moved, dcsr_context *context, uint64_t entries)
{
    moved->n = 0;
    return dcsr_i_scratch_room(&moved->keys, context, 2 * entries * sizeof(uint64_t));
}

static void insertion_sort(uint64_t *keys, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        uint64_t moving = keys[i], j = i;
        for (; j > 0 && keys[j - 1] > moving; j--) keys[j] = keys[j - 1];
        keys[j] = moving;
    }
}

void dcsr_i_moved_write(dcsr_i_moved *moved, bool ascend, const dcsr_i_row *row, size_t value_size,
                        dcsr_i_room room, uint64_t to)
{
    enum { FEW = 24 };
    uint64_t *keys = moved->keys.bytes, n = moved->n;
    if (!ascend && n <= FEW) insertion_sort(keys, n);
    if (!ascend && n > FEW) keys = dcsr_i_sort(keys, keys + n, n, 1, 32, 31, 1);
    for (uint64_t k = 0; k < n; k++) room.columns[to + k] = (uint32_t)(keys[k] >> 32);
    moved->n = 0;
    if (!room.values) return;
    if (value_size == sizeof(uint64_t)) {
        for (uint64_t k = 0; k < n; k++)
            ((uint64_t *)room.values)[to + k] = ((const uint64_t *)row->values)[(uint32_t)keys[k]];
        return;
    }
    for (uint64_t k = 0; k < n; k++)
        memcpy((char *)room.values + (to + k) * value_size,
               (const char *)row->values + (uint32_t)keys[k] * value_size, value_size);
}

/* ---- Extraction and assignment ---- */

dcsr_status dcsr_i_moving_begin(void *moving, int threads)
{
    dcsr_i_moving *m = moving;
    m->alone = (dcsr_i_mover){.moved.keys = dcsr_i_scratch_of(&m->few)};
    m->thread = &m->alone;
    if (threads > 1)
        m->thread = dcsr_i_calloc(m->context, DCSR_I_SCRATCH, (size_t)threads, sizeof *m->thread);
    if (!m->thread) return DCSR_ERROR_OUT_OF_MEMORY;
    m->threads = threads;
    for (int t = 0; t < threads; t++) m->thread[t].a = dcsr_i_row_reader_of(m->context, m->a.rows);
    return DCSR_OK;
}

void dcsr_i_moving_end(void *moving)
{
    dcsr_i_moving *m = moving;
    for (int t = 0; t < m->threads; t++) {
        dcsr_i_row_reader_free(&m->thread[t].a);
        dcsr_i_scratch_free(&m->thread[t].moved.keys, m->context);
    }
    if (m->threads > 1)
        dcsr_i_free(m->context, DCSR_I_SCRATCH, m->thread, (size_t)m->threads, sizeof *m->thread);
}

void dcsr_i_moving_free(dcsr_i_moving *moving)
{
    dcsr_i_selected_free(&moving->rows);
    dcsr_i_selected_free(&moving->cols);
    dcsr_i_input_free(&moving->a);
}
