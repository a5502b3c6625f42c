/* changed_rows.c: which rows may differ between what two views of a matrix show.
 *
 * Versions are compared as they were published, in which pages are shared whatever views have had resolved for
 * themselves: a row that is at the same places is resolved alike, if the views ask for the same. In host memory a bit
 * for each row of a page that the versions do not share says whether it is listed. */
#include "dcsr/view/changed_rows.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/base/threads.h"
#include "dcsr/view/diff_data.h"
#include <assert.h>
#include <string.h>

/* A CSR that does not hold its version no longer knows the places. */
static dcsr_i_compared compared(const dcsr_view *view)
{
    const dcsr_i_form *shown = &view->form[0];
    const dcsr_i_held_version *held = shown->hold ? shown->hold : shown->csr->hold;
    return (dcsr_i_compared){held ? view->matrix->engine->rows_of(view->matrix, held->base) : shown->rows,
                             shown->rows};
}

/* ---- In host memory ---- */

static int threads_for(const dcsr_i_changed_rows *c)
{
    return dcsr_i_threads(c->of.context, c->pages.count << DCSR_I_PAGE_SHIFT);
}

static void count_bits(dcsr_i_changed_rows *c)
{
    c->count = 0;
    for (uint64_t p = 0; p < c->pages.count; p++) c->count += (uint64_t)__builtin_popcountll(c->bits[p]);
}

/* The rows of the page that there are. */
static uint64_t rows_of_page(const dcsr_i_changed_rows *c, uint64_t p)
{
    const uint64_t left = c->of.to.rows.rows - ((uint64_t)c->pages.page[p] << DCSR_I_PAGE_SHIFT);
    return left < DCSR_I_PAGE_ROWS ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
}

/* Of rows that may differ, for what is seen of them all at once, those whose pieces do. */
static uint64_t drop_unmoved(const dcsr_i_row_page *a, const dcsr_i_row_page *b, uint64_t rows)
{
    for (uint64_t left = rows; left; left &= left - 1) {
        const unsigned r = (unsigned)__builtin_ctzll(left);
        dcsr_i_piece in_a[DCSR_MAX_SEGMENTS], in_b[DCSR_MAX_SEGMENTS];
        const int count = dcsr_i_row_pieces(a, r, in_a);
        bool same = count == dcsr_i_row_pieces(b, r, in_b);
        for (int k = 0; same && k < count; k++)
            same = in_a[k].begin == in_b[k].begin && in_a[k].length == in_b[k].length;
        if (same) rows &= ~((uint64_t)1 << r);
    }
    return rows;
}

/* The rows of a page that may differ, of those that the pages as a whole say. */
static uint64_t find_in_page(const dcsr_i_changed_rows *c, uint64_t p, uint64_t candidates)
{
    const dcsr_i_table *from = c->of.from.rows.table, *to = c->of.to.rows.table;
    const dcsr_i_row_page *a = from ? dcsr_i_page(from, c->pages.page[p]) : NULL,
                          *b = to ? dcsr_i_page(to, c->pages.page[p]) : NULL;
    candidates &= rows_of_page(c, p);
    if (c->of.apart || !a || !b) return candidates;
    return drop_unmoved(a, b, candidates);
}

static dcsr_status find_rows(dcsr_i_changed_rows *c)
{
    enum { PARTS_PER_THREAD = 16 };
    const dcsr_i_row_pairs pairs = {.from = &c->of.from.rows, .to = &c->of.to.rows, .all = c->of.apart};
    DCSR_TRY(dcsr_i_diff_list_pages(&c->pages, c->of.context, &pairs));
    const uint64_t pages = c->pages.count;
    c->bits = dcsr_i_alloc(c->of.context, DCSR_I_SCRATCH, c->pages.capacity, sizeof *c->bits);
    if (!c->bits) return DCSR_ERROR_OUT_OF_MEMORY;
    const int threads = threads_for(c);
    const uint64_t parts = threads > 1 ? PARTS_PER_THREAD * (uint64_t)threads : 1;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (uint64_t t = 0; t < parts; t++) {
        const uint64_t first = pages * t / parts, end = pages * (t + 1) / parts;
        for (uint64_t p = first; p < end; p++)
            c->bits[p] = find_in_page(
                c, p, dcsr_i_diff_candidates(&pairs, c->pages.page + first, p - first, end - first));
    }
    count_bits(c);
    return DCSR_OK;
}

