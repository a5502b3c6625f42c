/* compact.cu: row tables in which the rows lie one behind the other.
 *
 * Per row: 8 bytes of offsets are read, and 4 of the order that rows keep; 16 of length, order and segment are written,
 * once. */
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/rewrite_cuda.h"

static __global__ void find_used_pages(const uint64_t *offsets, uint64_t rows, uint64_t pages, uint8_t *used)
{
    for (uint64_t p = dcsr_i_cuda_first(); p < pages; p += dcsr_i_cuda_step()) {
        uint64_t end = (p + 1) << DCSR_CUDA_PAGE_SHIFT;
        used[p] = offsets[p << DCSR_CUDA_PAGE_SHIFT] != offsets[end < rows ? end : rows];
    }
}

void dcsr_i_cuda_find_used_pages(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t rows,
                                 uint8_t *used)
{
    uint64_t pages = (rows + DCSR_CUDA_PAGE_ROWS - 1) >> DCSR_CUDA_PAGE_SHIFT;
    dcsr_i_cuda_launch(stream, find_used_pages, pages, offsets, rows, pages, used);
}

namespace
{
struct placed_row {
    uint64_t begin;
    uint32_t length, ordered;
};
} // namespace

/* Makes a page that shares nothing with others, and enters it into the root; by a block of threads. row(r) tells where
 * row r of the page is. */
template <class Row>
DCSR_CUDA_INLINE void fill_page(const dcsr_i_cuda_new_pages &pages, const dcsr_i_cuda_page_change &change,
                                uint64_t rows, Row row)
{
    const uint64_t first = (uint64_t)change.page << DCSR_CUDA_PAGE_SHIFT;
    dcsr_i_cuda_row_page &page = pages.row_page[change.fresh];
    dcsr_i_cuda_segment_page &segments = pages.segment_page[change.segment[0]];
    for (unsigned r = threadIdx.x; r < DCSR_CUDA_PAGE_ROWS; r += blockDim.x) {
        const bool is_row = first + r < rows;
        const placed_row placed = is_row ? row(r) : placed_row{0, 0, 0};
        page.length[r] = placed.length;
        page.ordered[r] = placed.ordered;
        segments.of[r] = is_row ? dcsr_i_segment_of(placed.begin, placed.length) : dcsr_i_segment{0};
    }
    for (unsigned w = threadIdx.x; w < DCSR_CUDA_MASK_WORDS; w += blockDim.x) {
        page.fragmented[w] = page.duplicates[w] = page.tombstones[w] = 0;
        page.own[w] = UINT32_MAX;
    }
    if (threadIdx.x == 0) page.unseen = pages.unseen;
    for (unsigned k = threadIdx.x; k < DCSR_MAX_SEGMENTS; k += blockDim.x)
        page.segment[k] = change.segment[k];
    if (threadIdx.x == 0) pages.root[change.page] = change.fresh;
}

static __global__ void lay_out(dcsr_i_cuda_new_pages pages, const uint64_t *offsets, uint64_t rows,
                               uint64_t first, const uint32_t *old_root)
{
    for (uint64_t i = dcsr_i_cuda_first_block(); i < pages.count; i += dcsr_i_cuda_block_step()) {
        const dcsr_i_cuda_page_change &change = pages.changes[i];
        const uint64_t begin = (uint64_t)change.page << DCSR_CUDA_PAGE_SHIFT,
                       end = begin + DCSR_CUDA_PAGE_ROWS;
        const bool in_use = offsets[begin] != offsets[end < rows ? end : rows];
        if (pages.in_use && threadIdx.x == 0) pages.in_use[i] = in_use;
        if (!in_use) continue;
        const dcsr_i_cuda_row_page *old = old_root ? &pages.row_page[old_root[change.page]] : nullptr;
        fill_page(pages, change, rows, [&](unsigned r) {
            const uint64_t from = offsets[begin + r];
            const uint32_t length = static_cast<uint32_t>(offsets[begin + r + 1] - from);
            return placed_row{first + from, length, old && length ? old->ordered[r] : length};
        });
    }
}

static const int of_page = DCSR_CUDA_PAGE_ROWS < 256 ? 32 : 256; /* threads */

void dcsr_i_cuda_lay_out(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_new_pages *pages,
                         const uint64_t *offsets, uint64_t rows, uint64_t first, const uint32_t *old_root)
{
    dcsr_i_cuda_launch_blocks(stream, lay_out, pages->count, of_page, 0, *pages, offsets, rows, first,
                              old_root);
}

static __global__ void find_pages_of_rows(const uint32_t *length, uint64_t rows, uint8_t *used)
{
    for (uint64_t r = dcsr_i_cuda_first(); r < rows; r += dcsr_i_cuda_step())
        if (length[r]) used[r >> DCSR_CUDA_PAGE_SHIFT] = 1;
}

