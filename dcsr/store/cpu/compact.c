/* compact.c: tables in which the rows lie one behind the other, and filling an empty matrix from CSR that way.
 *
 * Pages without entries are left out. */
#include "dcsr/store/store.h"
#include <assert.h>
#include <string.h>

static uint64_t lengths(const dcsr_i_lengths *of, uint64_t i, uint32_t *length)
{
    uint64_t sum = 0;
    memset(length, 0, DCSR_I_PAGE_ROWS * sizeof *length);
    of->lengths_of(of->user, of->pages->page[i], length);
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) sum += length[r];
    return sum;
}

typedef struct layout {
    dcsr_matrix *matrix;
    dcsr_i_table *table;
    const dcsr_i_lengths *of;
    uint64_t *before; /* entries in the pages before number i of the list; one more than those */
} layout;

static bool has_entries(const layout *l, uint64_t i)
{
    return l->before[i] != l->before[i + 1];
}

/* Makes those of number first to end - 1 of the list that have entries. */
static bool make_some_pages(const layout *l, uint64_t first, uint64_t end)
{
    dcsr_i_row_page *pages[DCSR_I_PAGES_AT_ONCE];
    size_t n = 0, used = 0;
    for (uint64_t i = first; i < end; i++) n += has_entries(l, i);
    if (!dcsr_i_pages_create(l->matrix, n, pages, l->table->version)) return false;
    for (uint64_t i = first; i < end; i++) {
        if (!has_entries(l, i)) continue;
        dcsr_i_row_page *page = pages[used++];
        uint64_t p = l->of->pages->page[i], at = l->table->first + l->before[i];
        lengths(l->of, i, page->length);
        for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; at += page->length[r++])
            page->segment[0]->of[r] = dcsr_i_segment_of(at, page->length[r]);
        dcsr_i_directory_of(l->table, p)->page[p & (DCSR_I_DIRECTORY_PAGES - 1)] = page;
    }
    return true;
}

static dcsr_status make_pages(const layout *l)
{
    uint64_t n = l->of->pages->count;
    int threads = dcsr_i_threads(l->matrix->context, n * DCSR_I_PAGE_ROWS), failed = 0;
    for (uint64_t i = 0; i < n; i++)
        if (has_entries(l, i) && !dcsr_i_page_slot(l->matrix, l->table, NULL, l->of->pages->page[i], NULL))
            return DCSR_ERROR_OUT_OF_MEMORY;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(+ : failed) if (threads > 1)
    for (uint64_t i = 0; i < n; i += DCSR_I_PAGES_AT_ONCE) {
        uint64_t end = i + DCSR_I_PAGES_AT_ONCE;
        failed += !make_some_pages(l, i, end < n ? end : n);
    }
    /* The sentence may have been another thread's. */
    return failed ? dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "laying out rows: no memory for their table")
                  : DCSR_OK;
}

/* Entries in each listed page, then those in the pages before it; returns how many there are. */
static uint64_t count_before(uint64_t *before, const dcsr_matrix *matrix, const dcsr_i_lengths *of)
{
    uint64_t n = of->pages->count, sum = 0;
    int threads = dcsr_i_threads(matrix->context, n * DCSR_I_PAGE_ROWS);
#pragma omp parallel for num_threads(threads) schedule(dynamic, DCSR_I_PAGES_AT_ONCE) if (threads > 1)
    for (uint64_t i = 0; i < n; i++) {
        uint32_t length[DCSR_I_PAGE_ROWS];
        before[i] = lengths(of, i, length);
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t entries = before[i];
        before[i] = sum;
        sum += entries;
    }
    return before[n] = sum;
}

/* Memory that is used for the first time is cleared by the system, a huge page at a time, and by each of the threads
 * that come to the same one at once. So one thread comes to each before they all write to them. */
static void touch(char *begin, uint64_t bytes, int threads)
{
    enum { HUGE_PAGE = 2 << 20 };
    char *const first = begin - (uintptr_t)begin % HUGE_PAGE;
    const uint64_t pages = ((uint64_t)(begin - first) + bytes + HUGE_PAGE - 1) / HUGE_PAGE;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (uint64_t i = 0; i < pages; i++) *(volatile char *)(i ? first + i * HUGE_PAGE : begin) = 0;
}

