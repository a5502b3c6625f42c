/* spmm.c: sparse matrix times dense matrix: checks, sharing out the rows, and carrying that out.
 *
 * Work is counted in entries of A and rows of Y, so a share's place is a row and a position in it:
 *
 *      row          0     1 2        3           4
 *      entries      . . . |.|. . . . . . . . . . |. . |
 *      row split    |----------|------------------|---|       whole rows
 *      merge        |--------|---------|--------|-----|       of row 3 a part each, added up afterwards
 *
 * One pass over the lengths of all rows, 64 at a time, gives the work before each block of rows and the
 * longest row; a share's place is then found by bisection over the blocks and by counting within one.
 *
 * A row of Y is computed where it is to be, unless accum stands in between: then in a row of the thread's
 * own. Where a function of a user's may fail, Y is a copy until all is done. */
#include "dcsr/store/rowtable.h"
#include "ops/algebra/dispatch.h"
#include "ops/spmm/spmm_kernel.h"
#include "ops/vector/write_vector.h"
#include <dcsr/spmm.h>
#include <omp.h>
#include <string.h>
#include "ops/spmm/spmm_cuda.h"

/* NULL in builds without CUDA. */
static dcsr_i_device_spmm *const device_spmm = DCSR_I_IN_CUDA(dcsr_i_cuda_spmm_run);

typedef struct share_place {
    uint64_t row;
    uint64_t entry; /* of the row; never its length */
} share_place;

/* One product that is being computed. */
typedef struct product {
    const dcsr_semiring *semiring;
    dcsr_i_spmm_kernel *kernel;
    const dcsr_binary_op *accum;
    bool accum_adds; /* accum is the semiring's addition: sums go on from what is in Y */
    dcsr_type type;  /* of Y */
    size_t size, row_bytes;
    const dcsr_i_rows *rows;
    bool values, cast; /* whether the kernel gets values of A, and whether they are cast before */
    const dcsr_i_mask *mask;
    bool replace;
    const void *X;
    char *Y, *copy; /* where it is written; that, where it is not the caller's array */
    uint64_t width; /* columns of X and Y */
    /* What share() makes. */
    int threads;
    uint64_t shares;
    share_place *place; /* where each share begins, and the end */
    share_place ends[2];
    char *parts; /* of merge: two rows a share */
    char *scratch;
    uint64_t scratch_bytes; /* of each thread */
} product;

/* A share's part of a row that an earlier one began, and of one that it begins and does not end. */
static inline char *head_of(const product *p, uint64_t share)
{
    return p->parts + 2 * share * p->row_bytes;
}
static inline char *tail_of(const product *p, uint64_t share)
{
    return p->parts + (2 * share + 1) * p->row_bytes;
}

/* Entries that the rows show, or a few more. */
static inline uint64_t stored_in(const dcsr_i_rows *rows)
{
    return rows->offsets ? rows->offsets[rows->rows] : rows->table->stored;
}

/* ---- Sharing out ---- */

/* Shares for each thread: so many that one which is held up by something else leaves little to wait for. */
enum { SHARES_PER_THREAD = 16, LEAST_SHARE = 256 };

/* Merge is chosen when the longest row is more than this part of what each thread has to do. */
enum { LONG_PART = 8 };

static uint64_t blocks_of(const dcsr_i_rows *rows)
{
    return (rows->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
}

/* Work of a row: its entries, where the mask lets it through, and 1 for the row. */
static uint64_t work_of(const product *p, uint64_t row)
{
    return 1 + (dcsr_i_mask_has(p->mask, row) ? dcsr_i_rows_length(p->rows, row) : 0);
}

/* before[b] becomes the work of the rows before block b; returns the longest row. */
static uint64_t measure(const product *p, uint64_t *before)
{
    const dcsr_i_rows *rows = p->rows;
    uint64_t blocks = blocks_of(rows), longest = 0;
#pragma omp parallel for num_threads(p->threads) reduction(max : longest) if (p->threads > 1)
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t first = b << DCSR_I_PAGE_SHIFT, sum = 0;
        uint64_t n = rows->rows - first < DCSR_I_PAGE_ROWS ? rows->rows - first : DCSR_I_PAGE_ROWS;
        for (uint64_t row = first; row < first + n; row++) {
            uint64_t work = work_of(p, row);
            sum += work;
            if (work > longest) longest = work;
        }
        before[b + 1] = sum;
    }
    before[0] = 0;
    for (uint64_t b = 0; b < blocks; b++) before[b + 1] += before[b];
    return longest;
}

