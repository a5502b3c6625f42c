/* test_write_rows_device.c: results that change some rows of a matrix on a device: they are what the cpu gives, the
 * other rows stay where they are, and cost nothing. */
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/ewise.h>
#include <dcsr/mxm.h>
#include <dcsr/select.h>
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/rowtable.h"
#include "ops/algebra/operator.h"
#include "tests/support/support_parity.h"

enum { PAGE = DCSR_CUDA_PAGE_ROWS, ROWS = 6 * PAGE - 7, COLS = 90, FEW = 5 };

/* ---- Where rows are ---- */

/* The first place of a row, and its entries. */
typedef struct whereabouts {
    uint64_t begin;
    uint32_t length;
} whereabouts;

/* The pages of a version, in host memory; and what they add up to is what its table says. */
static whereabouts *find_rows_there(dcsr_matrix *C)
{
    const dcsr_i_table *table = C->versions.current;
    const dcsr_i_cuda_slots *row_pages = &C->cuda->row_pages, *segment_pages = &C->cuda->segment_pages;
    whereabouts *rows = test_allocate(PAGE * table->root->pages, sizeof *rows);
    dcsr_i_cuda_row_page *page = test_allocate(1, sizeof *page);
    dcsr_i_cuda_segment_page *segments = test_allocate(DCSR_MAX_SEGMENTS, sizeof *segments);
    uint64_t stored = 0, extra = 0, duplicates = 0, tombstones = 0;
    memset(rows, 0, PAGE * table->root->pages * sizeof *rows);
    for (uint64_t p = 0; p < table->root->pages; p++) {
        const uint32_t slot = table->root->host[p];
        if (slot == DCSR_CUDA_NONE) continue;
        dcsr_i_cuda_copy(stream, page, (dcsr_i_cuda_row_page *)row_pages->memory.start + slot, sizeof *page);
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        for (int k = 0; k < table->segments_per_row; k++)
            if (page->segment[k] != DCSR_CUDA_NONE)
                dcsr_i_cuda_copy(stream, &segments[k],
                                 (dcsr_i_cuda_segment_page *)segment_pages->memory.start + page->segment[k],
                                 sizeof *segments);
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        for (uint64_t r = 0; r < PAGE; r++) {
            uint64_t left = page->length[r];
            rows[p * PAGE + r] =
                (whereabouts){left ? dcsr_i_segment_begin(segments[0].of[r]) : 0, page->length[r]};
            stored += left;
            duplicates += page->duplicates[r / 32] >> (r & 31) & 1;
            tombstones += page->tombstones[r / 32] >> (r & 31) & 1;
            for (int k = 0; page->fragmented[r / 32] >> (r & 31) & 1 &&
                            left > dcsr_i_segment_capacity(segments[k].of[r]);
                 k++) {
                left -= dcsr_i_segment_capacity(segments[k].of[r]);
                extra++;
            }
        }
    }
    cr_assert_eq(table->stored, stored);
    cr_assert_eq(table->extra_segments, extra);
    cr_assert_eq(table->duplicate_rows, duplicates);
    cr_assert_eq(table->tombstone_rows, tombstones);
    free(page), free(segments);
    return rows;
}

static whereabouts *find_rows_here(dcsr_matrix *C)
{
    const dcsr_i_table *table = C->versions.current;
    whereabouts *rows = test_allocate(table->rows, sizeof *rows);
    for (uint64_t i = 0; i < table->rows; i++) {
        const dcsr_i_row_page *page = dcsr_i_page(table, i / DCSR_I_PAGE_ROWS);
        const uint64_t r = i % DCSR_I_PAGE_ROWS;
        uint32_t n = page ? page->length[r] : 0;
        rows[i] = (whereabouts){n ? dcsr_i_begin_of(page, 0, (unsigned)r) : 0, n};
    }
    return rows;
}

static bool same_place(const whereabouts *a, const whereabouts *b)
{
    return a->length && a->length == b->length && a->begin == b->begin;
}

/* ---- Problems ---- */

