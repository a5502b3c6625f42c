/* support_durable.h: what the tests of durable matrices share: a random sequence of changes, given to a
 * matrix and to an oracle. */
#ifndef DCSR_TESTS_SUPPORT_DURABLE_H
#define DCSR_TESTS_SUPPORT_DURABLE_H

#include <dcsr/persist.h>
#include "tests/support/support.h"

enum { PLAN_MOST = 40, PLAN_SIDE = 50 };

/* The same sequence for the same seed. Dimensions stay between 1 and PLAN_SIDE. */
typedef struct plan {
    test_random random;
    dcsr_type type;
    uint64_t rows, cols; /* after the changes so far */
    bool resizes;
} plan;

typedef enum change_kind { CHANGE_INSERT, CHANGE_REMOVE, CHANGE_RESIZE } change_kind;
typedef struct change {
    change_kind kind;
    size_t n;
    uint64_t row[PLAN_MOST], col[PLAN_MOST], value[PLAN_MOST];
    uint64_t rows, cols;
} change;

plan plan_new(uint64_t seed, dcsr_type type, bool resizes);
/* The next change: mostly insertions, some deletions, now and then other dimensions. */
change plan_next(plan *p);

/* The oracle that the plan begins with; the same change for it, and for the matrix. */
void plan_oracle(const plan *p, oracle *model, dcsr_policy policy);
void change_oracle(const change *c, oracle *model);
dcsr_status change_matrix(const change *c, dcsr_matrix *matrix, dcsr_ticket **ticket);

/* A durable matrix of the plan's type and dimensions; asserts that it can be opened. report may be NULL. */
dcsr_matrix *plan_open(const plan *p, dcsr_context *context, dcsr_store *store, const char *name,
                       dcsr_policy policy, dcsr_recovery *report);

/* Makes the changes with the matrix and with the oracle, and waits until they are safe. */
void plan_run(plan *p, int changes, dcsr_matrix *matrix, oracle *model);

/* A store in a folder of its own, and a context. All assert that it works. */
typedef struct durable_place {
    char *path;
    dcsr_store *store;
    dcsr_context *context;
} durable_place;
durable_place durable_open_place(void);
void durable_reopen(durable_place *p);
void durable_close_place(durable_place *p);
/* A durable matrix of fp64 there, 10 x 10 and with sums if it is new. report may be NULL. */
dcsr_matrix *durable_open_small(const durable_place *p, const char *name, dcsr_recovery *report);

#endif
