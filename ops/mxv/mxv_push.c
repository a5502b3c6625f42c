/* mxv_push.c: t = M u, column by column, for the elements that u has.
 *
 *      u's list          j0      j1            j2      j3 ...
 *      columns of M      | a b c | d e f g h i | j | k l m n ... |      rows of M's transpose
 *      shares            |  share 0      |  share 1      | ...          equal in entries, for a thread each
 *
 * Each share collects sums of its own (mxv_scatter.c). A share begins and ends anywhere in a column, so a
 * column that holds most of the entries is no worse than others. Where there is so little to do that even the
 * words of a bitmap would be too many, products are sorted instead (mxv_sorted.c). */
#include "dcsr/base/alloc.h"
#include "ops/mxv/mxv_internal.h"

enum {
    STRETCHES = 64,  /* of the list, for each share, whose entries are counted to cut it into shares */
    MOST_SHARES = 32 /* each has sums of its own */
};

typedef struct push {
    const dcsr_i_mxv *x;
    uint64_t elements;
    int shares, threads;
    dcsr_i_mxv_place cut[MOST_SHARES + 1];
    dcsr_i_mxv_scatter part[MOST_SHARES];
} push;

static inline uint64_t row_of(const dcsr_i_mxv *x, uint64_t element)
{
    return x->u_list ? x->u_list[element] : element;
}

/* ---- Shares ---- */

static uint64_t entries_of(const push *p, uint64_t first, uint64_t end)
{
    uint64_t sum = 0;
    for (uint64_t i = first; i < end; i++) sum += dcsr_i_rows_length(p->x->rows, row_of(p->x, i));
    return sum;
}

/* Cuts the entries into equal shares. */
static void share_out(push *p)
{
    uint64_t stretches = (uint64_t)p->shares * STRETCHES, work[MOST_SHARES * STRETCHES], sum = 0;
#pragma omp parallel for num_threads(p->threads) if (p->threads > 1)
    for (uint64_t s = 0; s < stretches; s++)
        work[s] = entries_of(p, p->elements * s / stretches, p->elements * (s + 1) / stretches);
    for (uint64_t s = 0; s < stretches; s++) sum += work[s];
    uint64_t s = 0, before = 0; /* entries before stretch s */
    for (int t = 1; t < p->shares; t++) {
        uint64_t goal = sum * (uint64_t)t / (uint64_t)p->shares;
        while (s < stretches && before + work[s] <= goal) before += work[s++];
        dcsr_i_mxv_place cut = {p->elements * s / stretches, goal - before};
        while (cut.element < p->elements) {
            uint64_t length = dcsr_i_rows_length(p->x->rows, row_of(p->x, cut.element));
            if (cut.entry < length) break;
            cut.entry -= length;
            cut.element++;
        }
        p->cut[t] = cut;
    }
}

/* ---- Walking columns ---- */

/* One share. Returns how many entries it has; *failed when a user's function failed. */
static uint64_t push_share(const dcsr_i_mxv *x, dcsr_i_mxv_scatter *to, const dcsr_i_share *share,
                           bool *failed)
{
    dcsr_i_mxv_batch batch;
    *failed = false;
    if (x->any) return dcsr_i_mxv_any_push(x, to, share);
    dcsr_i_batch_init(&batch, x, true);
    batch.scatter = to;
    batch.t = to->values;
    batch.found = to->found;
    const size_t size = dcsr_i_mxv_value_size(x);
    const bool ahead = dcsr_i_mxv_looks_ahead(x);
    for (uint64_t i = share->first.element; i < share->end && !batch.failed; i++) {
        if (ahead) dcsr_i_rows_prefetch(x->rows, x->u_list, i, share->end, size);
        uint64_t row = row_of(x, i);
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_share_pieces(x->rows, row, share, i, pieces);
        for (int k = 0; k < count; k++)
            dcsr_i_batch_add(&batch, pieces[k].begin, pieces[k].length, (uint32_t)(x->u_dense ? row : i));
    }
    dcsr_i_batch_flush(&batch);
    *failed = batch.failed;
    return batch.looked_at;
}

/* ---- All of it ---- */

/* Shares that are large enough to be worth sums of their own. */
static int shares_for(const dcsr_i_mxv *x, uint64_t work)
{
    uint64_t shares = (uint64_t)dcsr_i_shares(x->context, work), most = 1 + 8 * work / (x->n + 1);
    if (x->any && !x->reads_matrix && !x->reads_vector) most *= 8; /* bits alone */
    if (shares > most) shares = most;
    return shares > MOST_SHARES ? MOST_SHARES : (int)shares;
}

static bool walk_all(push *p, uint64_t *looked_at)
{
    uint64_t sum = 0;
    bool failed = false;
#pragma omp parallel for num_threads(p->threads) schedule(static, 1) reduction(+ : sum) reduction(|| : failed) \
    if (p->threads > 1)
    for (int t = 0; t < p->shares; t++) {
        bool one_failed;
        dcsr_i_mxv_place last = p->cut[t + 1];
        dcsr_i_share share = {p->cut[t], last, last.entry ? last.element + 1 : last.element};
        sum += push_share(p->x, &p->part[t], &share, &one_failed);
        failed = failed || one_failed;
    }
    *looked_at = sum;
    return !failed && (p->shares == 1 || dcsr_i_scatter_merge(p->part, p->shares, p->threads, p->x));
}

dcsr_status dcsr_i_mxv_push(dcsr_i_body *t, dcsr_i_mxv *x, uint64_t work)
{
    if (dcsr_i_mxv_sorts(x, work)) return dcsr_i_mxv_sorted(t, x);
    push p;
    p.x = x;
    p.elements = x->u_count;
    p.shares = shares_for(x, work);
    p.threads = dcsr_i_threads(x->context, work);
    if (p.threads > p.shares) p.threads = p.shares;
    p.cut[0] = (dcsr_i_mxv_place){0, 0};
    p.cut[p.shares] = (dcsr_i_mxv_place){p.elements, 0};
    if (p.shares > 1) share_out(&p);
    bool lazy = work < x->n / 64;
    dcsr_status status = DCSR_OK;
    int opened = 0;
    while (opened < p.shares && status == DCSR_OK) status = dcsr_i_scatter_open(&p.part[opened++], x, lazy);
    if (status == DCSR_OK && !walk_all(&p, &x->looked_at))
        status = dcsr_i_fail_callback(x->call, x->semiring->multiply->text);
    if (status == DCSR_OK) status = dcsr_i_scatter_take(t, &p.part[0], x);
    for (int i = 0; i < opened; i++) dcsr_i_scatter_close(&p.part[i], x->context);
    return status;
}