/* A matrix with few rows, entries of which are deleted again; or with many, of several segments. */
static matrices draw_matrix(parity *p, dcsr_type type, dcsr_policy policy, bool few, bool twin)
{
    const dcsr_matrix_options options = {.policy = policy,
                                         .segments =
                                             DCSR_MIN_SEGMENTS + (int)test_random_below(&p->random, 3),
                                         .defragmentation = DCSR_DEFRAGMENT_OFF,
                                         .maintain_transpose = twin};
    uint64_t row[600], col[600], some[FEW], batches = few ? 1 : 1 + test_random_below(&p->random, 6);
    matrices m;
    for (int c = 0; c < PLACES; c++)
        TEST_OK(dcsr_matrix_create(&m.in[c], p->in[c], type, ROWS, COLS, &options));
    for (int k = 0; k < FEW; k++) some[k] = test_random_below(&p->random, ROWS);
    for (uint64_t b = 0; b < batches; b++) {
        uint64_t n = few ? test_random_below(&p->random, 40) : 600;
        void *values = parity_numbers(p, type, n);
        for (uint64_t i = 0; i < n; i++) {
            row[i] = few ? some[test_random_below(&p->random, FEW)] : test_random_below(&p->random, ROWS);
            col[i] = test_random_below(&p->random, COLS);
        }
        const bool removes = !few && test_random_once_in(&p->random, 2);
        for (int c = 0; c < PLACES; c++) {
            TEST_OK(dcsr_matrix_insert(m.in[c], n, row, col, type == DCSR_PATTERN ? NULL : values, NULL));
            if (removes) TEST_OK(dcsr_matrix_remove(m.in[c], n / 6, row, col, NULL));
            TEST_OK(dcsr_matrix_wait(m.in[c]));
        }
        free(values);
    }
    for (int c = 0; c < PLACES; c++) m.view[c] = test_view(m.in[c], DCSR_LAYOUT_SEGMENTS, 0);
    return m;
}

typedef struct problem {
    matrices C, A, B, square, mask;
    vectors line, line_mask;
    const dcsr_binary_op *accum, *binary;
    const dcsr_unary_op *unary;
    dcsr_desc desc;
    bool masked;
    uint64_t rows[FEW], cols[FEW], nrows, ncols;
} problem;

static problem draw(parity *p, dcsr_policy policy, bool twin)
{
    test_random *random = &p->random;
    const dcsr_type type =
        policy == DCSR_POLICY_LAST && test_random_once_in(random, 4) ? DCSR_PATTERN : parity_type(p);
    problem x = {0};
    x.C = draw_matrix(p, type, policy, test_random_once_in(random, 8), twin);
    x.A = draw_matrix(p, parity_type(p), DCSR_POLICY_LAST, !test_random_once_in(random, 6), false);
    x.B = draw_matrix(p, parity_type(p), DCSR_POLICY_SUM, !test_random_once_in(random, 6), false);
    x.mask = draw_matrix(p, parity_type(p), DCSR_POLICY_LAST, test_random_once_in(random, 2), false);
    x.square = parity_matrix(p, parity_type(p), COLS, COLS, 300, 0, 1, DCSR_POLICY_LAST);
    x.line = parity_vector(p, parity_type(p), COLS, 3);
    x.line_mask = parity_vector(p, parity_type(p), COLS, 4);
    return x;
}

/* What a call takes besides: operators, whether there is a mask, where to. */
static void draw_call(parity *p, problem *x)
{
    test_random *random = &p->random;
    const dcsr_type of = parity_type(p);
    x->accum = test_random_once_in(random, 2) ? dcsr_binary_op_of(DCSR_BINARY_MINUS, of) : NULL;
    x->binary = dcsr_binary_op_of(DCSR_BINARY_PLUS, of);
    x->unary = dcsr_unary_op_of(DCSR_UNARY_NEGATE, of);
    x->masked = test_random_once_in(random, 2);
    x->desc = (dcsr_desc){.mask_complement = test_random_once_in(random, 4),
                          .mask_structure = test_random_once_in(random, 2),
                          .replace = test_random_once_in(random, 4)};
    uint64_t row = test_random_below(random, ROWS / 2), step = 1 + test_random_below(random, ROWS / 12),
             col = test_random_below(random, COLS);
    x->nrows = test_random_below(random, FEW + 1);
    x->ncols = 1 + test_random_below(random, FEW);
    for (uint64_t k = 0; k < FEW; k++) {
        x->rows[k] = row + (FEW - k) * step;
        x->cols[k] = (col + k * 7) % COLS;
    }
}

