/* support_transposed.h: comparing the transpose that a view gives with an oracle of the matrix. */
#ifndef DCSR_TESTS_SUPPORT_TRANSPOSED_H
#define DCSR_TESTS_SUPPORT_TRANSPOSED_H

#include "dcsr/store/rowtable.h"
#include "tests/support/support.h"

/* Whether the transpose of the view, made with `flags`, has exactly the entries of the oracle with rows and
 * columns exchanged: as operations walk it, on a device as those there do too, and for CSC views as arrays.
 * Every column is looked at, so
 * there should not be too many. May be called from any thread. */
bool test_transpose_matches(dcsr_view *view, const oracle *model, unsigned flags, char why[TEST_WHY]);
#define TEST_TRANSPOSE_MATCHES(view, model, flags)                                         \
    do {                                                                                   \
        char test_why_[TEST_WHY];                                                          \
        cr_assert(test_transpose_matches(view, model, flags, test_why_), "%s", test_why_); \
    } while (0)

/* Whether the transpose is there, where the matrix is, for those who have not asked for it yet. */
bool test_transpose_is_ready(dcsr_view *view);
/* Whether the matrix has a twin: its views then show that, else one that is made for them, which is asserted.
 * Asking has it built where the matrix is to maintain it. */
bool test_has_twin(dcsr_matrix *matrix);

/* The same for views of the matrix as it is, with all layouts and flags. */
bool test_matrix_transposes(dcsr_matrix *matrix, const oracle *model, char why[TEST_WHY]);
#define TEST_TRANSPOSES(matrix, model)                                                \
    do {                                                                              \
        char test_why_[TEST_WHY];                                                     \
        cr_assert(test_matrix_transposes(matrix, model, test_why_), "%s", test_why_); \
    } while (0)

#endif
