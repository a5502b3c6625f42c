/* rewrite_cuda.h: the kernels of rewriting rows, and of what else rearranges them (internal; for C and for
 * kernels' files): select_rows.cu, rewrite.cu, resolve.cu, compact.cu. */
#ifndef DCSR_REWRITE_CUDA_H
#define DCSR_REWRITE_CUDA_H

#include <dcsr/view.h>
#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dcsr_i_selection;
struct dcsr_i_table;

/* ---- Which rows: select_rows.cu. A bitmap has a bit for each row, in words of 32. ---- */

typedef enum dcsr_i_cuda_marks {
    DCSR_CUDA_MARKED_TOMBSTONES = 1,
    DCSR_CUDA_MARKED_DUPLICATES = 2,
    DCSR_CUDA_MARKED_FRAGMENTED = 4,
    DCSR_CUDA_IN_USE = 8 /* it has entries */
} dcsr_i_cuda_marks;

static inline uint64_t dcsr_i_cuda_bitmap_words(uint64_t rows)
{
    return (rows + 31) / 32;
}

/* Sets the bits of the rows that have any of the marks, clears the others. */
void dcsr_i_cuda_select_marked(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, unsigned marks,
                               uint32_t *bitmap);
/* The same for rows that have places in a block b of the arena, of 2^shift places, with chosen[b] not 0; only segments
 * smaller than a block count. */
void dcsr_i_cuda_select_in_blocks(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                  const uint8_t *chosen, int shift, uint32_t *bitmap);
/* Sets the bits of further rows of a walk over all rows, which has `entries`: those whose columns do not
 * ascend (strictly: no two are equal either), those with a column from `limit` on. */
void dcsr_i_cuda_select_unsorted(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                                 bool strictly, uint32_t *bitmap);
void dcsr_i_cuda_select_beyond(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                               uint64_t limit, uint32_t *bitmap);
/* before[w] = bits in the words before word w, for w = 0 .. words. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_count_bits(dcsr_i_cuda_stream *stream, const uint32_t *bitmap, uint64_t words,
                                   uint64_t *before);
/* Lists the rows whose bits are set. */
void dcsr_i_cuda_coo_rows(dcsr_i_cuda_stream *stream, const uint32_t *bitmap, uint64_t words,
                          const uint64_t *before, uint32_t *list);

/* Lists the rows of a version of the matrix that are selected, ascending: *count of them in *list, which the caller
 * frees (DCSR_I_SCRATCH), NULL for none. Waits for the stream. Untidy rows are those in the blocks of which least is in
 * use, as far as no more than selection->most places are in use in these. select_rows_cuda.c. */
dcsr_status dcsr_i_cuda_select_rows(uint32_t **list, uint64_t *count, dcsr_i_cuda_stream *stream,
                                    dcsr_matrix *matrix, const struct dcsr_i_table *base,
                                    const dcsr_i_cuda_rows *rows, const struct dcsr_i_selection *selection);

/* ---- What rows take up: rewrite.cu ---- */

/* Adds up over rows. */
typedef struct dcsr_i_cuda_sums {
    uint64_t stored, extra, duplicates, tombstones; /* as in dcsr_i_table */
    uint64_t most;                                  /* places they may need when they are rewritten */
} dcsr_i_cuda_sums;

/* Adds to the first four sums what rows first to first + count - 1, or those of the list, are counted for;
 * and to freed[b], unless it is NULL, the places of theirs in block b of the arena, a block being 2^shift
 * places. */
void dcsr_i_cuda_count_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, const uint32_t *list,
                            uint64_t first, uint64_t count, dcsr_i_cuda_sums *sums, uint32_t *freed,
                            int shift);
/* touched[p] = 1 for each page p that has a row of the list with entries, or one that is to have length[i] of them
 * (NULL: none is); the others are not written. */
void dcsr_i_cuda_touch_pages(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, const uint32_t *list,
                             uint64_t count, const uint32_t *length, uint8_t *touched);

/* What is done to the rows of a list. */
typedef struct dcsr_i_cuda_rewriting {
    dcsr_i_cuda_rows rows; /* as they are */
    const uint32_t *list;
    uint64_t count;
    bool resolve_all; /* not just the rows with marks */
    uint32_t slack;   /* room for growth (segment.h) */
    bool keep;        /* duplicates stay */
    uint64_t column_limit;
    int column_bits;
    int policy;
    uint64_t start; /* the first place they may take */
    /* count + 1 each: offsets of the walks over the rows to resolve and over those just to move; where the
     * rows are to be, and where the last one ends. */
    uint64_t *resolved, *moved, *begin;
    uint32_t *length; /* the new one */
} dcsr_i_cuda_rewriting;