static void free_problem(problem *x)
{
    parity_free_matrix(&x->C), parity_free_matrix(&x->A), parity_free_matrix(&x->B);
    parity_free_matrix(&x->mask), parity_free_matrix(&x->square);
    parity_free_vector(&x->line), parity_free_vector(&x->line_mask);
}

/* ---- The operations ---- */

#define OUT x->C.in[c], x->masked ? x->mask.view[c] : NULL, x->accum

static dcsr_status apply(const problem *x, int c)
{
    return dcsr_matrix_apply(OUT, x->unary, x->A.view[c], &x->desc);
}
static dcsr_status add(const problem *x, int c)
{
    return dcsr_matrix_ewise_add(OUT, x->binary, x->A.view[c], x->B.view[c], &x->desc);
}
static dcsr_status select_entries(const problem *x, int c)
{
    const dcsr_index_op *tril = dcsr_index_op_of(DCSR_INDEX_TRIL, DCSR_FP64);
    return dcsr_matrix_select(OUT, tril, x->A.view[c], &(int64_t){-9}, &x->desc);
}
static dcsr_status multiply(const problem *x, int c)
{
    return dcsr_mxm(OUT, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT32), x->A.view[c], x->square.view[c],
                    &x->desc);
}
static dcsr_status assign_scalar(const problem *x, int c)
{
    return dcsr_matrix_assign_scalar(OUT, &(double){3}, DCSR_FP64, &(dcsr_index_list){x->rows, x->nrows},
                                     &(dcsr_index_list){x->cols, x->ncols}, &x->desc);
}
static dcsr_status assign_to_rows(const problem *x, int c)
{
    return dcsr_matrix_assign_scalar(OUT, &(double){2}, DCSR_FP64, &(dcsr_index_list){x->rows, x->nrows},
                                     NULL, &x->desc);
}
static dcsr_status assign_everywhere(const problem *x, int c)
{
    return dcsr_matrix_assign_scalar(OUT, &(double){1}, DCSR_FP64, NULL, NULL, &x->desc);
}
static dcsr_status assign_row(const problem *x, int c)
{
    return dcsr_matrix_assign_row(x->C.in[c], x->masked ? x->line_mask.in[c] : NULL, x->accum, x->line.in[c],
                                  x->rows[0], &x->desc);
}

static const struct operation {
    const char *name;
    dcsr_status (*call)(const problem *x, int c);
} operations[] = {{"apply", apply},
                  {"ewise_add", add},
                  {"select", select_entries},
                  {"mxm", multiply},
                  {"assign_scalar", assign_scalar},
                  {"assign_scalar, to rows", assign_to_rows},
                  {"assign_scalar, everywhere", assign_everywhere},
                  {"assign_row", assign_row},
                  {0}};

