/* support_parity.h: for suites of operations on a device: the same matrices and vectors in two contexts, one
 * on the cpu and one on the device, so that what an operation does in either can be compared bit by bit.
 * Numbers are small and whole, so that no sum rounds. */
#ifndef DCSR_TESTS_SUPPORT_PARITY_H
#define DCSR_TESTS_SUPPORT_PARITY_H

#include "dcsr/base/alloc.h"
#include <dcsr/desc.h>
#include "tests/support/support_device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HERE, THERE, PLACES }; /* on the cpu, on the device */

typedef struct parity {
    dcsr_context *in[PLACES];
    test_random random;
    bool ones; /* all numbers are 1 */
} parity;

typedef struct matrices {
    dcsr_matrix *in[PLACES];
    dcsr_view *view[PLACES];
} matrices;

typedef struct vectors {
    dcsr_vector *in[PLACES];
} vectors;

static inline void parity_open(parity *p, uint64_t seed)
{
    *p = (parity){.in[THERE] = context, .random = {seed}};
    TEST_OK(
        dcsr_context_create(&p->in[HERE], &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
}

static inline void parity_close(parity *p)
{
    test_close(p->in[HERE]);
}

static inline void *parity_numbers(parity *p, dcsr_type type, uint64_t n)
{
    size_t size = dcsr_type_size(type);
    char *numbers = test_allocate(n + 1, 8);
    for (uint64_t i = 0; i < n && size; i++)
        test_encode(type, p->ones ? 1 : (double)test_random_below(&p->random, type == DCSR_BOOL ? 2 : 4),
                    numbers + i * size);
    return numbers;
}

/* A matrix of about n entries, of which `hubs` in 4 are in one row; in several pieces where it has grown in
 * batches. Every third row is empty. */
static inline matrices parity_matrix(parity *p, dcsr_type type, uint64_t rows, uint64_t cols, uint64_t n,
                                     uint64_t hubs, int batches, dcsr_policy policy)
{
    matrices m;
    for (int c = 0; c < PLACES; c++) m.in[c] = test_matrix(p->in[c], type, rows, cols, policy);
    for (int b = 0; b < batches && rows && cols; b++) {
        uint64_t k = n / (uint64_t)batches;
        uint64_t *row = test_allocate(k + 1, sizeof *row), *col = test_allocate(k + 1, sizeof *col);
        void *values = parity_numbers(p, type, k);
        for (uint64_t i = 0; i < k; i++) {
            row[i] = test_random_below(&p->random, 4) < hubs ? rows / 2 : test_random_below(&p->random, rows);
            if (row[i] % 3 == 0 && row[i] + 1 < rows) row[i]++;
            col[i] = test_random_below(&p->random, cols);
        }
        for (int c = 0; c < PLACES; c++) {
            TEST_OK(dcsr_matrix_insert(m.in[c], k, row, col, type == DCSR_PATTERN ? NULL : values, NULL));
            TEST_OK(dcsr_matrix_wait(m.in[c]));
        }
        free(row), free(col), free(values);
    }
    dcsr_layout layout = test_random_once_in(&p->random, 2) ? DCSR_LAYOUT_CSR : DCSR_LAYOUT_SEGMENTS;
    for (int c = 0; c < PLACES; c++) m.view[c] = test_view(m.in[c], layout, 0);
    return m;
}

/* Whether two CSR views show the same entries, to the bit. */
static inline bool parity_same_entries(dcsr_view *a, dcsr_view *b)
{
    dcsr_csr x, y;
    TEST_OK(dcsr_view_get_csr_on_host(a, &x));
    TEST_OK(dcsr_view_get_csr_on_host(b, &y));
    return x.nnz == y.nnz && !memcmp(x.offsets, y.offsets, (x.rows + 1) * sizeof *x.offsets) &&
           !memcmp(x.col_indices, y.col_indices, x.nnz * sizeof *x.col_indices) &&
           (!x.values || !memcmp(x.values, y.values, x.nnz * dcsr_type_size(x.type)));
}

static inline void parity_free_matrix(matrices *m)
{
    for (int c = 0; c < PLACES; c++) {
        dcsr_view_destroy(m->view[c]);
        dcsr_matrix_destroy(m->in[c]);
    }
}

/* A vector of which about `share` of 8 elements are there, in some form. */
static inline vectors parity_vector(parity *p, dcsr_type type, uint64_t size, uint64_t share)
{
    vectors v;
    uint64_t n = 0, *indices = test_allocate(size + 1, sizeof *indices);
    for (uint64_t i = 0; i < size; i++)
        if (test_random_below(&p->random, 8) < share) indices[n++] = i;
    void *values = parity_numbers(p, type, n);
    dcsr_vector_format format = (dcsr_vector_format)test_random_below(&p->random, 3);
    for (int c = 0; c < PLACES; c++) {
        TEST_OK(dcsr_vector_create(&v.in[c], p->in[c], type, size));
        TEST_OK(dcsr_vector_set_format(v.in[c], format));
        TEST_OK(dcsr_vector_build(v.in[c], n, indices, values, DCSR_POLICY_LAST));
    }
    free(indices), free(values);
    return v;
}

static inline void parity_free_vector(vectors *v)
{
    for (int c = 0; c < PLACES; c++) dcsr_vector_destroy(v->in[c]);
}

/* Whether both hold the same, to the bit. */
static inline bool parity_same(const vectors *v)
{
    dcsr_vector_info info[PLACES];
    uint64_t *indices[PLACES], n[PLACES];
    char *values[PLACES];
    bool same = true;
    for (int c = 0; c < PLACES; c++) {
        TEST_OK(dcsr_vector_get_info(v->in[c], &info[c]));
        indices[c] = test_allocate(info[c].nvals + 1, sizeof *indices[c]);
        values[c] = test_allocate(info[c].nvals + 1, 8);
        TEST_OK(dcsr_vector_get_entries(v->in[c], info[c].nvals, indices[c], values[c], &n[c]));
        same = same && n[c] == info[c].nvals;
    }
    same = same && n[HERE] == n[THERE] &&
           !memcmp(indices[HERE], indices[THERE], n[HERE] * sizeof *indices[HERE]) &&
           !memcmp(values[HERE], values[THERE], n[HERE] * dcsr_type_size(info[HERE].type));
    for (int c = 0; c < PLACES; c++) free(indices[c]), free(values[c]);
    return same;
}

/* A type of values; a semiring by number; whether its sum may be any of its terms. */
static inline dcsr_type parity_type(parity *p)
{
    return (dcsr_type)(1 + test_random_below(&p->random, DCSR_TYPE_COUNT - 1));
}
static inline bool parity_is_any(dcsr_semiring_name name)
{
    return name == DCSR_ANY_FIRST || name == DCSR_ANY_SECOND || name == DCSR_ANY_PAIR;
}

/* Semirings of built-in operators that have no name: multiply may give a bool, and its operands may not commute. */
enum { PARITY_SEMIRINGS = 10 };
typedef struct parity_parts {
    dcsr_semiring *semiring;
    dcsr_type type, sum_type;
} parity_parts;

static inline parity_parts parity_semiring_of_parts(size_t k)
{
    static const struct {
        dcsr_binary_name add, multiply;
        dcsr_type type;
        bool truth; /* the product is a bool */
    } parts[PARITY_SEMIRINGS] = {{DCSR_BINARY_LOR, DCSR_BINARY_EQ, DCSR_FP64, true},
                                 {DCSR_BINARY_LXOR, DCSR_BINARY_LT, DCSR_INT32, true},
                                 {DCSR_BINARY_LAND, DCSR_BINARY_GE, DCSR_UINT8, true},
                                 {DCSR_BINARY_LXNOR, DCSR_BINARY_NE, DCSR_FP32, true},
                                 {DCSR_BINARY_PLUS, DCSR_BINARY_MINUS, DCSR_INT32, false},
                                 {DCSR_BINARY_MIN, DCSR_BINARY_RDIV, DCSR_INT16, false},
                                 {DCSR_BINARY_MAX, DCSR_BINARY_DIV, DCSR_UINT64, false},
                                 {DCSR_BINARY_BIT_XOR, DCSR_BINARY_MINUS, DCSR_UINT32, false},
                                 {DCSR_BINARY_TIMES, DCSR_BINARY_PLUS, DCSR_INT64, false},
                                 {DCSR_BINARY_BIT_OR, DCSR_BINARY_PLUS, DCSR_INT8, false}};
    parity_parts made = {.type = parts[k].type, .sum_type = parts[k].truth ? DCSR_BOOL : parts[k].type};
    TEST_OK(dcsr_semiring_create(&made.semiring, dcsr_monoid_of(parts[k].add, made.sum_type),
                                 dcsr_binary_op_of(parts[k].multiply, made.type)));
    return made;
}

/* An operator of the user's, which no device has: a sum. */
static inline bool parity_add(void *z, const void *a, const void *b, void *user)
{
    (void)user;
    *(double *)z = *(const double *)a + *(const double *)b;
    return true;
}
static inline dcsr_binary_op *parity_user_operator(void)
{
    dcsr_binary_op *mine;
    TEST_OK(dcsr_binary_op_create(&mine, "mine", DCSR_FP64, DCSR_FP64, DCSR_FP64, parity_add, NULL));
    return mine;
}

/* Makes a call in one place, then in the other with each allocation refused in turn: until it succeeds there, w is as
 * it was, and then as in the first. */
static inline void parity_run_short(void (*fail_after)(long), dcsr_status (*call)(void *x, int c), void *x,
                                    const vectors *w)
{
    vectors kept = {{NULL, w->in[THERE]}}; /* what it was before, here, beside what it is there */
    TEST_OK(dcsr_vector_duplicate(&kept.in[HERE], w->in[HERE]));
    TEST_OK(call(x, HERE));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    int n = 0;
    for (; status != DCSR_OK; n++) {
        fail_after(n);
        status = call(x, THERE);
        fail_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        cr_assert(status == DCSR_OK || parity_same(&kept), "w changes when %d allocations succeed", n);
    }
    cr_assert(n > 3, "it takes memory in several places");
    cr_assert(parity_same(w));
    dcsr_vector_destroy(kept.in[HERE]);
}

#endif