/* The place before which there is `work`, or, with whole rows, the beginning of the row in which it is. */
static share_place place_at(const product *p, const uint64_t *before, uint64_t work, bool whole_rows)
{
    uint64_t low = 0, high = blocks_of(p->rows);
    if (work >= before[high]) return (share_place){p->rows->rows, 0};
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        *(before[middle] <= work ? &low : &high) = middle;
    }
    uint64_t row = low << DCSR_I_PAGE_SHIFT, left = work - before[low], here;
    for (; (here = work_of(p, row)) <= left; row++) left -= here;
    if (whole_rows || !left) return (share_place){row, 0};
    return left < here - 1 ? (share_place){row, left} : (share_place){row + 1, 0};
}

/* For so many threads as the work deserves. */
static dcsr_status share_out(product *p, dcsr_context *context, uint64_t threads, dcsr_spmm_mapping *mapping)
{
    uint64_t blocks = blocks_of(p->rows),
             *before = dcsr_i_alloc(context, DCSR_I_SCRATCH, blocks + 1, sizeof *before);
    if (!before) return DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t longest = measure(p, before), work = before[blocks];
    if (*mapping == DCSR_SPMM_AUTO)
        *mapping = longest > work / threads / LONG_PART ? DCSR_SPMM_MERGE : DCSR_SPMM_ROW_SPLIT;
    uint64_t shares = threads * SHARES_PER_THREAD;
    if (shares > work / LEAST_SHARE) shares = work / LEAST_SHARE + 1;
    p->place = dcsr_i_alloc(context, DCSR_I_SCRATCH, shares + 1, sizeof *p->place);
    if (p->place) {
        p->shares = shares;
        for (uint64_t s = 0; s <= shares; s++)
            p->place[s] = place_at(p, before, work / shares * s + work % shares * s / shares,
                                   *mapping == DCSR_SPMM_ROW_SPLIT);
        if (*mapping == DCSR_SPMM_MERGE)
            p->parts = dcsr_i_alloc(context, DCSR_I_SCRATCH, 2 * shares, p->row_bytes);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, before, blocks + 1, sizeof *before);
    return p->place && (p->parts || *mapping == DCSR_SPMM_ROW_SPLIT) ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

/* Chooses threads, shares and, where *mapping says so, the mapping; takes the memory for them. Errors:
 * OUT_OF_MEMORY. */
static dcsr_status share(product *p, dcsr_context *context, dcsr_spmm_mapping *mapping)
{
    uint64_t work = (stored_in(p->rows) + p->rows->rows) * (p->width / 8 + 1);
    int deserved = dcsr_i_shares(context, work);
    p->threads = dcsr_i_threads(context, work);
    if (p->accum && !p->accum_adds) {
        p->scratch_bytes = (p->row_bytes + 63) / 64 * 64;
        p->scratch = dcsr_i_alloc(context, DCSR_I_SCRATCH, (size_t)p->threads, p->scratch_bytes);
        if (!p->scratch) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (deserved > 1) return share_out(p, context, (uint64_t)deserved, mapping);
    p->shares = 1;
    p->ends[1].row = p->rows->rows;
    p->place = p->ends;
    *mapping = DCSR_SPMM_ROW_SPLIT;
    return DCSR_OK;
}

/* Frees it. */
static void end_share(product *p, dcsr_context *context)
{
    if (p->scratch) dcsr_i_free(context, DCSR_I_SCRATCH, p->scratch, (size_t)p->threads, p->scratch_bytes);
    if (p->parts) dcsr_i_free(context, DCSR_I_SCRATCH, p->parts, 2 * p->shares, p->row_bytes);
    if (p->place != p->ends && p->place)
        dcsr_i_free(context, DCSR_I_SCRATCH, p->place, p->shares + 1, sizeof *p->place);
}

/* Values that are cast at once. */
enum { BLOCK = 256 };

/* ---- Rows ---- */

/* Adds the products of the entries at positions first .. last-1 of a row of A to the row at y. */
static bool add_entries(const product *p, void *y, bool fresh, uint64_t row, uint64_t first, uint64_t last)
{
    const dcsr_i_rows *rows = p->rows;
    size_t size = dcsr_type_size(rows->type);
    dcsr_i_scalar cast[BLOCK];
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int n = dcsr_i_rows_pieces(rows, row, pieces);
    uint64_t at = 0; /* position of the piece in its row */
    for (int k = 0; k < n && at < last; at += pieces[k].length, k++) {
        uint64_t from = first > at ? first - at : 0,
                 to = last - at < pieces[k].length ? last - at : pieces[k].length;
        while (from < to) {
            uint64_t place = pieces[k].begin + from, take = to - from;
            const void *values = p->values ? (const char *)rows->values + place * size : NULL;
            if (p->cast) {
                take = take < BLOCK ? take : BLOCK;
                dcsr_i_cast(p->semiring->multiply->xtype, cast, rows->type, values, take);
                values = cast;
            }
            if (!p->kernel(p->semiring, y, rows->columns + place, values, take, p->X, p->width, fresh))
                return false;
            fresh = false;
            from += take;
        }
    }
    return true;
}

/* y = accum(y, t) for a row of each. */
static bool accumulate(const product *p, char *y, const char *t)
{
    const dcsr_binary_op *accum = p->accum;
    dcsr_i_scalar a[BLOCK], b[BLOCK], c[BLOCK];
    for (uint64_t at = 0; at < p->width; at += BLOCK) {
        size_t n = p->width - at < BLOCK ? (size_t)(p->width - at) : BLOCK;
        dcsr_i_cast(accum->xtype, a, p->type, y + at * p->size, n);
        dcsr_i_cast(accum->ytype, b, p->type, t + at * p->size, n);
        if (!dcsr_i_apply_binary(accum, c, a, b, n)) return false;
        dcsr_i_cast(p->type, y + at * p->size, accum->ztype, c, n);
    }
    return true;
}

/* All of a row of Y, also where the mask leaves it out or the row of A is empty. */
static bool whole_row(const product *p, uint64_t row, char *scratch)
{
    char *y = p->Y + row * p->row_bytes;
    if (!dcsr_i_mask_has(p->mask, row)) {
        if (p->replace) dcsr_i_broadcast(p->type, y, &p->semiring->add->identity, p->width);
        return true;
    }
    uint64_t length = dcsr_i_rows_length(p->rows, row);
    if (!length) {
        if (!p->accum) dcsr_i_broadcast(p->type, y, &p->semiring->add->identity, p->width);
        return true;
    }
    if (!p->accum || p->accum_adds) return add_entries(p, y, !p->accum, row, 0, length);
    return add_entries(p, scratch, true, row, 0, length) && accumulate(p, y, scratch);
}

/* The rows of a share. The parts of its first and last row, where others have the rest, go to the share's own
 * rows. */
static bool run_share(const product *p, uint64_t s, char *scratch)
{
    share_place from = p->place[s], to = p->place[s + 1];
    uint64_t row = from.row;
    if (from.entry) {
        uint64_t last = to.row == row ? to.entry : dcsr_i_rows_length(p->rows, row);
        if (!add_entries(p, head_of(p, s), true, row, from.entry, last)) return false;
        if (to.row == row) return true;
        row++;
    }
    for (; row < to.row; row++)
        if (!whole_row(p, row, scratch)) return false;
    return !to.entry || add_entries(p, tail_of(p, s), true, row, 0, to.entry);
}

/* Adds up the parts of rows that several shares had a part of. */
static bool join_parts(const product *p)
{
    const dcsr_binary_op *add = p->semiring->add->op;
    for (uint64_t s = 1; s < p->shares;) {
        if (!p->place[s].entry) {
            s++;
            continue;
        }
        uint64_t row = p->place[s].row;
        char *total = tail_of(p, s - 1), *y = p->Y + row * p->row_bytes;
        for (; s < p->shares && p->place[s].row == row && p->place[s].entry; s++)
            if (!dcsr_i_apply_binary(add, total, total, head_of(p, s), p->width)) return false;
        if (!p->accum)
            memcpy(y, total, p->row_bytes);
        else if (!accumulate(p, y, total))
            return false;
    }
    return true;
}

static bool multiply_shares(const product *p)
{
    if (p->shares == 1) return run_share(p, 0, p->scratch);
    bool good = true;
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->threads) reduction(&& : good) if (p->threads > 1)
    for (uint64_t s = 0; s < p->shares; s++)
        good = good && run_share(p, s, p->scratch + (uint64_t)omp_get_thread_num() * p->scratch_bytes);
    return good && join_parts(p);
}

/* ---- The operation ---- */

static dcsr_status check(void *Y, const dcsr_vector *mask, const dcsr_semiring *semiring, const dcsr_view *A,
                         const void *X, uint64_t columns, const dcsr_desc *desc)
{
    bool transpose = desc && desc->transpose_a;
    DCSR_TRY(dcsr_i_view_check(A));
    DCSR_TRY(dcsr_i_check_desc("spmm", desc, dcsr_i_view_context(A)));
    if (!semiring)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "spmm: the semiring is NULL: there is none of that name on that type");
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    uint64_t out = transpose ? rows->cols : rows->rows, in = transpose ? rows->rows : rows->cols;
    if ((!Y && out && columns) || (!X && in && columns))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmm: %s is NULL; give it %llu x %llu elements",
                           Y ? "X" : "Y", (unsigned long long)(Y ? in : out), (unsigned long long)columns);
    if (columns > SIZE_MAX / 8 / (out > in ? out + 1 : in + 1))
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "spmm: %llu columns are more than memory can hold",
                           (unsigned long long)columns);
    if (!mask) return DCSR_OK;
    DCSR_TRY(dcsr_i_vector_admit(mask, "spmm: mask"));
    if (mask->context != dcsr_i_view_context(A))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmm: mask and A are of different contexts");
    if (mask->size != out)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "spmm: the mask has %llu elements, Y %llu rows",
                           (unsigned long long)mask->size, (unsigned long long)out);
    return DCSR_OK;
}

