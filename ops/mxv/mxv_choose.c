/* mxv_choose.c: which way a product with a vector is computed.
 *
 * That is decided by an estimate of what each costs. The unit is about a nanosecond of one thread. A push looks at
 * every entry in the columns of u's elements. A pull looks at the rows that the mask allows: at all of their entries,
 * or, where the first term decides a sum, at as many as it takes to meet one: if u's columns hold one in d of all
 * entries, about d. That share is of entries, not of elements, as large columns are the ones that are met. Tiles are
 * gone through as a whole; what is saved is the misses of a pull whose vector is larger than the cache.
 *
 * Where push and pull come near each other, and the features of the matrix are known, what was learnt from measured
 * products (ops/choice/choice.h) has a say: up to the density that it tells columns are taken, whatever the estimates.
 * It is not believed where it would have rows read: estimates know the vector's own columns, and that matrices may be
 * larger than those it was learnt from. Whether rows read u in order, so that it is not missed, is known then too.
 *
 * Bringing u into the form that a way needs is part of its cost; so a search that has changed direction, and
 * whose vector is in the other form since, does not change back before it pays. */
#include "ops/choice/choice.h"
#include "ops/mxv/mxv_internal.h"
#include "ops/rows/row_reader.h"

/* What things cost. A push over sums writes to places in no order; one over bits is cheaper, as is a pull, which adds
 * in registers, unless it misses the cache, or u lacks elements, so that a bit is looked at for each entry. Of tiles an
 * entry over plus-times, over others, and where u lacks elements. */
static const double PUSH_ENTRY = 2.5, PUSH_BIT = 1.2, PUSH_ROW = 30, PULL_ENTRY = 1.2, PULL_BIT = 2.6,
                    PULL_MISS = 3.4, PULL_LOOK = 5, PULL_ROW = 8, PULL_EMPTY_ROW = 2.5, TILE_ENTRY = 1.8,
                    TILE_TERM = 3.5, TILE_BIT = 6.5, WORD = 0.3;

/* How many times one estimate may be the other, for them to come near each other. */
static const double DOUBT = 4;

/* Bytes of a vector from which on its elements are taken to be missed: those of a usual second-level cache. */
enum { CACHED = 1 << 20 };

/* Lengths of rows may differ by orders of magnitude, so a mean takes many of them. Up to EXACT elements of a
 * list are all looked at, then one in EVERY, but no fewer than EXACT. Of bits some WORDS are gone through
 * whole, as the lengths of 64 rows lie together. */
enum { EXACT = 64, EVERY = 64, WORDS = 64 };

/* The mean length of the rows whose bits are set, or with a `flip` of all ones are not. */
static double mean_of_bits(const dcsr_i_rows *rows, const uint64_t *bits, uint64_t flip, uint64_t words)
{
    /* Rows at multiples of powers of two are no fair sample of a graph that R-MAT made. */
    uint64_t stride = 5 + words / WORDS, sum = 0, count = 0;
    for (uint64_t w = words > stride ? stride / 2 : 0; w < words; w += stride) {
        for (uint64_t word = bits[w] ^ flip; word; word &= word - 1) {
            uint64_t row = w << 6 | (unsigned)__builtin_ctzll(word);
            if (row >= rows->rows) break;
            sum += dcsr_i_rows_length(rows, row);
            count++;
        }
    }
    return count ? (double)sum / (double)count : 0;
}

static double mean_of_list(const dcsr_i_rows *rows, const uint32_t *list, uint64_t n)
{
    uint64_t sum = 0, stride = n <= EXACT ? 1 : n / EXACT < EVERY ? n / EXACT : EVERY, count = 0;
    for (uint64_t i = 0; i < n; i += stride, count++) sum += dcsr_i_rows_length(rows, list[i]);
    return count ? (double)sum / (double)count : 0;
}

/* Of all rows that the mask allows. */
static double mean_of_wanted(const dcsr_i_rows *rows, uint64_t entries, const dcsr_i_mask *mask)
{
    if (dcsr_i_mask_is_list(mask)) return mean_of_list(rows, mask->list, mask->n);
    if (mask->listed || !mask->bits) return (double)entries / (double)(rows->rows + 1);
    return mean_of_bits(rows, mask->bits, mask->complement ? UINT64_MAX : 0, dcsr_i_words(rows->rows));
}

uint64_t dcsr_i_mxv_work_of_push(const dcsr_i_rows *rows, uint64_t entries, const dcsr_i_body *u)
{
    if (u->dense && !u->present) return entries;
    double mean =
        u->dense ? mean_of_bits(rows, u->present, 0, u->words) : mean_of_list(rows, u->indices, u->nvals);
    uint64_t work = (uint64_t)((1 + mean) * (double)u->nvals), most = entries + u->nvals;
    return work < most ? work : most;
}