/* Whether both versions have the same entries in a row, in the same order, whatever pieces they are in. */
static bool is_same(const dcsr_i_rows *a, const dcsr_i_rows *b, uint64_t row)
{
    const size_t size = dcsr_type_size(a->type);
    dcsr_i_piece in_a[DCSR_MAX_SEGMENTS], in_b[DCSR_MAX_SEGMENTS];
    const int count_a = dcsr_i_rows_pieces(a, row, in_a), count_b = dcsr_i_rows_pieces(b, row, in_b);
    int k = 0, l = 0;
    if (dcsr_i_rows_length(a, row) != dcsr_i_rows_length(b, row)) return false;
    while (k < count_a && l < count_b) {
        const uint64_t n = in_a[k].length < in_b[l].length ? in_a[k].length : in_b[l].length,
                       from = in_a[k].begin, to = in_b[l].begin;
        if (memcmp(a->columns + from, b->columns + to, n * sizeof *a->columns)) return false;
        if (size &&
            memcmp((const char *)a->values + from * size, (const char *)b->values + to * size, n * size))
            return false;
        in_a[k].begin += n, in_b[l].begin += n;
        if (!(in_a[k].length -= n)) k++;
        if (!(in_b[l].length -= n)) l++;
    }
    return true;
}

static void clear_moved(dcsr_i_changed_rows *c)
{
    assert(!c->rows);
    const int threads = threads_for(c);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64) if (threads > 1)
    for (uint64_t p = 0; p < c->pages.count; p++)
        for (uint64_t left = c->bits[p]; left; left &= left - 1) {
            const uint64_t r = (uint64_t)__builtin_ctzll(left);
            if (is_same(&c->of.from.shown, &c->of.to.shown,
                        ((uint64_t)c->pages.page[p] << DCSR_I_PAGE_SHIFT) + r))
                c->bits[p] &= ~((uint64_t)1 << r);
        }
    count_bits(c);
}

static dcsr_status list_rows(dcsr_i_changed_rows *c)
{
    uint64_t n = 0;
    if (c->rows) return DCSR_OK;
    c->rows = dcsr_i_alloc(c->of.context, DCSR_I_SCRATCH, c->count, sizeof *c->rows);
    if (!c->rows) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t p = 0; p < c->pages.count; p++)
        for (uint64_t left = c->bits[p]; left; left &= left - 1)
            c->rows[n++] =
                ((uint64_t)c->pages.page[p] << DCSR_I_PAGE_SHIFT) + (uint64_t)__builtin_ctzll(left);
    return DCSR_OK;
}

/* ---- Wherever the rows are ---- */

dcsr_status dcsr_i_changed_rows_open(dcsr_i_changed_rows *changed, const dcsr_view *from, const dcsr_view *to)
{
    *changed = (dcsr_i_changed_rows){.engine = from->matrix->engine,
                                     .of = {.context = from->context,
                                            .from = compared(from),
                                            .to = compared(to),
                                            .apart = from->flags != to->flags}};
    const dcsr_i_finds_changed *finds = changed->engine->finds_changed;
    const dcsr_status status = finds ? finds->open(&changed->there, &changed->of) : find_rows(changed);
    if (status)
        dcsr_i_changed_rows_close(changed);
    else if (finds)
        changed->count = changed->there.count;
    return status;
}

dcsr_status dcsr_i_changed_rows_drop_moved(dcsr_i_changed_rows *changed)
{
    const dcsr_i_finds_changed *finds = changed->engine->finds_changed;
    if (!finds) {
        clear_moved(changed);
        return DCSR_OK;
    }
    DCSR_TRY(finds->drop_moved(&changed->there));
    changed->count = changed->there.count;
    return DCSR_OK;
}

dcsr_status dcsr_i_changed_rows_list(dcsr_i_changed_rows *changed)
{
    const dcsr_i_finds_changed *finds = changed->engine->finds_changed;
    return finds ? finds->list(&changed->there) : list_rows(changed);
}

dcsr_status dcsr_i_changed_rows_bring(dcsr_i_changed_rows *changed)
{
    const dcsr_i_finds_changed *finds = changed->engine->finds_changed;
    if (changed->rows) return DCSR_OK;
    changed->rows = dcsr_i_alloc(changed->of.context, DCSR_I_SCRATCH, changed->count, sizeof *changed->rows);
    return changed->rows ? finds->bring(changed->rows, &changed->there) : DCSR_ERROR_OUT_OF_MEMORY;
}

void dcsr_i_changed_rows_close(dcsr_i_changed_rows *changed)
{
    dcsr_context *context = changed->of.context;
    const dcsr_i_finds_changed *finds = changed->engine->finds_changed;
    if (finds) finds->close(&changed->there);
    dcsr_i_free(context, DCSR_I_SCRATCH, changed->rows, changed->count, sizeof *changed->rows);
    dcsr_i_free(context, DCSR_I_SCRATCH, changed->bits, changed->pages.capacity, sizeof *changed->bits);
    dcsr_i_page_list_free(&changed->pages, context);
    *changed = (dcsr_i_changed_rows){.engine = changed->engine};
}