/* Y to write into: the caller's, or a copy of it where a function of a user's may say that all was for
 * nothing. */
static dcsr_status open_output(product *p, dcsr_context *context, void *Y)
{
    p->Y = Y;
    bool may_fail = dcsr_i_semiring_is_users(p->semiring) || (p->accum && !p->accum->loop);
    if (!may_fail || !p->rows->rows) return DCSR_OK;
    p->copy = dcsr_i_alloc(context, DCSR_I_SCRATCH, p->rows->rows, p->row_bytes);
    if (!p->copy) return DCSR_ERROR_OUT_OF_MEMORY;
    memcpy(p->copy, Y, p->rows->rows * p->row_bytes);
    p->Y = p->copy;
    return DCSR_OK;
}

/* The name of the function that may have said so. */
static const char *users_name(const product *p)
{
    const dcsr_binary_op *multiply = p->semiring->multiply, *add = p->semiring->add->op;
    return !multiply->loop ? multiply->text : !add->loop ? add->text : p->accum->text;
}

static void report(const dcsr_desc *desc, const dcsr_i_rows *rows, dcsr_spmm_mapping mapping)
{
    if (desc && desc->report)
        *desc->report =
            (dcsr_report){.mapping = mapping, .device = DCSR_DEVICE_CPU, .entries = stored_in(rows)};
}

