/* defragment.c: bringing all rows together, one behind the other.
 *
 * A prefix sum over row lengths gives every row its new place; rows are copied there in order, one tight
 * segment each, into blocks of their own; the blocks they leave are freed as a whole. No sort, no comparison.
 * Bytes moved: each entry is read and written once. */
#include "dcsr/store/maintained_transpose.h"
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

typedef struct job {
    dcsr_matrix *matrix;
    dcsr_i_table *base, *next;
    dcsr_i_page_list list; /* of base */
    dcsr_i_extent *extents;
    uint64_t extent_count;
    bool retired;
    dcsr_i_limbo *limbo;
} job;

static void lengths_of_page(const void *user, uint64_t p, uint32_t length[DCSR_I_PAGE_ROWS])
{
    const dcsr_i_row_page *page = dcsr_i_page(user, p);
    if (page) memcpy(length, page->length, sizeof page->length);
}

static dcsr_status retire(job *j)
{
    j->limbo = dcsr_i_limbo_create(j->matrix, j->extent_count + dcsr_i_count_of_table(j->matrix));
    if (!j->limbo) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_retire_table(j->limbo, j->matrix, j->base);
    dcsr_i_retire_extents(j->limbo, j->extents, j->extent_count);
    return DCSR_OK;
}

/* Copies entries; a few of 8 bytes, as rows of a grid in pieces have, without a branch for how many. */
static void copy(const dcsr_matrix *matrix, uint64_t to, uint64_t from, uint64_t entries)
{
#ifdef __AVX512F__
    enum { LANES = 8 };
    if (entries <= LANES && matrix->value_size == sizeof(uint64_t)) {
        uint32_t *columns = matrix->arena.columns;
        uint64_t *values = (uint64_t *)matrix->arena.values;
        const __mmask8 mask = (__mmask8)((1u << entries) - 1);
        _mm512_mask_storeu_epi32(columns + to, mask, _mm512_maskz_loadu_epi32(mask, columns + from));
        _mm512_mask_storeu_epi64(values + to, mask, _mm512_maskz_loadu_epi64(mask, values + from));
        return;
    }
#endif
    dcsr_i_copy_entries(matrix, to, from, entries);
}

/* Copies the rows of one page behind each other. Neighbouring pieces that already lie so are copied as one.
 */
static void move_page(const job *j, uint64_t p)
{
    const dcsr_i_row_page *old = dcsr_i_page(j->base, p), *fresh = dcsr_i_page(j->next, p);
    if (!fresh) return; /* the page has no entries any more */
    uint64_t to = dcsr_i_begin_of(fresh, 0, 0), from = 0, joined = 0;
    ((dcsr_i_row_page *)fresh)->ascending = old->ascending & ~old->fragmented;
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_row_pieces(old, r, pieces);
        for (int k = 0; k < count; k++) {
            if (pieces[k].begin != from + joined) {
                copy(j->matrix, to, from, joined);
                to += joined;
                from = pieces[k].begin;
                joined = 0;
            }
            joined += pieces[k].length;
        }
    }
    copy(j->matrix, to, from, joined);
}

static bool is_tight(const dcsr_matrix *matrix, const dcsr_i_table *table)
{
    uint64_t p = 0;
    const dcsr_i_row_page *page = dcsr_i_next_page(table, &p);
    return table->contiguous && (!page || dcsr_i_page_is_tight(matrix, page));
}

dcsr_status dcsr_i_tighten(dcsr_matrix *matrix)
{
    job j = {.matrix = matrix, .base = matrix->versions.current};
    if (is_tight(matrix, j.base)) return DCSR_OK;
    dcsr_i_rows rows = dcsr_i_rows_of(matrix, j.base);
    DCSR_TRY(dcsr_i_page_list_create(&j.list, matrix->context, &rows));
    dcsr_status status = dcsr_i_arena_retire(&matrix->arena, &j.extents, &j.extent_count);
    j.retired = status == DCSR_OK;
    if (status == DCSR_OK) status = retire(&j);
    if (status == DCSR_OK)
        status = dcsr_i_tight_table(
            &j.next, matrix, j.base->version + 1,
            &(dcsr_i_lengths){.pages = &j.list, .lengths_of = lengths_of_page, .user = j.base});
    if (status == DCSR_OK) {
        int threads = dcsr_i_threads(matrix->context, j.base->stored);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 32) if (threads > 1)
        for (uint64_t i = 0; i < j.list.count; i++) move_page(&j, j.list.page[i]);
        dcsr_i_row_pages_drain(matrix);
        dcsr_i_twin_stays(matrix);
        dcsr_i_publish(matrix, j.next, j.limbo);
    } else {
        dcsr_i_limbo_free(matrix, j.limbo);
        if (j.retired) dcsr_i_arena_spare(&matrix->arena, j.extents, j.extent_count);
    }
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, j.extents, j.extent_count, sizeof *j.extents);
    dcsr_i_page_list_free(&j.list, matrix->context);
    return status;
}
