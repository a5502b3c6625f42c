/* test_nut_device.c: tiles on a device: the same, bit for bit, as those of the cpu. */
#include "tests/support/support_device.h"

#include "dcsr/base/alloc.h"
#include "dcsr/nut/nut_tiles.h"
#include "dcsr/view/view_data.h"
#include "tests/support/support_nut.h"

static void *fetch(const void *there, size_t bytes)
{
    void *here = test_allocate(bytes + 1, 1);
    dcsr_i_cuda_copy(stream, here, there, bytes);
    TEST_OK(dcsr_i_cuda_wait(stream, "fetching"));
    return here;
}

/* Copies of the panels in host memory. */
static dcsr_nut_panel *fetch_panels(const dcsr_i_nut *nut)
{
    const size_t size = dcsr_type_size(nut->shown.type);
    dcsr_nut_panel *panels = test_allocate(nut->shown.panel_count + 1, sizeof *panels),
                   *there = fetch(nut->device_panels, nut->shown.panel_count * sizeof *there);
    cr_assert(!memcmp(there, nut->panels, nut->shown.panel_count * sizeof *there));
    free(there);
    for (uint64_t p = 0; p < nut->shown.panel_count; p++) {
        dcsr_nut_panel *to = &panels[p];
        *to = nut->panels[p];
        if (!to->tile_count) continue;
        to->tiles = fetch(to->tiles, to->tile_count * sizeof *to->tiles);
        to->col_indices = fetch(to->col_indices, test_panel_columns(to) * sizeof *to->col_indices);
        to->indices = fetch(to->indices, test_panel_elements(to) * sizeof *to->indices);
        if (size) to->values = fetch(to->values, test_panel_elements(to) * size);
    }
    return panels;
}

static void free_panels(const dcsr_i_nut *nut, dcsr_nut_panel *panels)
{
    for (uint64_t p = 0; p < nut->shown.panel_count; p++) {
        if (!panels[p].tile_count) continue;
        free((void *)panels[p].tiles);
        free((void *)panels[p].col_indices);
        free((void *)panels[p].indices);
        if (nut->shown.type != DCSR_PATTERN) free((void *)panels[p].values);
    }
    free(panels);
}

/* Whether the tiles of a view are those that the cpu makes of the same rows in the same panels. */
static void check(dcsr_view *view, const dcsr_i_nut *nut)
{
    char why[TEST_WHY];
    dcsr_nut_panel *panels = fetch_panels(nut);
    dcsr_nut shown = nut->shown;
    shown.panels = panels;
    cr_assert(test_nut_matches(&shown, view, why), "%s", why);
    const dcsr_i_rows *rows;
    TEST_OK(dcsr_i_view_host_rows(&rows, view));
    dcsr_i_nut *model;
    const dcsr_i_nut_order order = {.context = context, .rows = rows, .budget = nut->budget};
    TEST_OK(dcsr_i_nut_create(&model, &order));
    cr_assert_eq(model->shown.panel_count, shown.panel_count);
    for (uint64_t p = 0; p < shown.panel_count; p++)
        cr_assert(test_panels_are_equal(&shown, &panels[p], &model->panels[p]), "panel %d", (int)p);
    dcsr_i_nut_release(model);
    free_panels(nut, panels);
}

static void change(dcsr_matrix *matrix, test_random *random, bool insert, size_t n)
{
    dcsr_matrix_info info = test_info(matrix);
    const size_t size = dcsr_type_size(info.type);
    uint64_t *rows = test_allocate(n + 1, sizeof *rows), *cols = test_allocate(n + 1, sizeof *cols);
    char *values = test_allocate(n + 1, 8);
    for (size_t i = 0; i < n; i++) {
        rows[i] = test_random_once_in(random, 2) ? info.rows / 2 : test_random_below(random, info.rows);
        cols[i] = test_random_below(random, info.cols);
        if (size) test_encode(info.type, (double)test_random_below(random, 2), values + i * size);
    }
    TEST_OK(insert ? dcsr_matrix_insert(matrix, n, rows, cols, size ? values : NULL, NULL)
                   : dcsr_matrix_remove(matrix, n, rows, cols, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
    free(values);
}

Test(nut_device, is_what_the_cpu_makes)
{
    static const uint64_t sizes[][2] = {{1, 1}, {1, 900}, {400, 1}, {300, 700}};
    open_device();
    NEEDS_GPU();
    test_random random = {3};
    for (int type = 0; type < DCSR_TYPE_COUNT; type += test_one_in())
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const dcsr_policy policy = ((size_t)type + s) % 2 ? DCSR_POLICY_KEEP : DCSR_POLICY_LAST;
            dcsr_matrix *matrix = test_matrix(context, (dcsr_type)type, sizes[s][0], sizes[s][1], policy);
            for (int round = 0; round < 3; round++) {
                dcsr_view *view = test_view(matrix, DCSR_LAYOUT_NUT, 0);
                check(view, view->nut);
                dcsr_view_destroy(view);
                change(matrix, &random, round < 2, 400);
            }
            dcsr_matrix_destroy(matrix);
        }
    close_device();
}

Test(nut_device, is_made_of_csr_too)
{
    open_device();
    NEEDS_GPU();
    test_random random = {4};
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 200, 300, DCSR_POLICY_LAST);
    change(matrix, &random, true, 3000);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_i_nut *nut;
    const dcsr_i_nut_order order = {.context = context,
                                    .rows = dcsr_i_view_rows(view),
                                    .budget = {.lanes = 8, .rows = 9, .columns = 20, .panels = 1}};
    TEST_OK(dcsr_i_nut_create(&nut, &order));
    check(view, nut);
    dcsr_i_nut_release(nut);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* Pages are of 1024 rows, in the emulator of 64. */
Test(nut_device, takes_over_panels_without_changed_rows)
{
    open_device();
    NEEDS_GPU();
    test_random random = {5};
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 5000, 300, DCSR_POLICY_LAST);
    change(matrix, &random, true, 20000);
    uint64_t kept = 0;
    for (int round = 0; round < 4; round++) {
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_NUT, 0);
        check(view, view->nut);
        kept += view->nut->kept;
        dcsr_view_destroy(view);
        TEST_INSERT(matrix, {(uint64_t)round * 7, 3, 1});
    }
    cr_assert(kept);
    TEST_OK(dcsr_matrix_resize(matrix, 3000, 200, NULL));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_NUT, 0);
    check(view, view->nut);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    close_device();
}

Test(nut_device, survives_every_failing_allocation)
{
    open_device();
    NEEDS_GPU();
    test_random random = {6};
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP32, 300, 300, DCSR_POLICY_LAST);
    change(matrix, &random, true, 900);
    dcsr_view_destroy(test_view(matrix, DCSR_LAYOUT_NUT, 0));
    TEST_INSERT(matrix, {7, 7, 7});
    dcsr_view *view = NULL;
    long n = 0;
    for (; !view; n++) {
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = dcsr_view_create(&view, matrix, DCSR_LAYOUT_NUT, 0);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == (view ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY), "%s", dcsr_thread_error());
    }
    cr_assert(n > 10);
    check(view, view->nut);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    close_device();
}
