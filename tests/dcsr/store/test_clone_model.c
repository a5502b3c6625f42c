/* test_clone_model.c: a matrix, its clones and theirs, changed at random, each against an oracle of its own.
 *
 * A family begins with one matrix. Members are changed, cloned and destroyed in any order; views of them are held, with
 * what they showed, and compared with one another: what differs between any two must be what differs between their
 * oracles, whichever member each is of, and whether that is still there.
 *
 * A failure names its seed: DCSR_TEST_SEED=n replays that family, DCSR_TEST_ROUNDS=n runs n of them. */
#include "tests/support/support_diff.h"
#include <dcsr/apply.h>
#include <dcsr/operators.h>

#include <inttypes.h>

enum { MEMBERS = 5, VIEWS = 6, MOST = 300 };

typedef struct member {
    dcsr_matrix *matrix; /* NULL: none */
    oracle now;
} member;

typedef struct kept {
    dcsr_view *view; /* NULL: none */
    unsigned flags;
    oracle was;
} kept;

typedef struct family {
    test_random random;
    uint64_t seed;
    unsigned step;
    dcsr_context *context;
    uint64_t most; /* entries of a batch */
    bool twins;
    member member[MEMBERS];
    kept kept[VIEWS];
} family;

#define CHECK(f, condition, ...) \
    cr_assert(condition, "DCSR_TEST_SEED=%" PRIu64 ", step %u: %s", (f)->seed, (f)->step, __VA_ARGS__)
#define CHECK_OK(f, call) CHECK(f, (call) == DCSR_OK, dcsr_thread_error())

static uint64_t below(family *f, uint64_t n)
{
    return test_random_below(&f->random, n);
}

static member *some_member(family *f)
{
    member *m;
    do m = &f->member[below(f, MEMBERS)];
    while (!m->matrix);
    return m;
}

/* ---- Changes ---- */

static void change_entries(family *f, member *m, bool insert)
{
    size_t n = below(f, f->most), size = dcsr_type_size(m->now.type);
    uint64_t rows[MOST], cols[MOST], near = below(f, m->now.rows);
    char values[MOST * 8];
    for (size_t i = 0; i < n; i++) {
        rows[i] = below(f, 3) ? near : below(f, m->now.rows);
        cols[i] = below(f, m->now.cols);
        if (size) test_encode(m->now.type, (double)below(f, 3), values + i * size);
    }
    if (insert) {
        CHECK_OK(f, dcsr_matrix_insert(m->matrix, n, rows, cols, size ? values : NULL, NULL));
        oracle_insert(&m->now, n, rows, cols, size ? values : NULL);
    } else {
        CHECK_OK(f, dcsr_matrix_remove(m->matrix, n, rows, cols, NULL));
        oracle_remove(&m->now, n, rows, cols);
    }
}

/* Single entries, in place where that is possible. */
static void change_one(family *f, member *m)
{
    for (uint64_t times = 1 + below(f, 20); times; times--) {
        uint64_t row = below(f, m->now.rows), col = below(f, m->now.cols), value = 0, was;
        const bool there = oracle_get(&m->now, row, col, &was);
        if (below(f, 3)) {
            if (dcsr_type_size(m->now.type)) test_encode(m->now.type, (double)below(f, 3), &value);
            CHECK_OK(f, dcsr_matrix_set(m->matrix, row, col, m->now.type == DCSR_PATTERN ? NULL : &value));
            oracle_remove(&m->now, 1, &row, &col);
            oracle_insert(&m->now, 1, &row, &col, &value);
        } else {
            bool removed;
            CHECK_OK(f, dcsr_matrix_remove_one(m->matrix, row, col, &removed));
            CHECK(f, removed == there, "dcsr_matrix_remove_one() is wrong about what was there");
            oracle_remove(&m->now, 1, &row, &col);
        }
    }
}

static void resize(family *f, member *m)
{
    uint64_t rows = 1 + below(f, 2 * m->now.rows), cols = 1 + below(f, m->now.cols + 10);
    if (rows > 1000) rows = 1000;
    CHECK_OK(f, dcsr_matrix_resize(m->matrix, rows, cols, NULL));
    oracle_resize(&m->now, rows, cols);
}

/* Replaces all of it by what a held view shows. */
static void replace(family *f, member *m)
{
    kept *k = &f->kept[below(f, VIEWS)];
    if (!k->view || m->now.policy == DCSR_POLICY_KEEP || k->flags & DCSR_VIEW_DUPLICATES) return;
    if (k->was.rows != m->now.rows || k->was.cols != m->now.cols) return;
    const dcsr_unary_op *op = dcsr_unary_op_of(DCSR_UNARY_IDENTITY, m->now.type);
    if (!op) return; /* of a pattern */
    CHECK_OK(f, dcsr_matrix_apply(m->matrix, NULL, NULL, op, k->view, NULL));
    oracle_destroy(&m->now);
    oracle_copy(&m->now, &k->was);
}

static void change(family *f, member *m)
{
    switch (below(f, 12)) {
    case 0:
        resize(f, m);
        break;
    case 1:
        CHECK_OK(f, dcsr_matrix_defragment(m->matrix, (dcsr_defragment_scope)below(f, 2), NULL));
        break;
    case 2:
    case 3:
        change_one(f, m);
        break;
    case 4:
    case 5:
        change_entries(f, m, false);
        break;
    case 6:
        replace(f, m);
        break;
    default:
        change_entries(f, m, true);
    }
}