void dcsr_i_cuda_find_pages_of_rows(dcsr_i_cuda_stream *stream, const uint32_t *length, uint64_t rows,
                                    uint8_t *used)
{
    dcsr_i_cuda_fill(stream, used, 0, (rows + DCSR_CUDA_PAGE_ROWS - 1) >> DCSR_CUDA_PAGE_SHIFT);
    dcsr_i_cuda_launch(stream, find_pages_of_rows, rows, length, rows, used);
}

static __global__ void lay_out_rows(dcsr_i_cuda_new_pages pages, const uint64_t *begin,
                                    const uint32_t *length, uint64_t rows, bool ascending)
{
    for (uint64_t i = dcsr_i_cuda_first_block(); i < pages.count; i += dcsr_i_cuda_block_step()) {
        const dcsr_i_cuda_page_change &change = pages.changes[i];
        const uint64_t first = (uint64_t)change.page << DCSR_CUDA_PAGE_SHIFT;
        fill_page(pages, change, rows, [&](unsigned r) {
            const uint32_t n = length[first + r];
            return placed_row{n ? begin[first + r] : 0, n, ascending ? n : 0};
        });
    }
}

void dcsr_i_cuda_lay_out_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_new_pages *pages,
                              const uint64_t *begin, const uint32_t *length, uint64_t rows, bool ascending)
{
    dcsr_i_cuda_launch_blocks(stream, lay_out_rows, pages->count, of_page, 0, *pages, begin, length, rows,
                              ascending);
}

static __global__ void mark_duplicates(const dcsr_i_cuda_page_change *changes, uint64_t count,
                                       dcsr_i_cuda_row_page *row_page, const uint32_t *bitmap, uint64_t words,
                                       uint64_t *marked)
{
    uint64_t rows = 0;
    for (uint64_t x = dcsr_i_cuda_first(); x < count * DCSR_CUDA_MASK_WORDS; x += dcsr_i_cuda_step()) {
        const dcsr_i_cuda_page_change &change = changes[x / DCSR_CUDA_MASK_WORDS];
        uint32_t w = x & (DCSR_CUDA_MASK_WORDS - 1);
        uint64_t word = (uint64_t)change.page * DCSR_CUDA_MASK_WORDS + w;
        if (word >= words) continue;
        row_page[change.fresh].duplicates[w] = bitmap[word];
        rows += (uint64_t)__popc(bitmap[word]);
    }
    rows = dcsr_i_cuda_block_sum(rows);
    if (threadIdx.x == 0 && rows) atomicAdd((unsigned long long *)marked, (unsigned long long)rows);
}

void dcsr_i_cuda_mark_duplicates(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_page_change *changes,
                                 uint64_t count, dcsr_i_cuda_row_page *row_page, const uint32_t *bitmap,
                                 uint64_t rows, uint64_t *marked)
{
    dcsr_i_cuda_launch(stream, mark_duplicates, count * DCSR_CUDA_MASK_WORDS, changes, count, row_page,
                       bitmap, dcsr_i_cuda_bitmap_words(rows), marked);
}

/* ---- CSR that a caller has on the device ---- */

/* The numbers are minima and maxima, so whoever comes first, the verdict is the same. */
static __global__ void check_csr(const uint64_t *offsets, const uint32_t *columns, uint64_t rows,
                                 uint64_t cols, uint64_t nnz, dcsr_i_cuda_csr_verdict *found)
{
    typedef unsigned long long word;
    for (uint64_t i = dcsr_i_cuda_first(); i < rows; i += dcsr_i_cuda_step()) {
        uint64_t begin = offsets[i], end = offsets[i + 1];
        if (begin > end || end > nnz || end - begin > UINT32_MAX / 2) atomicMin((word *)&found->row, (word)i);
    }
    for (uint64_t e = dcsr_i_cuda_first(); e < nnz; e += dcsr_i_cuda_step())
        if (columns[e] >= cols) atomicMin((word *)&found->entry, (word)e);
    if (dcsr_i_cuda_first() == 0) {
        found->first = offsets[0];
        found->last = offsets[rows];
    }
}

void dcsr_i_cuda_check_csr(dcsr_i_cuda_stream *stream, const dcsr_csr *csr, dcsr_i_cuda_csr_verdict *found)
{
    dcsr_i_cuda_fill(stream, found, 0xff, sizeof *found);
    dcsr_i_cuda_launch(stream, check_csr, csr->rows + csr->nnz + 1, csr->offsets, csr->col_indices, csr->rows,
                       csr->cols, csr->nnz, found);
}