static void assert_same(const problem *x, const char *what)
{
    dcsr_view *view[PLACES];
    for (int c = 0; c < PLACES; c++) view[c] = test_view(x->C.in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    cr_assert(parity_same_entries(view[HERE], view[THERE]), "%s", what);
    for (int c = 0; c < PLACES; c++) dcsr_view_destroy(view[c]);
}

/* ---- What is written, and what stays ---- */

/* What the cpu leaves where it is stays there on the device too; returns how many rows that are. */
static uint64_t run(const problem *x, const struct operation *o)
{
    whereabouts *here = find_rows_here(x->C.in[HERE]), *there = find_rows_there(x->C.in[THERE]);
    uint64_t version[PLACES], kept = 0;
    for (int c = 0; c < PLACES; c++) {
        version[c] = test_info(x->C.in[c]).version;
        TEST_OK(o->call(x, c));
    }
    whereabouts *now_here = find_rows_here(x->C.in[HERE]), *now_there = find_rows_there(x->C.in[THERE]);
    for (uint64_t i = 0; i < ROWS; i++) {
        if (!same_place(&here[i], &now_here[i])) continue;
        cr_assert(same_place(&there[i], &now_there[i]), "%s: row %d", o->name, (int)i);
        kept++;
    }
    /* An empty C that stays empty may have a new version. */
    if (test_info(x->C.in[HERE]).version == version[HERE] && test_info(x->C.in[HERE]).stored)
        cr_assert_eq(test_info(x->C.in[THERE]).version, version[THERE], "%s", o->name);
    free(here), free(there), free(now_here), free(now_there);
    return kept;
}

/* Brings the entries of a row into the order of their columns; equal ones stay in theirs. */
static void sort_row(uint32_t *col, char *value, uint64_t n, size_t size)
{
    for (uint64_t k = 1; k < n; k++)
        for (uint64_t at = k; at && col[at - 1] > col[at]; at--) {
            char spare[8];
            uint32_t column = col[at];
            col[at] = col[at - 1], col[at - 1] = column;
            memcpy(spare, value + at * size, size);
            memcpy(value + at * size, value + (at - 1) * size, size);
            memcpy(value + (at - 1) * size, spare, size);
        }
}

/* Whether two views of segments show the same rows. */
static bool same_rows(const matrices *m)
{
    enum { MOST = 16 * COLS };
    uint32_t col[PLACES][MOST];
    char value[PLACES][MOST * 8];
    uint64_t n[PLACES];
    const size_t size = dcsr_type_size(m->in[HERE]->type);
    bool same = true;
    for (uint64_t i = 0; i < ROWS && same; i += TEST_EMULATOR ? 1 : 7) {
        for (int c = 0; c < PLACES; c++) {
            TEST_OK(dcsr_view_get_row(m->view[c], i, MOST, col[c], size ? value[c] : NULL, &n[c]));
            cr_assert_leq(n[c], MOST);
            sort_row(col[c], value[c], n[c], size);
        }
        same = n[HERE] == n[THERE] && !memcmp(col[HERE], col[THERE], n[HERE] * sizeof col[0][0]) &&
               !memcmp(value[HERE], value[THERE], n[HERE] * size);
    }
    return same;
}

/* Entries to any rows, and to those that are written. */
static void change(parity *p, problem *x)
{
    enum { N = 50 };
    uint64_t row[N], col[N];
    void *values = parity_numbers(p, x->C.in[HERE]->type, N);
    for (int i = 0; i < N; i++) {
        row[i] = test_random_below(&p->random, 3) ? test_random_below(&p->random, ROWS)
                                                  : x->rows[test_random_below(&p->random, FEW)];
        col[i] = test_random_below(&p->random, COLS);
    }
    for (int c = 0; c < PLACES; c++) {
        const bool pattern = x->C.in[c]->type == DCSR_PATTERN;
        TEST_OK(dcsr_matrix_insert(x->C.in[c], N, row, col, pattern ? NULL : values, NULL));
        TEST_OK(dcsr_matrix_remove(x->C.in[c], N / 5, row, col, NULL));
        TEST_OK(dcsr_matrix_wait(x->C.in[c]));
    }
    free(values);
}

/* One operation after the other, with batches in between, and views held of the first version. */
static uint64_t compare(uint64_t seed, dcsr_policy policy, bool twin)
{
    parity p;
    uint64_t kept = 0;
    parity_open(&p, seed);
    problem x = draw(&p, policy, twin);
    for (const struct operation *o = operations; o->name; o++) {
        draw_call(&p, &x);
        kept += run(&x, o);
        assert_same(&x, o->name);
        if (test_random_once_in(&p.random, 2)) change(&p, &x);
    }
    cr_assert(same_rows(&x.C), "a view from before");
    for (int c = 0; c < PLACES; c++) {
        dcsr_view_destroy(x.C.view[c]);
        x.C.view[c] = NULL;
        TEST_OK(dcsr_matrix_defragment(x.C.in[c], DCSR_DEFRAGMENT_WHOLE, NULL));
        TEST_OK(dcsr_matrix_wait(x.C.in[c]));
        /* Nothing is left in the arena but what is stored. */
        dcsr_matrix_info info = test_info(x.C.in[c]);
        cr_assert_eq(info.arena_entries, info.stored);
    }
    assert_same(&x, "defragmented");
    free_problem(&x);
    parity_close(&p);
    return kept;
}

Test(write_rows_device, give_what_the_cpu_gives_where_it_does, .timeout = 300)
{
    static const dcsr_policy policies[] = {DCSR_POLICY_LAST, DCSR_POLICY_SUM, DCSR_POLICY_KEEP,
                                           DCSR_POLICY_MIN};
    open_device();
    NEEDS_GPU();
    uint64_t kept = 0;
    test_seeds seeds = test_seeds_from_environment(TEST_EMULATOR ? TEST_VARIANT(16, 4, 4) : 100);
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        test_seed_begins(seeds.first + i);
        kept += compare(seeds.first + i, policies[i % 4], i % 3 == 1);
    }
    cr_assert_gt(kept, seeds.rounds * ROWS);
    close_device();
}

