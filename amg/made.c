/* made.c: sets of numbers, and rows that threads compute into piles of their own. */
#include "amg/hierarchy_follow.h"
#include <string.h>

/* ---- Sets ---- */

/* Large ones are read off the bits. */
void dcsr_i_amg_set_sort(dcsr_i_amg_set *set)
{
    enum { WORTH = 4 };
    if (set->count < set->words.count * WORTH) {
        dcsr_i_amg_sort32(set->list, set->count);
        return;
    }
    uint64_t count = 0;
    for (uint64_t word = 0; word < set->words.count; word++)
        for (uint64_t bits = set->bits[word]; bits; bits &= bits - 1)
            set->list[count++] = (uint32_t)(64 * word + (uint64_t)__builtin_ctzll(bits));
}

void dcsr_i_amg_set_clear(dcsr_i_amg_set *set)
{
    for (uint64_t k = 0; k < set->count; k++) set->bits[set->list[k] / 64] = 0;
    set->count = 0;
}

/* ---- Rows ---- */

bool dcsr_i_amg_pile_room(dcsr_i_amg_pile *pile, dcsr_context *context, uint64_t most, uint32_t **columns,
                          double **values)
{
    if (dcsr_i_amg_grow(&pile->columns, context, pile->used, most, sizeof **columns) ||
        dcsr_i_amg_grow(&pile->values, context, pile->used, most, sizeof **values))
        return false;
    *columns = (uint32_t *)pile->columns.data + pile->used;
    *values = (double *)pile->values.data + pile->used;
    return true;
}

void dcsr_i_amg_pile_end(dcsr_i_amg_pile *pile, uint64_t count)
{
    pile->used += count;
    pile->length[pile->row++] = count;
}

void dcsr_i_amg_made_free(dcsr_i_amg_made *made, dcsr_context *context)
{
    dcsr_i_amg_pile *pile = made->piles.data;
    for (uint64_t t = 0; t < made->piles.count; t++) {
        dcsr_i_amg_drop(&pile[t].columns, context);
        dcsr_i_amg_drop(&pile[t].values, context);
    }
    dcsr_i_amg_array *const arrays[] = {&made->rows, &made->spans, &made->lengths, &made->piles};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) dcsr_i_amg_drop(arrays[a], context);
    *made = (dcsr_i_amg_made){0};
}

/* Before the stamps begin anew. */
static void forget_marks(dcsr_i_amg_worker *w)
{
    const size_t size = w->array.count * w->array.size - (size_t)((char *)w->strong - (char *)w->array.data);
    if (w->stamp < UINT32_MAX / 2 && w->reach.stamp < UINT32_MAX / 2) return;
    memset(w->strong, 0, size); /* and all behind */
    w->stamp = w->reach.stamp = 0;
}

/* Where the rows are, once no pile moves any more. */
static void point(dcsr_i_amg_made *made, const dcsr_i_amg_set *numbers, uint64_t each)
{
    const dcsr_i_amg_pile *pile = made->piles.data;
    const uint64_t *length = made->lengths.data, threads = made->piles.count;
    for (uint64_t t = 0; t < threads; t++) {
        uint64_t at = 0;
        for (uint64_t k = numbers->count * t / threads * each; k < numbers->count * (t + 1) / threads * each;
             k++) {
            made->row[k] = (uint32_t)(numbers->list[k / each] * each + k % each);
            made->span[k] = (dcsr_i_amg_span){(const uint32_t *)pile[t].columns.data + at,
                                              (const double *)pile[t].values.data + at, length[k]};
            at += length[k];
        }
    }
}

dcsr_status dcsr_i_amg_make(dcsr_i_amg_made *made, dcsr_i_amg_follow *f, const dcsr_i_amg_set *numbers,
                            uint64_t each, dcsr_i_amg_maker *make)
{
    enum { WORK = 64 }; /* entries that a row is taken for */
    int threads = dcsr_context_threads(f->context, numbers->count * each * WORK);
    if (threads > (int)f->workers.count) threads = (int)f->workers.count;
    const uint64_t count = numbers->count * each;
    bool failed = false;
    *made = (dcsr_i_amg_made){.count = count};
    dcsr_status status = dcsr_i_amg_take(&made->rows, f->context, count, sizeof *made->row);
    if (!status) status = dcsr_i_amg_take(&made->spans, f->context, count, sizeof *made->span);
    if (!status) status = dcsr_i_amg_take(&made->lengths, f->context, count, sizeof(uint64_t));
    if (!status)
        status = dcsr_i_amg_take(&made->piles, f->context, (uint64_t)threads, sizeof(dcsr_i_amg_pile));
    if (status) return status; /* the caller frees what was made */
    made->row = made->rows.data;
    made->span = made->spans.data;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1) reduction(|| : failed)
    for (int t = 0; t < threads; t++) {
        dcsr_i_amg_pile *pile = (dcsr_i_amg_pile *)made->piles.data + t;
        uint64_t end = numbers->count * (uint64_t)(t + 1) / (uint64_t)threads;
        uint64_t k = numbers->count * (uint64_t)t / (uint64_t)threads;
        pile->length = made->lengths.data;
        pile->row = k * each;
        forget_marks((dcsr_i_amg_worker *)f->workers.data + t);
        for (; k < end && !failed; k++)
            failed = !make(f, (dcsr_i_amg_worker *)f->workers.data + t, numbers->list[k], pile);
    }
    if (failed)
        return dcsr_thread_fail(DCSR_ERROR_OUT_OF_MEMORY,
                                "amg update: out of memory for rows that changed; free matrices or views");
    point(made, numbers, each);
    return DCSR_OK;
}

