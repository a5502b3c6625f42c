/* test_stored_view.c: views of versions, lent from the map of a store or copied. */
#include "tests/support/support_snapshot.h"
#include <dcsr/diff.h>

/* From the map where that is possible, and always right; it lives on while the version is deleted. */
Test(stored_view, is_lent_where_that_is_possible)
{
    fixture f = begin(0);
    if (test_on_device(f.context)) {
        dcsr_view *view;
        dcsr_matrix *matrix = make_rows(f.context, 2, 2);
        snapshot(&f, "m", matrix);
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "host memory",
                     dcsr_store_open_view(&view, f.context, f.store, "m", 0));
        dcsr_matrix_destroy(matrix);
        end(&f);
        return;
    }
    for (int lent = 0; lent < 2; lent++) {
        char name[8] = {(char)('a' + lent)};
        dcsr_matrix *matrix = make_rows(f.context, lent ? 30 : 3000, 8);
        snapshot(&f, name, matrix);
        dcsr_view *view, *own = test_view(matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        TEST_OK(dcsr_store_open_view(&view, f.context, f.store, name, 0));
        cr_assert_eq(test_view_info(view).lent, true, "copies lend from a matrix of their own");
        cr_assert_eq(atomic_load(&f.store->views), (uint64_t)lent);
        TEST_OK(dcsr_matrix_resize(matrix, 1, 1, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        snapshot(&f, name, matrix);
        TEST_OK(dcsr_store_gc(f.store, name, 1, NULL));
        for (int i = 0; i < 3; i++) { /* what was freed is used again */
            TEST_INSERT(matrix, {0, 0, (double)i});
            snapshot(&f, name, matrix);
        }
        dcsr_csr x, y;
        TEST_OK(dcsr_view_get_csr(view, &x));
        TEST_OK(dcsr_view_get_csr(own, &y));
        cr_assert_eq(x.nnz, y.nnz);
        cr_assert_arr_eq(x.offsets, y.offsets, (y.rows + 1) * sizeof *y.offsets);
        cr_assert_arr_eq(x.col_indices, y.col_indices, y.nnz * sizeof *y.col_indices);
        cr_assert_arr_eq(x.values, y.values, y.nnz * sizeof(double));
        double value;
        bool stored;
        TEST_OK(dcsr_view_get_many(view, 1, &(uint64_t){7}, &(uint64_t){3}, &value, &stored));
        cr_assert(stored && value == 59);
        dcsr_view_destroy(view);
        dcsr_view_destroy(own);
        cr_assert_eq(atomic_load(&f.store->views), 0);
        dcsr_matrix_destroy(matrix);
    }
    end(&f);
}

Test(stored_view, is_of_a_matrix_of_its_own)
{
    fixture f = begin(0);
    if (test_on_device(f.context)) {
        end(&f);
        return;
    }
    dcsr_matrix *matrix = make_rows(f.context, 3, 8);
    dcsr_view *view[2], *own = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_diff *diff;
    dcsr_index_list rows;
    snapshot(&f, "m", matrix);
    for (int v = 0; v < 2; v++) TEST_OK(dcsr_store_open_view(&view[v], f.context, f.store, "m", 0));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "in a store", dcsr_view_diff(&diff, view[0], view[1]));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "different matrices", dcsr_view_diff(&diff, view[0], own));
    TEST_OK(dcsr_view_diff(&diff, view[0], view[0]));
    TEST_OK(dcsr_diff_get_rows(diff, &rows));
    cr_assert_eq(rows.n, 0);
    dcsr_diff_destroy(diff);
    dcsr_view_destroy(view[0]);
    dcsr_view_destroy(view[1]);
    dcsr_view_destroy(own);
    dcsr_matrix_destroy(matrix);
    end(&f);
}