/* ---- Members and views ---- */

static void clone(family *f)
{
    member *from = some_member(f), *to = &f->member[below(f, MEMBERS)];
    if (to->matrix) return;
    CHECK_OK(f, dcsr_matrix_clone(&to->matrix, from->matrix));
    oracle_copy(&to->now, &from->now);
}

/* At least one stays. */
static void destroy(family *f)
{
    member *m = some_member(f);
    int others = 0;
    for (member *other = f->member; other < f->member + MEMBERS; other++)
        others += other != m && other->matrix;
    if (!others) return;
    dcsr_matrix_destroy(m->matrix);
    oracle_destroy(&m->now);
    m->matrix = NULL;
}

static void let_go(kept *k)
{
    if (!k->view) return;
    dcsr_view_destroy(k->view);
    oracle_destroy(&k->was);
    k->view = NULL;
}

static void check_view(family *f, kept *k)
{
    char why[TEST_WHY];
    if (k->view) CHECK(f, test_view_matches(k->view, &k->was, k->flags, why), why);
}

static void keep(family *f)
{
    kept *k = &f->kept[below(f, VIEWS)];
    member *m = some_member(f);
    let_go(k);
    k->flags = (unsigned)below(f, 4);
    CHECK_OK(f, dcsr_view_create(&k->view, m->matrix, (dcsr_layout)below(f, f->twins ? 3 : 2),
                                 k->flags | DCSR_VIEW_LATEST));
    oracle_copy(&k->was, &m->now);
    check_view(f, k);
}

static void compare(family *f)
{
    kept *from = &f->kept[below(f, VIEWS)], *to = &f->kept[below(f, VIEWS)];
    if (!from->view || !to->view) return;
    dcsr_diff *diff = diff_of(from->view, to->view);
    CHECK(f, test_diff_agrees(diff, &from->was, &to->was), "a diff is wrong");
    dcsr_diff_destroy(diff);
}

/* ---- Families ---- */

static void begin(family *f, uint64_t seed)
{
    *f = (family){.seed = seed, .random = {seed}};
    test_seed_begins(seed);
    const bool large = below(f, 3) != 0;
    const uint64_t rows = large ? 50 + below(f, 400) : 1 + below(f, 80),
                   cols = 1 + below(f, large ? 300 : 30);
    const dcsr_type type = (dcsr_type)below(f, DCSR_TYPE_COUNT);
    f->most = large ? MOST : 30;
    f->twins = !below(f, 3);
    const dcsr_matrix_options options = {.policy = (dcsr_policy)below(f, DCSR_POLICY_COUNT),
                                         .segments = DCSR_MIN_SEGMENTS + (int)below(f, 3),
                                         .defragmentation = (dcsr_defragmentation)below(f, 2),
                                         .resolve = (dcsr_resolution)below(f, 3),
                                         .maintain_transpose = f->twins};
    f->context = test_context(1 + (int)below(f, 3));
    CHECK_OK(f, dcsr_matrix_create(&f->member[0].matrix, f->context, type, rows, cols, &options));
    oracle_create(&f->member[0].now, type, options.policy, rows, cols);
    for (uint64_t batches = below(f, large ? 12 : 3); batches; batches--)
        change_entries(f, &f->member[0], true);
}

static void end(family *f)
{
    char why[TEST_WHY];
    for (int i = 0; i < VIEWS && below(f, 2); i++) let_go(&f->kept[i]);
    for (member *m = f->member; m < f->member + MEMBERS; m++) {
        if (!m->matrix) continue;
        CHECK_OK(f, dcsr_matrix_wait(m->matrix));
        CHECK(f, test_matrix_matches(m->matrix, &m->now, why), why);
    }
    for (int first = (int)below(f, MEMBERS), i = 0; i < MEMBERS; i++) {
        member *m = &f->member[(first + i) % MEMBERS];
        if (!m->matrix) continue;
        dcsr_matrix_destroy(m->matrix);
        oracle_destroy(&m->now);
    }
    for (int i = 0; i < VIEWS; i++) {
        check_view(f, &f->kept[i]);
        let_go(&f->kept[i]);
    }
    CHECK(f, test_context_is_as_new(f->context, why), why);
    dcsr_context_destroy(f->context);
}

static void step(family *f)
{
    switch (below(f, 16)) {
    case 0:
    case 1:
        clone(f);
        break;
    case 2:
        destroy(f);
        break;
    case 3:
    case 4:
    case 5:
        keep(f);
        break;
    case 6:
    case 7:
        compare(f);
        break;
    case 8:
        check_view(f, &f->kept[below(f, VIEWS)]);
        break;
    default:
        change(f, some_member(f));
    }
}

Test(clone_model, random_families)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(300, 100, 60));
    static family f;
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        begin(&f, seeds.first + i);
        const unsigned steps = 30 + (unsigned)below(&f, 120);
        for (f.step = 1; f.step <= steps; f.step++) step(&f);
        end(&f);
    }
}
