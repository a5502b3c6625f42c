/* algebra.h: the oracle of the operations, and random problems to hold them against it.
 *
 * The oracle is what the mathematics says, on arrays that have a cell for every place:
 *
 *      grid       rows x cols cells, each there or not, with a value; a vector is a grid of one column
 *      define_    T, what an operation computes: loops over all cells (algebra_define.c)
 *      grid_write w<mask> = accum(w, T), as dcsr/desc.h has it, once for all operations (algebra_grid.c)
 *
 * A problem is one call of one operation with all it takes, drawn from a seed: shapes, types, operators,
 * masks, states of matrices, forms of vectors, aliases (algebra_draw.c, algebra_operators.c). Each operation
 * is a row of a table that says how a problem of its kind is drawn, how the library is called, and what comes
 * out by definition (algebra_vectors.c, algebra_products.c, algebra_matrices.c, algebra_move.c). Everything
 * else is shared: the comparison with the oracle, memory that runs out, callbacks that fail, arguments that
 * make no sense (algebra_run.c).
 *
 * Values are small integers and halves, so that sums of floating-point numbers are the same in any order; in
 * some problems NaN and infinities are among them. Where the semiring may take `any` value, all values are
 * the same one. */
#ifndef DCSR_TESTS_ALGEBRA_H
#define DCSR_TESTS_ALGEBRA_H

#include <dcsr/desc.h>
#include "ops/algebra/operator.h"
#include "tests/support/support.h"

typedef struct grid {
    dcsr_type type;
    uint64_t rows, cols;
    bool *present;
    dcsr_i_scalar *value;
} grid;

static inline size_t grid_at(const grid *g, uint64_t row, uint64_t col)
{
    return (size_t)(row * g->cols + col);
}

grid grid_create(dcsr_type type, uint64_t rows, uint64_t cols);
grid grid_copy(const grid *g);
void grid_free(grid *g);
/* The value of a cell as one of another type; a cell of DCSR_PATTERN is 1. */
dcsr_i_scalar grid_as(const grid *g, size_t cell, dcsr_type type);
void grid_set(grid *g, size_t cell, dcsr_i_scalar value);
dcsr_i_scalar grid_cast(dcsr_type to, dcsr_type from, dcsr_i_scalar value);
grid grid_transposed(const grid *g);
/* out<mask> = accum(out, T). mask, accum and desc may be NULL. */
void grid_write(grid *out, const grid *mask, const dcsr_binary_op *accum, const dcsr_desc *desc,
                const grid *T);
/* Whether the same cells are there with the same values; if not `why` names the first that differs. */
bool grid_equal(const grid *got, const grid *expected, char why[TEST_WHY]);
/* What an object of the library holds. False, with the reason, when what it says of itself does not agree. */
bool grid_of_vector(grid *g, const dcsr_vector *vector, char why[TEST_WHY]);
bool grid_of_matrix(grid *g, dcsr_matrix *matrix, char why[TEST_WHY]);
bool grid_of_view(grid *g, dcsr_view *view, dcsr_policy policy, char why[TEST_WHY]);

/* Definitions of T. */
grid define_product(const dcsr_semiring *semiring, const grid *A, const grid *B);
grid define_ewise(const dcsr_binary_op *op, const grid *A, const grid *B, bool add);
grid define_apply(const dcsr_unary_op *op, const grid *A);
grid define_apply_first(const dcsr_binary_op *op, const void *x, const grid *A);
grid define_apply_second(const dcsr_binary_op *op, const grid *A, const void *y);
grid define_apply_index(const dcsr_index_op *op, const grid *A, const void *thunk);
grid define_select(const dcsr_index_op *op, const grid *A, const void *thunk);
/* The sum of each row; and of all cells, the identity where there are none. */
grid define_reduce_rows(const dcsr_monoid *monoid, const grid *A);
dcsr_i_scalar define_reduce(const dcsr_monoid *monoid, const grid *A);
grid define_kronecker(const dcsr_binary_op *op, const grid *A, const grid *B);

/* Places of rows or columns; NULL stands for 0, 1, ..., n - 1. */
typedef struct places {
    uint64_t *index;
    uint64_t n;
} places;
static inline uint64_t place_of(const places *p, uint64_t k)
{
    return p->index ? p->index[k] : k;
}
grid define_extract(const grid *A, const places *rows, const places *cols);
/* C with A, or accum(C, A), at the places: what is then written through the mask. */
grid define_assign(const grid *C, const dcsr_binary_op *accum, const grid *A, const places *rows,
                   const places *cols);

/* An object of the library and what it holds. */
typedef struct subject {
    grid holds; /* of a matrix that is an input: what its view shows */
    dcsr_vector *vector;
    dcsr_matrix *matrix;
    dcsr_view *view;
    bool borrowed; /* vector and matrix belong to another subject */
} subject;