/* Rows that hold more duplicates than are resolved at once, and one that is a group of its own. */
Test(write_rows_device, resolve_more_than_one_group)
{
    enum { LONG = TEST_EMULATOR ? 9000 : 300000, N = 3 * LONG, WIDE = N };
    open_device();
    NEEDS_GPU();
    matrices C;
    parity p;
    parity_open(&p, 1);
    uint64_t *row = test_allocate(N, sizeof *row), *col = test_allocate(N, sizeof *col);
    for (uint64_t i = 0; i < N; i++) row[i] = i < N / 2 ? 70 : 9 + i % 40, col[i] = i * 7 % WIDE;
    int32_t *value = parity_numbers(&p, DCSR_INT32, N);
    for (int c = 0; c < PLACES; c++) {
        C.in[c] = test_matrix(p.in[c], DCSR_INT32, ROWS, WIDE, DCSR_POLICY_SUM);
        TEST_OK(dcsr_matrix_insert(C.in[c], N, row, col, value, NULL));
        TEST_OK(dcsr_matrix_wait(C.in[c]));
        TEST_OK(dcsr_matrix_insert(C.in[c], N, row, col, value, NULL));
        TEST_OK(dcsr_matrix_remove(C.in[c], N / 3, row, col, NULL));
        TEST_OK(dcsr_matrix_wait(C.in[c]));
        const uint64_t rows[] = {70, 20, 300, 31, 9, 10, 11, 12}, cols[] = {7, 21, 22};
        TEST_OK(dcsr_matrix_assign_scalar(C.in[c], NULL, NULL, &(double){4}, DCSR_FP64,
                                          &(dcsr_index_list){rows, 8}, &(dcsr_index_list){cols, 3}, NULL));
    }
    assert_same(&(problem){.C = C}, "long rows");
    for (int c = 0; c < PLACES; c++) dcsr_matrix_destroy(C.in[c]);
    free(row), free(col), free(value);
    parity_close(&p);
    close_device();
}

/* ---- What it costs ---- */

/* C of so many entries in each row, and a matrix with entries in two rows. */
static void open_large(matrices *C, matrices *T, uint64_t rows, uint64_t of_row)
{
    const uint64_t n = rows * of_row, cols = 3 * of_row;
    uint64_t *row = test_allocate(n, sizeof *row), *col = test_allocate(n, sizeof *col);
    double *value = test_allocate(n, sizeof *value);
    for (uint64_t k = 0; k < n; k++) row[k] = k / of_row, col[k] = k % of_row * 3, value[k] = (double)(k % 7);
    C->in[THERE] = test_matrix(context, DCSR_FP64, rows, cols, DCSR_POLICY_LAST);
    T->in[THERE] = test_matrix(context, DCSR_FP64, rows, cols, DCSR_POLICY_LAST);
    TEST_OK(dcsr_matrix_insert(C->in[THERE], n, row, col, value, NULL));
    TEST_OK(dcsr_matrix_wait(C->in[THERE]));
    row[0] = 70, row[1] = row[2] = rows - 9;
    col[0] = col[2] = 3, col[1] = 1;
    TEST_OK(dcsr_matrix_insert(T->in[THERE], 3, row, col, value, NULL));
    TEST_OK(dcsr_matrix_wait(T->in[THERE]));
    free(row), free(col), free(value);
}

