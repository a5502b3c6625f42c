/* test_twin_failure.c: matrices that maintain their transpose, where memory runs out: the change succeeds or
 * fails on its own merits, and costs the transpose at most, which comes back. */
#include "tests/support/support_transposed.h"

#include "dcsr/base/alloc.h"
#include <dcsr/assign.h>

static dcsr_matrix *twin_matrix(dcsr_context *context, dcsr_defragmentation mode)
{
    dcsr_matrix *matrix = NULL;
    dcsr_matrix_options options = {
        .policy = DCSR_POLICY_SUM, .defragmentation = mode, .maintain_transpose = true};
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, 100, 100, &options));
    return matrix;
}

static const uint64_t places[2][6] = {{0, 5, 5, 70, 99, 2}, {1, 64, 3, 3, 90, 2}};
static const double numbers[] = {1, 2, 3, 4, 5, 6};

typedef struct attempt {
    const char *name;
    dcsr_status (*change)(dcsr_matrix *matrix, dcsr_ticket **ticket);
    void (*expect)(oracle *model);
} attempt;

static dcsr_status insertion(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_matrix_insert(matrix, 6, places[0], places[1], numbers, ticket);
}
static void inserted(oracle *model)
{
    oracle_insert(model, 6, places[0], places[1], numbers);
}
static dcsr_status removal(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_matrix_remove(matrix, 2, places[0] + 1, places[1] + 1, ticket);
}
static void removed(oracle *model)
{
    oracle_remove(model, 2, places[0] + 1, places[1] + 1);
}
static dcsr_status shrinking(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_matrix_resize(matrix, 66, 65, ticket);
}
static void shrunk(oracle *model)
{
    oracle_resize(model, 66, 65);
}
static dcsr_status defragmentation(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, ticket);
}
static void defragmented(oracle *model)
{
    (void)model;
}

static const uint64_t assigned[2][4] = {{5, 5, 99, 99}, {3, 40, 3, 40}};
static dcsr_status assignment(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    double three = 3;
    (void)ticket;
    return dcsr_matrix_assign_scalar(matrix, NULL, NULL, &three, DCSR_FP64,
                                     &(dcsr_index_list){assigned[0] + 1, 2},
                                     &(dcsr_index_list){assigned[1], 2}, NULL);
}
static void is_assigned(oracle *model)
{
    oracle_remove(model, 4, assigned[0], assigned[1]);
    oracle_insert(model, 4, assigned[0], assigned[1], (const double[]){3, 3, 3, 3});
}

static const attempt attempts[] = {{"insert", insertion, inserted},
                                   {"remove", removal, removed},
                                   {"resize", shrinking, shrunk},
                                   {"defragment", defragmentation, defragmented},
                                   {"assign", assignment, is_assigned}};

/* One change while every allocation from the n-th on fails. Returns whether it was too late to fail. */
static bool try_without_memory(dcsr_context *context, const attempt *a, dcsr_defragmentation mode, long n,
                               int *lost)
{
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, 100, 100);
    dcsr_matrix *matrix = twin_matrix(context, mode);
    for (int i = 0; i < 2; i++) {
        TEST_OK(insertion(matrix, NULL));
        inserted(&model);
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    dcsr_view *held = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    oracle old;
    oracle_copy(&old, &model);
    dcsr_ticket *ticket = NULL;
    uint64_t begin = dcsr_i_allocations();
    dcsr_i_fail_allocations_after(n);
    dcsr_status status = a->change(matrix, &ticket);
    if (status == DCSR_OK && ticket) status = dcsr_ticket_wait(ticket);
    dcsr_i_fail_allocations_after(-1);
    bool enough = dcsr_i_allocations() - begin <= (uint64_t)n;
    dcsr_ticket_destroy(ticket);
    cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s, %ld: %s", a->name, n,
              dcsr_thread_error());
    if (status == DCSR_OK) a->expect(&model);
    TEST_TRANSPOSE_MATCHES(held, &old, DCSR_VIEW_SORTED);
    bool twin = test_has_twin(matrix);
    *lost += status == DCSR_OK && !twin;
    cr_assert(twin || status == DCSR_OK, "a change that fails leaves the twin as it was");
    TEST_TRANSPOSES(matrix, &model);
    if (!twin) { /* it is back */
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert(test_has_twin(matrix));
        TEST_TRANSPOSES(matrix, &model);
    }
    TEST_OK(removal(matrix, NULL));
    removed(&model);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_TRANSPOSES(matrix, &model);
    TEST_MATCHES(matrix, &model);
    dcsr_view_destroy(held);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&old);
    oracle_destroy(&model);
    return enough;
}

/* Of every allocation of each change; on the emulator, of every third. */
static void try_each(dcsr_defragmentation mode)
{
    dcsr_context *context = test_context(1);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        int lost = 0;
        long n = 0, step = test_on_emulator() ? 3 : 1;
        while (!try_without_memory(context, &attempts[i], mode, n, &lost)) n += step;
        cr_assert(n > 4, "%s: only %ld allocations", attempts[i].name, n);
        /* Defragmentation changes nothing that the twin would have to follow. */
        cr_assert((lost > 0) == (attempts[i].change != defragmentation), "%s: %d", attempts[i].name, lost);
    }
    test_close(context);
}

Test(twin_failure, is_given_up_rather_than_the_change)
{
    try_each(DCSR_DEFRAGMENT_OFF);
}

/* The view from before then resolves a twin that is its alone. */
Test(twin_failure, that_is_given_up_is_resolved_for_its_views)
{
    try_each(DCSR_DEFRAGMENT_AUTO);
}