/* Makes the two walks; adds to sums->most what the rows may need. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_plan_rewriting(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                                       dcsr_i_cuda_sums *sums);
/* A place in the list: a row, and the entry that it begins with in the walk over those to resolve. */
typedef struct dcsr_i_cuda_border {
    uint64_t row, entry;
} dcsr_i_cuda_border;
/* borders[g], for g = 0 .. groups: where the g-th share of so many entries begins, of whole rows. */
void dcsr_i_cuda_find_borders(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work, uint64_t share,
                              uint64_t groups, dcsr_i_cuda_border *borders);
/* Gives rows first to end - 1 of the list their new lengths - `rank` counts, from the first entry of theirs
 * that is resolved, those that stay - and places, behind those of the rows before them. `scratch` has end -
 * first + 1 places. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_place_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                                   uint64_t first, uint64_t end, const uint64_t *rank, uint64_t *scratch);
/* Gives the rows of the list the lengths and places that they have among n keys row << 32 | column, which ascend and
 * are of these rows alone. */
void dcsr_i_cuda_place_keys(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                            const uint64_t *keys, uint64_t n);
/* Writes the rows into pages of their own, but for those of pages that have none; adds to sums->stored what is in
 * them. */
void dcsr_i_cuda_enter_places(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                              const uint32_t *root, dcsr_i_cuda_row_page *row_page,
                              dcsr_i_cuda_segment_page *segment_page, bool for_view, dcsr_i_cuda_sums *sums);

/* ---- Resolving: resolve.cu ---- */

/* The entries of rows first to end - 1 of the list that are to be resolved, on their way: n of them. Each
 * array has room for n + 1. */
typedef struct dcsr_i_cuda_group {
    uint64_t first, end, n;
    uint64_t *keys, *keys_spare; /* row << column_bits | column, the first row of the group being 0 */
    uint64_t *from, *from_spare; /* place; the topmost bit: it is a tombstone */
    uint32_t *stays;
} dcsr_i_cuda_group;

/* Sorts the entries by row and column, combines those of one place, and ranks those that stay: rank[x] of
 * them are before the x-th. Leaves in keys and words what they are. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_resolve_group(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                                      dcsr_i_cuda_group *group, uint64_t **words, uint64_t **rank);
/* Writes them to where their rows have been placed. */
void dcsr_i_cuda_write_group(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                             const dcsr_i_cuda_group *group, const uint64_t *words, const uint64_t *rank);

/* Or to a list: keys row << 32 | column, and values (NULL: none). */
void dcsr_i_cuda_list_group(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                            const dcsr_i_cuda_group *group, const uint64_t *words, const uint64_t *rank,
                            uint64_t *keys, void *values);

/* ---- Rows one behind the other: compact.cu ---- */

/* used[p] = whether page p has entries. */
void dcsr_i_cuda_find_used_pages(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t rows,
                                 uint8_t *used);
/* Pages that are to be made, with a segment page each. */
typedef struct dcsr_i_cuda_new_pages {
    const dcsr_i_cuda_page_change *changes;
    uint64_t count;
    dcsr_i_cuda_row_page *row_page;
    dcsr_i_cuda_segment_page *segment_page;
    uint32_t *root;  /* into which they are entered */
    uint8_t *in_use; /* gets whether the i-th has entries; NULL: all have */
    uint64_t unseen; /* the latest version before that which is made */
} dcsr_i_cuda_new_pages;
/* Makes them: row i has the places from first + offsets[i] to first + offsets[i + 1]. Rows stand in the order that
 * they had under old_root; where that is NULL they ascend, or are yet to be marked. */
void dcsr_i_cuda_lay_out(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_new_pages *pages,
                         const uint64_t *offsets, uint64_t rows, uint64_t first, const uint32_t *old_root);
/* The same for rows that may stand anywhere: used[p] = whether page p has entries; row i has the length[i] places
 * from begin[i] on. */
void dcsr_i_cuda_find_pages_of_rows(dcsr_i_cuda_stream *stream, const uint32_t *length, uint64_t rows,
                                    uint8_t *used);
void dcsr_i_cuda_lay_out_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_new_pages *pages,
                              const uint64_t *begin, const uint32_t *length, uint64_t rows, bool ascending);
/* What a CSR of the caller's that is on the device has wrong: the first row whose offsets do not ascend to nnz at most,
 * or that has more than 2^31 entries; the first entry whose column is out of range; UINT64_MAX: none. The first and
 * the last offset. `found` is on the device. */
typedef struct dcsr_i_cuda_csr_verdict {
    uint64_t row, entry, first, last;
} dcsr_i_cuda_csr_verdict;
void dcsr_i_cuda_check_csr(dcsr_i_cuda_stream *stream, const dcsr_csr *csr, dcsr_i_cuda_csr_verdict *found);
/* Notes in new pages that rows whose bit is set may hold duplicates; adds to *marked how many those are. */
void dcsr_i_cuda_mark_duplicates(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_page_change *changes,
                                 uint64_t count, dcsr_i_cuda_row_page *row_page, const uint32_t *bitmap,
                                 uint64_t rows, uint64_t *marked);

#ifdef __cplusplus
}
#endif
#endif
