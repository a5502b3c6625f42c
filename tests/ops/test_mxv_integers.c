/* test_mxv_integers.c: sums of integers of all bits, which wrap around, in rows of every length: the loops
 * that a compiler vectorises, against additions one by one. */
#include <dcsr/convert.h>
#include <dcsr/mxv.h>
#include "ops/algebra/operator.h"
#include <dcsr/spmm.h>
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

/* Row i has entries in its first i columns. */
enum { N = 300, WIDTH = 37 };

typedef struct subject {
    dcsr_type type;
    size_t size;
    dcsr_context *context;
    dcsr_matrix *matrix;
    uint64_t offsets[N + 1];
    uint32_t *columns;
    char *values, *x, *y; /* of the entries; N x WIDTH numbers each, of which a vector takes the first N */
} subject;

static uint64_t number(const subject *s, const char *array, uint64_t k)
{
    uint64_t bits = 0;
    memcpy(&bits, array + k * s->size, s->size);
    return bits;
}

static void set_up(subject *s, dcsr_type type, dcsr_context *context)
{
    *s = (subject){.type = type, .size = dcsr_type_size(type), .context = context};
    test_random random = {7};
    for (uint64_t i = 0; i < N; i++) s->offsets[i + 1] = s->offsets[i] + i;
    uint64_t entries = s->offsets[N];
    s->columns = test_allocate(entries, sizeof *s->columns);
    s->values = test_allocate(entries, s->size);
    s->x = test_allocate(N * WIDTH, s->size);
    s->y = test_allocate(N * WIDTH, s->size);
    for (uint64_t i = 0; i < N; i++)
        for (uint64_t j = 0; j < i; j++) s->columns[s->offsets[i] + j] = (uint32_t)j;
    for (uint64_t b = 0; b < entries * s->size; b++) s->values[b] = (char)test_random_next(&random);
    for (uint64_t b = 0; b < N * WIDTH * s->size; b++) s->x[b] = (char)test_random_next(&random);
    const dcsr_csr csr = {N, N, entries, type, s->offsets, s->columns, s->values};
    TEST_OK(dcsr_matrix_from_csr(&s->matrix, context, &csr, NULL));
}

static void tear_down(subject *s)
{
    dcsr_matrix_destroy(s->matrix);
    free(s->columns);
    free(s->values);
    free(s->x);
    free(s->y);
}

/* Asserts that row i of y is row i of A X by the semiring's operators; X and y are N x width. */
static void check_row(const subject *s, dcsr_semiring_name name, uint64_t width, uint64_t i, const char *what)
{
    uint64_t mask = s->size == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * s->size) - 1;
    for (uint64_t c = 0; c < width; c++) {
        uint64_t sum = 0;
        for (uint64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) {
            uint64_t a = number(s, s->values, k), x = number(s, s->x, s->columns[k] * width + c);
            sum += name == DCSR_PLUS_FIRST ? a : name == DCSR_PLUS_SECOND ? x : a * x;
        }
        cr_assert(number(s, s->y, i * width + c) == (sum & mask), "%s: row %d, column %d, %s", what, (int)i,
                  (int)c, dcsr_type_name(s->type));
    }
}

/* w = A u, and w<every other row> = A u, either way. */
static void check_vectors(subject *s, dcsr_semiring_name name, dcsr_view *view)
{
    const dcsr_semiring *semiring = dcsr_semiring_of(name, s->type);
    dcsr_vector *u, *w, *odd;
    TEST_OK(dcsr_vector_create(&u, s->context, s->type, N));
    TEST_OK(dcsr_vector_create(&w, s->context, s->type, N));
    TEST_OK(dcsr_vector_create(&odd, s->context, DCSR_BOOL, N));
    for (uint64_t i = 0; i < N; i++) {
        const bool yes = true;
        TEST_OK(dcsr_vector_set(u, i, s->x + i * s->size));
        if (i % 2) TEST_OK(dcsr_vector_set(odd, i, &yes));
    }
    for (dcsr_direction way = DCSR_DIRECTION_PUSH; way <= DCSR_DIRECTION_PULL; way++) {
        for (int masked = 0; masked < 2; masked++) {
            const dcsr_desc desc = {.direction = way, .replace = true};
            TEST_OK(dcsr_mxv(w, masked ? odd : NULL, NULL, semiring, view, u, &desc));
            for (uint64_t i = 0; i < N; i++) {
                bool stored;
                TEST_OK(dcsr_vector_get(w, i, s->y + i * s->size, &stored));
                cr_assert(stored == (i && (!masked || i % 2)));
                if (stored) check_row(s, name, 1, i, way == DCSR_DIRECTION_PUSH ? "push" : "pull");
            }
        }
    }
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(w);
    dcsr_vector_destroy(odd);
}

static void check_type(dcsr_type type, dcsr_context *context)
{
    static const dcsr_semiring_name names[] = {DCSR_PLUS_TIMES, DCSR_PLUS_FIRST, DCSR_PLUS_SECOND};
    subject s;
    set_up(&s, type, context);
    dcsr_view *view = test_view(s.matrix, DCSR_LAYOUT_SEGMENTS, 0);
    for (int k = 0; k < 3; k++) {
        const dcsr_semiring *semiring = dcsr_semiring_of(names[k], type);
        check_vectors(&s, names[k], view);
        TEST_OK(dcsr_spmm(s.y, NULL, NULL, semiring, view, s.x, WIDTH, NULL));
        for (uint64_t i = 1; i < N; i++) check_row(&s, names[k], WIDTH, i, "spmm");
    }
    dcsr_view_destroy(view);
    tear_down(&s);
}

Test(mxv_integers, sums_wrap_around_in_rows_of_every_length)
{
    dcsr_context *context = test_context(1);
    for (dcsr_type type = DCSR_INT8; type <= DCSR_UINT64; type += test_on_emulator() ? 3 : 1)
        check_type(type, context);
    test_close(context);
}