void dcsr_i_amg_made_differing(dcsr_i_amg_made *made, const dcsr_i_amg_rows *rows)
{
    uint64_t kept = 0;
    for (uint64_t k = 0; k < made->count; k++) {
        const dcsr_i_amg_span now = dcsr_i_amg_span_of(rows, made->row[k]), then = made->span[k];
        if (now.count == then.count && !memcmp(now.columns, then.columns, now.count * sizeof *now.columns) &&
            !memcmp(now.values, then.values, now.count * sizeof *now.values))
            continue;
        made->row[kept] = made->row[k];
        made->span[kept++] = then;
    }
    made->count = kept;
}

/* ---- What is worked with ---- */

static dcsr_status take_worker(dcsr_i_amg_worker *w, dcsr_i_amg_hierarchy *h, uint64_t rows, uint64_t cols)
{
    /* Doubles first, for their alignment. */
    const uint64_t norms = h->level[0].block > 1 || h->level[0].vectors > 1 ? rows : 0;
    DCSR_I_AMG_TRY(
        dcsr_i_amg_take(&w->array, h->context, 2 * (norms + cols) + 2 * rows + 3 * cols, sizeof(uint32_t)));
    w->norm = w->array.data;
    w->sum = w->norm + norms;
    w->strong = (uint32_t *)(w->sum + cols);
    w->reach.strong = w->strong + rows;
    w->reach.list = w->reach.strong + rows;
    w->reach.place = w->reach.list + cols;
    w->mark = w->reach.place + cols;
    return DCSR_OK;
}

static dcsr_status begin(dcsr_i_amg_follow *f, dcsr_i_amg_hierarchy *h)
{
    const uint64_t rows = h->level[0].rows;
    uint64_t cols = 1;
    for (int l = 1; l < h->level_count; l++)
        if (h->level[l].rows > cols) cols = h->level[l].rows;
    const int threads = dcsr_context_threads(h->context, UINT64_MAX / 2);
    f->h = h;
    f->context = f->undo.context = h->context;
    for (int s = 0; s < DCSR_I_AMG_MOST_SETS; s++) {
        DCSR_I_AMG_TRY(dcsr_i_amg_take(&f->set[s].lists, h->context, rows, sizeof(uint32_t)));
        DCSR_I_AMG_TRY(dcsr_i_amg_take(&f->set[s].words, h->context, rows / 64 + 1, sizeof(uint64_t)));
        f->set[s].list = f->set[s].lists.data;
        f->set[s].bits = f->set[s].words.data;
    }
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&f->slots, h->context, rows, sizeof(uint32_t)));
    f->slot = f->slots.data;
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&f->workers, h->context, (uint64_t)threads, sizeof(dcsr_i_amg_worker)));
    for (int t = 0; t < threads; t++)
        DCSR_I_AMG_TRY(take_worker((dcsr_i_amg_worker *)f->workers.data + t, h, rows, cols));
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_follow_begin(dcsr_i_amg_hierarchy *h)
{
    if (h->follow) return DCSR_OK;
    h->follow = dcsr_context_allocate(h->context, 1, sizeof *h->follow);
    if (!h->follow) return dcsr_thread_status();
    dcsr_status status = begin(h->follow, h);
    if (status) dcsr_i_amg_follow_end(h);
    return status;
}

void dcsr_i_amg_follow_end(dcsr_i_amg_hierarchy *h)
{
    dcsr_i_amg_follow *f = h->follow;
    if (!f) return;
    for (int s = 0; s < DCSR_I_AMG_MOST_SETS; s++) {
        dcsr_i_amg_drop(&f->set[s].lists, h->context);
        dcsr_i_amg_drop(&f->set[s].words, h->context);
    }
    for (uint64_t t = 0; t < f->workers.count; t++)
        dcsr_i_amg_drop(&((dcsr_i_amg_worker *)f->workers.data)[t].array, h->context);
    dcsr_i_amg_drop(&f->workers, h->context);
    dcsr_i_amg_drop(&f->slots, h->context);
    dcsr_i_amg_drop(&f->undo.array, h->context);
    dcsr_context_free(h->context, f, 1, sizeof *f);
    h->follow = NULL;
}