typedef enum output_kind {
    OUTPUT_VECTOR,
    OUTPUT_MATRIX,
    OUTPUT_ARRAY /* values of which all are there: a total, a dense matrix */
} output_kind;

typedef struct algebra_operation algebra_operation;

enum { MOST_OPERATORS = 8, MOST_INPUTS = 3 };

typedef struct problem {
    const algebra_operation *operation;
    uint64_t seed;
    test_random random;
    dcsr_context *context;
    bool large;         /* enough work for several threads */
    dcsr_type type;     /* of all values; DCSR_TYPE_COUNT: each object has its own */
    bool constant;      /* all values are the same */
    bool odd;           /* `type` is a floating-point one, and NaN and infinities are among the values */
    bool users;         /* every operator has a function of the test's */
    bool product;       /* entries of matrices are multiplied, and the products added */
    bool distributes;   /* times distributes over plus */
    int inputs, misfit; /* inputs drawn so far; the one that is given a wrong shape, or -1 */
    bool misfits;       /* it was */

    subject out, mask, a, b;
    dcsr_vector *w; /* arguments of the call, so that a test can put others in */
    dcsr_matrix *C;
    const dcsr_vector *u, *v, *mask_vector;
    dcsr_view *A, *B, *mask_view;
    void *array;     /* an output that is one */
    const void *X;   /* the dense matrix of spmm() */
    bool whole_mask; /* the mask is as large as the output; else `mask_rows` long */
    uint64_t mask_rows;

    dcsr_desc desc;
    dcsr_report report;
    const dcsr_binary_op *accum;
    const dcsr_unary_op *unary;
    const dcsr_binary_op *binary;
    const dcsr_index_op *index_op;
    const dcsr_monoid *monoid;
    const dcsr_semiring *semiring;
    dcsr_i_scalar scalar;
    dcsr_type scalar_type;
    places rows, cols;
    uint64_t index, columns;
    bool line; /* `index` names a row or column */

    struct users_operator *made[MOST_OPERATORS];
    int made_count;
    atomic_long calls_left; /* of users' functions, until one fails; negative: none does */
} problem;

struct algebra_operation {
    const char *name;
    output_kind output;
    unsigned takes; /* TAKES_ of what `draw` does not draw */
    void (*draw)(problem *p);
    dcsr_status (*call)(problem *p);
    /* T; or where `writes` is set, what the output becomes, masks and all. */
    grid (*define)(problem *p);
    bool writes;
};
enum { TAKES_MASK = 1, TAKES_ACCUM = 2, TAKES_TRANSPOSE_A = 4, TAKES_TRANSPOSE_B = 8, TAKES_DIRECTION = 16 };

/* Ends with a row without a name. */
extern const algebra_operation vector_operations[], product_operations[], matrix_operations[],
    place_operations[];

/* Drawing (algebra_draw.c). */
bool draw_once_in(problem *p, uint64_t n);
uint64_t draw_below(problem *p, uint64_t n);
/* The number of rows or columns of a matrix, and the length of a vector that meets none. */
uint64_t draw_size(problem *p);
uint64_t draw_length(problem *p);
dcsr_type draw_type(problem *p);
dcsr_i_scalar draw_value(problem *p, dcsr_type type);
void draw_output_vector(problem *p, uint64_t size);
void draw_output_matrix(problem *p, uint64_t rows, uint64_t cols);
void draw_output_array(problem *p, dcsr_type type, uint64_t rows, uint64_t cols);
void draw_input_vector(problem *p, subject *s, uint64_t size);
/* Of a matrix that the operation takes transposed, rows and cols are those after that. */
void draw_input_matrix(problem *p, subject *s, uint64_t rows, uint64_t cols, bool transposed);
void draw_mask(problem *p);
/* n places below `bound`, each once where `distinct`; or all of them. */
void draw_places(problem *p, places *to, uint64_t bound, bool distinct);
void subject_free(problem *p, subject *s);
/* The input as the operation takes it, to be freed. */
grid input_a(const problem *p);
grid input_b(const problem *p);

/* Operators (algebra_operators.c): built in, or the test's own functions around those. */
const dcsr_unary_op *draw_unary(problem *p);
const dcsr_binary_op *draw_binary(problem *p);
const dcsr_index_op *draw_index_op(problem *p);
const dcsr_monoid *draw_monoid(problem *p);
const dcsr_semiring *draw_semiring(problem *p);
void operators_free(problem *p);

/* Running (algebra_run.c). */

/* Each operation of the table on random problems, one a seed and operation. */
void algebra_test_random(const algebra_operation *operations, uint64_t rounds);
/* Memory that runs out at each allocation in turn, users' functions that fail at each call. */
void algebra_test_failures(const algebra_operation *operations, uint64_t rounds);
/* NULL, wrong shapes, several contexts, contexts that are gone. */
void algebra_test_arguments(const algebra_operation *operations, uint64_t rounds);

#endif
