/* support_durable.c: random sequences of changes, for tests of durable matrices. */
#include "tests/support/support_durable.h"
#include "tests/support/support_store.h"

/* ---- Plans ---- */

plan plan_new(uint64_t seed, dcsr_type type, bool resizes)
{
    return (plan){
        .random = {seed}, .type = type, .rows = PLAN_SIDE / 2, .cols = PLAN_SIDE / 2, .resizes = resizes};
}

change plan_next(plan *p)
{
    change c = {.kind = CHANGE_INSERT};
    if (p->resizes && test_random_once_in(&p->random, 12)) {
        c.kind = CHANGE_RESIZE;
        c.rows = p->rows = 1 + test_random_below(&p->random, PLAN_SIDE);
        c.cols = p->cols = 1 + test_random_below(&p->random, PLAN_SIDE);
        return c;
    }
    if (test_random_once_in(&p->random, 5)) c.kind = CHANGE_REMOVE;
    c.n = test_random_below(&p->random, PLAN_MOST);
    for (size_t i = 0; i < c.n; i++) {
        c.row[i] = test_random_below(&p->random, p->rows);
        c.col[i] = test_random_below(&p->random, p->cols);
        if (p->type != DCSR_PATTERN)
            test_encode(p->type, (double)test_random_below(&p->random, p->type == DCSR_BOOL ? 2 : 5),
                        (char *)c.value + i * dcsr_type_size(p->type));
    }
    return c;
}

void plan_oracle(const plan *p, oracle *model, dcsr_policy policy)
{
    oracle_create(model, p->type, policy, p->rows, p->cols);
}

void change_oracle(const change *c, oracle *model)
{
    if (c->kind == CHANGE_RESIZE)
        oracle_resize(model, c->rows, c->cols);
    else if (c->kind == CHANGE_REMOVE)
        oracle_remove(model, c->n, c->row, c->col);
    else
        oracle_insert(model, c->n, c->row, c->col, model->type == DCSR_PATTERN ? NULL : c->value);
}

dcsr_status change_matrix(const change *c, dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    if (c->kind == CHANGE_RESIZE) return dcsr_matrix_resize(matrix, c->rows, c->cols, ticket);
    if (c->kind == CHANGE_REMOVE) return dcsr_matrix_remove(matrix, c->n, c->row, c->col, ticket);
    bool values = test_info(matrix).type != DCSR_PATTERN;
    return dcsr_matrix_insert(matrix, c->n, c->row, c->col, values ? c->value : NULL, ticket);
}

dcsr_matrix *plan_open(const plan *p, dcsr_context *context, dcsr_store *store, const char *name,
                       dcsr_policy policy, dcsr_recovery *report)
{
    dcsr_matrix_options options = {.policy = policy};
    dcsr_matrix *matrix;
    TEST_OK(dcsr_store_open_matrix(
        &matrix, context, store, name,
        &(dcsr_durable_options){.type = p->type, .rows = p->rows, .cols = p->cols, .matrix = options},
        report));
    return matrix;
}

void plan_run(plan *p, int changes, dcsr_matrix *matrix, oracle *model)
{
    for (int i = 0; i < changes; i++) {
        change c = plan_next(p);
        change_oracle(&c, model);
        TEST_OK(change_matrix(&c, matrix, NULL));
    }
    TEST_OK(dcsr_matrix_wait(matrix));
}

/* ---- Places ---- */

durable_place durable_open_place(void)
{
    durable_place p = {.path = store_new_folder(), .context = test_context(2)};
    TEST_OK(dcsr_store_open(&p.store, p.path, NULL));
    return p;
}

void durable_reopen(durable_place *p)
{
    dcsr_store_close(p->store);
    TEST_OK(dcsr_store_open(&p->store, p->path, NULL));
}

void durable_close_place(durable_place *p)
{
    dcsr_store_close(p->store);
    store_remove_folder(p->path);
    test_close(p->context);
}

dcsr_matrix *durable_open_small(const durable_place *p, const char *name, dcsr_recovery *report)
{
    dcsr_matrix_options options = {.policy = DCSR_POLICY_SUM};
    dcsr_matrix *matrix;
    TEST_OK(dcsr_store_open_matrix(
        &matrix, p->context, p->store, name,
        &(dcsr_durable_options){.type = DCSR_FP64, .rows = 10, .cols = 10, .matrix = options}, report));
    return matrix;
}
