/* support_followers.h: what followers are tested with: histories of changes to a matrix and its oracle, and what each
 * kind of follower has to tell of it, by the textbook's methods. */
#ifndef DCSR_TESTS_SUPPORT_FOLLOWERS_H
#define DCSR_TESTS_SUPPORT_FOLLOWERS_H

#include <dcsr/follow.h>
#include "tests/support/support.h"

/* The graph that an oracle holds: weights[u * n + v], NaN where there is no edge. */
typedef struct picture {
    uint64_t n;
    double *weight;
    bool *link; /* an edge one way or both, no loops */
} picture;

picture picture_of(const oracle *m);
void free_picture(picture *p);

typedef struct follower_kind {
    const char *name;
    dcsr_status (*follow)(dcsr_follower **follower, dcsr_view *view);
    dcsr_status (*ask)(dcsr_follower *f); /* its getter */
    /* Asserts that it tells what is true of the picture. */
    void (*expect)(dcsr_follower *f, const picture *p);
    bool weighted; /* not of a matrix that keeps several weights */
} follower_kind;

enum { KINDS = 7 };
extern const follower_kind kinds[KINDS];

typedef struct history {
    test_random random;
    dcsr_context *context;
    dcsr_matrix *matrix;
    oracle model;
    double least, unit; /* values are least + a small number of units */
} history;

void history_begin(history *h, uint64_t seed, dcsr_type type, dcsr_policy policy, uint64_t n);
void history_end(history *h);
/* Inserts or removes up to 64 entries, near the diagonal or anywhere. */
void history_change(history *h, bool insert, uint64_t edges);
/* Removes some of the edges that are there. */
void history_remove(history *h, uint64_t most);
void history_resize(history *h, uint64_t n);

#endif