static void touch_places(const dcsr_matrix *matrix, uint64_t begin, uint64_t entries)
{
    const int threads = dcsr_i_threads(matrix->context, entries);
    const size_t size = matrix->value_size;
    if (threads < 2) return;
    touch((char *)(matrix->arena.columns + begin), entries * sizeof *matrix->arena.columns, threads);
    if (size) touch(matrix->arena.values + begin * size, entries * size, threads);
}

/* With the rows from *place on; NULL: in blocks that are taken for them. */
static dcsr_status lay_out(dcsr_i_table **table, dcsr_matrix *matrix, uint64_t version, const uint64_t *place,
                           const dcsr_i_lengths *of)
{
    dcsr_i_table *made =
        dcsr_i_table_create(matrix, matrix->versions.current->rows, matrix->versions.current->cols, version);
    if (!made) return DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t n = of->pages->count;
    made->contiguous = true;
    uint64_t *before = dcsr_i_alloc(matrix->context, DCSR_I_SCRATCH, n + 1, sizeof *before);
    dcsr_status status = before ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    bool taken = false;
    if (before) {
        made->stored = count_before(before, matrix, of);
        if (place) {
            made->first = *place;
        } else {
            status = dcsr_i_arena_take_blocks(&matrix->arena, made->stored, version, false, &made->first);
            taken = status == DCSR_OK;
            if (taken) touch_places(matrix, made->first, made->stored);
        }
    }
    if (status == DCSR_OK) status = make_pages(&(layout){matrix, made, of, before});
    dcsr_i_free(matrix->context, DCSR_I_SCRATCH, before, n + 1, sizeof *before);
    if (status == DCSR_OK) {
        *table = made;
        return DCSR_OK;
    }
    if (taken) dcsr_i_arena_give(&matrix->arena, made->first, made->stored);
    dcsr_i_free_unshared(matrix, made, NULL);
    return status;
}

dcsr_status dcsr_i_tight_table(dcsr_i_table **table, dcsr_matrix *matrix, uint64_t version,
                               const dcsr_i_lengths *of)
{
    return lay_out(table, matrix, version, NULL, of);
}

/* ---- From rows that others have ---- */

dcsr_status dcsr_i_fill_rows(dcsr_matrix *matrix, const dcsr_i_filling *filling)
{
    const uint64_t version = matrix->versions.current->version + 1, entries = filling->entries;
    uint64_t first;
    dcsr_i_table *table;
    dcsr_i_limbo *limbo = dcsr_i_limbo_create(matrix, 1);
    if (!limbo) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_arena_take_blocks(&matrix->arena, entries, version, false, &first);
    if (status != DCSR_OK) {
        dcsr_i_limbo_free(matrix, limbo);
        return status;
    }
    char *values = matrix->value_size ? matrix->arena.values + first * matrix->value_size : NULL;
    status = filling->copy(filling->lengths.user, dcsr_i_threads(matrix->context, entries),
                           matrix->arena.columns + first, values);
    if (status == DCSR_OK) status = lay_out(&table, matrix, version, &first, &filling->lengths);
    if (status != DCSR_OK) {
        dcsr_i_arena_give(&matrix->arena, first, entries);
        dcsr_i_limbo_free(matrix, limbo);
        return status;
    }
    assert(table->stored <= entries);
    dcsr_i_arena_give(&matrix->arena, first + table->stored, entries - table->stored);
    dcsr_i_publish(matrix, table, limbo);
    return DCSR_OK;
}

/* ---- From CSR ---- */

static void lengths_of_csr(const void *user, uint64_t p, uint32_t length[DCSR_I_PAGE_ROWS])
{
    const dcsr_csr *csr = user;
    uint64_t row = p << DCSR_I_PAGE_SHIFT;
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS && row + r < csr->rows; r++)
        length[r] = (uint32_t)(csr->offsets[row + r + 1] - csr->offsets[row + r]);
}

/* Whether some column of the row may stand more than once: they do not ascend strictly. */
static bool may_repeat(const uint32_t *columns, uint64_t first, uint64_t end)
{
    for (uint64_t i = first + 1; i < end; i++)
        if (columns[i] <= columns[i - 1]) return true;
    return false;
}

