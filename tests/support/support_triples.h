/* support_triples.h: for suites of products on a device: matrices of entries that a test lists one by one. */
#ifndef DCSR_TESTS_SUPPORT_TRIPLES_H
#define DCSR_TESTS_SUPPORT_TRIPLES_H

#include "tests/support/support_parity.h"

typedef struct triples {
    uint64_t rows, cols, n, capacity;
    uint64_t *row, *col;
    double *value;
} triples;

static inline void test_add(triples *t, uint64_t row, uint64_t col, double value)
{
    if (t->n == t->capacity) {
        t->capacity = t->capacity * 2 + 64;
        t->row = realloc(t->row, t->capacity * sizeof *t->row);
        t->col = realloc(t->col, t->capacity * sizeof *t->col);
        t->value = realloc(t->value, t->capacity * sizeof *t->value);
        cr_assert(t->row && t->col && t->value);
    }
    t->row[t->n] = row, t->col[t->n] = col, t->value[t->n++] = value;
}

/* In both contexts; in several pieces where it is inserted in batches. */
static inline matrices parity_make(parity *p, triples *t, dcsr_type type, int batches)
{
    matrices m;
    char *values = test_allocate(t->n + 1, 8);
    size_t size = dcsr_type_size(type);
    for (uint64_t k = 0; k < t->n && size; k++) test_encode(type, t->value[k], values + k * size);
    for (int c = 0; c < PLACES; c++) {
        m.in[c] = test_matrix(p->in[c], type, t->rows, t->cols, DCSR_POLICY_LAST);
        for (int b = 0; b < batches; b++) {
            uint64_t begin = t->n * (uint64_t)b / (uint64_t)batches,
                     end = t->n * ((uint64_t)b + 1) / (uint64_t)batches;
            TEST_OK(dcsr_matrix_insert(m.in[c], end - begin, t->row + begin, t->col + begin,
                                       size ? values + begin * size : NULL, NULL));
            TEST_OK(dcsr_matrix_wait(m.in[c]));
        }
        m.view[c] = test_view(m.in[c], DCSR_LAYOUT_SEGMENTS, 0);
    }
    free(values), free(t->row), free(t->col), free(t->value);
    *t = (triples){0};
    return m;
}

#endif