/* C += T takes the memory and the kernels that the rows of T need, less than a third of what C takes; how many entries
 * the others have does not matter. */
Test(write_rows_device, cost_nothing_for_rows_that_stay)
{
    enum { WIDTH = TEST_EMULATOR ? 1500 : 3000 };
    uint64_t launches[2] = {0, 0};
    for (int large = 0; large < 2; large++) {
        matrices C, T;
        open_device();
        NEEDS_GPU();
        open_large(&C, &T, 4 * PAGE, large ? WIDTH : WIDTH / 10);
        dcsr_view *view = test_view(T.in[THERE], DCSR_LAYOUT_SEGMENTS, 0);
        const uint64_t entries = test_info(C.in[THERE]).stored, limit = context->memory_limit;
        if (large) context->memory_limit = atomic_load(&context->total) + 4 * entries;
#ifdef DCSR_SIMT
        launches[large] = simt_launches();
#endif
        TEST_OK(dcsr_matrix_apply(C.in[THERE], NULL, dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64),
                                  dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64), view, NULL));
#ifdef DCSR_SIMT
        launches[large] = simt_launches() - launches[large];
#endif
        context->memory_limit = limit;
        cr_assert_eq(test_info(C.in[THERE]).stored, entries + 1);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(C.in[THERE]), dcsr_matrix_destroy(T.in[THERE]);
        close_device();
    }
    cr_assert_eq(launches[0], launches[1]);
}

/* ---- Memory ---- */

/* Whatever memory is refused, C is as it was, and so is the number of its versions. */
static void run_short(void (*fail_after)(long), const struct operation *o, dcsr_policy policy, uint64_t seed)
{
    parity p;
    parity_open(&p, seed);
    problem x = draw(&p, policy, policy == DCSR_POLICY_SUM);
    draw_call(&p, &x);
    dcsr_matrix *C = x.C.in[THERE];
    dcsr_view *before = test_view(C, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (int n = 0; status != DCSR_OK; n += TEST_VARIANT(1, 3, 3)) {
        uint64_t version = test_info(C).version;
        fail_after(n);
        status = o->call(&x, THERE);
        fail_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s: %s", o->name,
                  dcsr_thread_error());
        if (status == DCSR_OK) break;
        cr_assert_eq(test_info(C).version, version, "%s, allocation %d", o->name, n);
        dcsr_view *after = test_view(C, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        cr_assert(parity_same_entries(before, after), "%s, allocation %d", o->name, n);
        dcsr_view_destroy(after);
        free(find_rows_there(C));
    }
    TEST_OK(o->call(&x, HERE));
    assert_same(&x, o->name);
    free(find_rows_there(C));
    dcsr_view_destroy(before);
    free_problem(&x);
    parity_close(&p);
}

Test(write_rows_device, survive_lack_of_memory, .timeout = 300)
{
    open_device();
    NEEDS_GPU();
    for (const struct operation *o = operations; o->name; o++)
        for (uint64_t seed = 1; seed < (TEST_EMULATOR ? 2 : 5); seed++) {
            run_short(dcsr_i_fail_allocations_after, o,
                      (o - operations + (int)seed) % 2 ? DCSR_POLICY_KEEP : DCSR_POLICY_SUM, seed);
#ifdef DCSR_SIMT
            if (seed == 1) run_short(simt_fail_allocations_after, o, DCSR_POLICY_SUM, 7);
#endif
        }
    close_device();
}