/* Copies the entries of a page and marks the rows that need resolving; returns how many. */
static uint64_t fill_page(dcsr_matrix *matrix, const dcsr_i_table *table, const dcsr_csr *csr, uint64_t p)
{
    dcsr_i_row_page *page = (dcsr_i_row_page *)dcsr_i_page(table, p);
    uint64_t row = p << DCSR_I_PAGE_SHIFT,
             last = row + DCSR_I_PAGE_ROWS < csr->rows ? row + DCSR_I_PAGE_ROWS : csr->rows;
    uint64_t first = csr->offsets[row], entries = csr->offsets[last] - first, to = table->first + first;
    size_t size = matrix->value_size;
    memcpy(matrix->arena.columns + to, csr->col_indices + first, entries * sizeof *csr->col_indices);
    if (size)
        memcpy(matrix->arena.values + to * size, (const char *)csr->values + first * size, entries * size);
    if (matrix->policy == DCSR_POLICY_KEEP) return 0;
    for (uint64_t r = 0; row + r < last; r++)
        if (may_repeat(csr->col_indices, csr->offsets[row + r], csr->offsets[row + r + 1]))
            page->duplicates |= (uint64_t)1 << r;
    page->ascending = ~page->duplicates;
    return (uint64_t)__builtin_popcountll(page->duplicates);
}

/* A table of the rows of a CSR, tight from *place on (NULL: in blocks of its own), with the pages that have entries,
 * and room for what publishing it retires. */
static dcsr_status lay_out_csr(dcsr_i_table **table, dcsr_i_page_list *list, dcsr_i_limbo **limbo,
                               dcsr_matrix *matrix, const dcsr_csr *csr, const uint64_t *place)
{
    const dcsr_i_rows of_csr = {.rows = csr->rows, .offsets = csr->offsets};
    const uint64_t version = matrix->versions.current->version + 1;
    *limbo = dcsr_i_limbo_create(matrix, 1);
    if (!*limbo) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_page_list_create(list, matrix->context, &of_csr);
    if (status == DCSR_OK)
        status = lay_out(table, matrix, version, place,
                         &(dcsr_i_lengths){.pages = list, .lengths_of = lengths_of_csr, .user = (void *)csr});
    if (status == DCSR_OK) return DCSR_OK;
    dcsr_i_page_list_free(list, matrix->context);
    dcsr_i_limbo_free(matrix, *limbo);
    return status;
}

dcsr_status dcsr_i_fill(dcsr_matrix *matrix, const dcsr_csr *csr, uint64_t *marked)
{
    dcsr_i_limbo *limbo;
    dcsr_i_table *table;
    dcsr_i_page_list list;
    DCSR_TRY(lay_out_csr(&table, &list, &limbo, matrix, csr, NULL));
    uint64_t rows = 0;
    int threads = dcsr_i_threads(matrix->context, csr->nnz);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 32) reduction(+ : rows) if (threads > 1)
    for (uint64_t i = 0; i < list.count; i++) rows += fill_page(matrix, table, csr, list.page[i]);
    dcsr_i_page_list_free(&list, matrix->context);
    table->duplicate_rows = *marked = rows;
    if (!rows && matrix->policy != DCSR_POLICY_KEEP)
        atomic_store(&matrix->versions.ascending, table->version);
    dcsr_i_publish(matrix, table, limbo);
    return DCSR_OK;
}

dcsr_status dcsr_i_adopt(dcsr_matrix *matrix, const dcsr_csr *csr, const dcsr_i_home *given)
{
    const uint64_t first = 0;
    dcsr_i_limbo *limbo;
    dcsr_i_table *table;
    dcsr_i_page_list list;
    DCSR_TRY(lay_out_csr(&table, &list, &limbo, matrix, csr, &first));
    dcsr_status status = dcsr_i_arena_adopt(&matrix->arena, given, table->version);
    if (status == DCSR_OK) {
        for (uint64_t i = 0; i < list.count && matrix->policy != DCSR_POLICY_KEEP; i++)
            ((dcsr_i_row_page *)dcsr_i_page(table, list.page[i]))->ascending = UINT64_MAX;
        atomic_store(&matrix->versions.ascending, table->version);
        dcsr_i_publish(matrix, table, limbo);
    } else {
        dcsr_i_free_unshared(matrix, table, NULL);
        dcsr_i_limbo_free(matrix, limbo);
    }
    dcsr_i_page_list_free(&list, matrix->context);
    return status;
}