dcsr_status dcsr_spmm(void *Y, const dcsr_vector *mask, const dcsr_binary_op *accum,
                      const dcsr_semiring *semiring, dcsr_view *A, const void *X, uint64_t columns,
                      const dcsr_desc *desc)
{
    bool transpose = desc && desc->transpose_a;
    DCSR_TRY(check(Y, mask, semiring, A, X, columns, desc));
    const dcsr_i_cuda_spmm_call there = {Y, mask, accum, semiring, A, X, columns, desc};
    bool taken = false;
    if (device_spmm) DCSR_TRY(device_spmm(&taken, &there));
    if (taken) return DCSR_OK;
    dcsr_context *context = dcsr_i_view_context(A);
    const dcsr_i_rows *rows;
    DCSR_TRY(transpose ? dcsr_i_view_transposed(&rows, A) : dcsr_i_view_host_rows(&rows, A));
    const dcsr_semiring *ones = rows->type == DCSR_PATTERN ? dcsr_i_semiring_of_ones(semiring) : NULL;
    const dcsr_semiring *used = ones ? ones : semiring;
    dcsr_spmm_mapping mapping = desc ? desc->mapping : DCSR_SPMM_AUTO;
    dcsr_i_mask allowed = {0};
    product p = {.semiring = used,
                 .kernel = dcsr_i_spmm_kernel_of(used),
                 .accum = accum,
                 .accum_adds = accum && accum == used->add->op && accum->loop,
                 .type = dcsr_i_monoid_type(used->add),
                 .rows = rows,
                 .mask = &allowed,
                 .replace = desc && desc->replace,
                 .X = X,
                 .width = columns};
    p.size = dcsr_type_size(p.type);
    p.row_bytes = columns * p.size;
    bool reads = dcsr_i_reads_x(used->multiply);
    p.values = reads && rows->type != DCSR_PATTERN;
    p.cast = reads && rows->type != used->multiply->xtype;
    dcsr_status status = dcsr_i_mask_open(&allowed, context, rows->rows, mask, desc);
    if (status == DCSR_OK && allowed.listed) status = dcsr_i_mask_use_bits(&allowed);
    if (status == DCSR_OK) status = open_output(&p, context, Y);
    if (status == DCSR_OK) status = share(&p, context, &mapping);
    if (status == DCSR_OK && !multiply_shares(&p)) status = dcsr_i_fail_callback("spmm", users_name(&p));
    if (status == DCSR_OK && p.copy) memcpy(Y, p.copy, rows->rows * p.row_bytes);
    if (status == DCSR_OK) {
        report(desc, rows, mapping);
        if (!transpose) dcsr_i_view_was_read(A);
    }
    end_share(&p, context);
    if (p.copy) dcsr_i_free(context, DCSR_I_SCRATCH, p.copy, rows->rows, p.row_bytes);
    dcsr_i_mask_close(&allowed);
    return status;
}