bool dcsr_i_mxv_pulls_clearly(const dcsr_i_mxv *x, const dcsr_i_body *u, uint64_t wanted)
{
    double mean = (double)x->entries / (double)(x->n + 1);
    return 4 * (double)wanted * (PULL_ROW + mean * PULL_ENTRY) < (double)u->nvals * PUSH_ROW &&
           x->pulled->body.dense;
}

dcsr_i_mxv_situation dcsr_i_mxv_situation_of(const dcsr_i_mxv *x, const dcsr_i_rows *pull_rows, uint64_t work,
                                             const dcsr_i_body *u, const dcsr_i_mask *mask, uint64_t wanted)
{
    const dcsr_i_body *pulled = &x->pulled->body;
    return (dcsr_i_mxv_situation){.n = x->n,
                                  .length = x->length,
                                  .entries = x->entries,
                                  .nvals = u->nvals,
                                  .dense = u->dense,
                                  .pulled_nvals = pulled->nvals,
                                  .pulled_dense = pulled->dense,
                                  .wanted = wanted,
                                  .mean = pull_rows ? mean_of_wanted(pull_rows, x->entries, mask) : 0,
                                  .work = work == UINT64_MAX ? 0 : work,
                                  .any = x->any,
                                  .bits = x->any && !x->reads_matrix && !x->reads_vector,
                                  .plus_times = x->tiles && dcsr_i_mxv_is_plus_times(x, x->tiles->type),
                                  .cached = x->length * (x->reads_vector ? x->usize : 1) <= CACHED,
                                  .can_push = work != UINT64_MAX,
                                  .can_pull = pull_rows != NULL,
                                  .can_tile = x->tiles != NULL};
}

static double push_cost(const dcsr_i_mxv_situation *s)
{
    double words = (double)s->n / (s->work < s->n / 64 ? 4096 : 64) + (s->dense ? (double)s->length / 64 : 0);
    return (double)s->work * (s->bits ? PUSH_BIT : PUSH_ENTRY) + (double)s->nvals * PUSH_ROW + words * WORD;
}

static double pull_cost(const dcsr_i_mxv_situation *s)
{
    const double entry = s->can_tile && !s->cached     ? PULL_MISS
                         : s->pulled_nvals < s->length ? PULL_BIT
                                                       : PULL_ENTRY,
                 empty = s->mean < 1 ? 1 - s->mean : 0; /* of the rows, at least */
    double row = s->mean * entry;
    if (s->any) {
        /* Where it is not known how many entries a push would look at, u's share of the elements. */
        double met = s->can_push ? (double)s->work
                                 : (double)s->entries * (double)s->nvals / (double)(s->length + 1),
               looks = (double)s->entries / (met + 1);
        row = (looks < s->mean ? looks : s->mean) * PULL_LOOK;
    }
    double words = (double)s->n / 64 + (s->pulled_dense ? 0 : (double)s->length / 64);
    return (double)s->wanted * (PULL_ROW + empty * (PULL_EMPTY_ROW - PULL_ROW) + row) + words * WORD +
           (s->pulled_dense ? 0 : (double)s->pulled_nvals * 2);
}

static double tile_cost(const dcsr_i_mxv_situation *s)
{
    const double words = (double)s->n / 64 + (s->dense ? 0 : (double)s->length / 64),
                 entry = s->nvals < s->length ? TILE_BIT
                         : s->plus_times      ? TILE_ENTRY
                                              : TILE_TERM;
    return (double)s->entries * entry + words * WORD + (s->dense ? 0 : (double)s->nvals * 2);
}

bool dcsr_i_mxv_asks_crossover(const dcsr_i_mxv_situation *s)
{
    if (!s->can_push || !s->can_pull || s->any || s->wanted < s->n || s->nvals == s->length) return false;
    const double ratio = push_cost(s) / pull_cost(s);
    return ratio < DOUBT && ratio > 1 / DOUBT;
}

dcsr_status dcsr_i_mxv_look_up(dcsr_i_mxv_situation *s, const dcsr_i_mxv *x, dcsr_view *A)
{
    const dcsr_features *features;
    DCSR_TRY(dcsr_i_view_known_features(&features, A));
    if (!features) return DCSR_OK;
    /* What a row reads of u, the next one mostly reads again. */
    if (features->bandwidth * (double)(x->reads_vector ? x->usize : 1) <= CACHED) s->cached = true;
    return dcsr_i_mxv_asks_crossover(s) ? dcsr_i_view_crossover(&s->crossover, A) : DCSR_OK;
}

dcsr_direction dcsr_i_mxv_decide(const dcsr_i_mxv_situation *s)
{
    if ((double)s->nvals < s->crossover * (double)s->length) return DCSR_DIRECTION_PUSH;
    const bool pushes = s->can_push && (!s->can_pull || push_cost(s) < pull_cost(s));
    const dcsr_direction way = pushes ? DCSR_DIRECTION_PUSH : DCSR_DIRECTION_PULL;
    return s->can_tile && tile_cost(s) < (pushes ? push_cost(s) : pull_cost(s)) ? DCSR_DIRECTION_TILES : way;
}
