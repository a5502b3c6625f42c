/* rap.c: the product of three matrices that makes the next level in multigrid.
 *
 * The rows of A P that some rows of R ask for are computed for them, and never stored. Those that other rows of R
 * ask for too are computed again; where that would be often A P is made first, as a matrix. On a device the same is
 * decided by rap_cuda.c. */
#include <dcsr/mxm.h>
#include "dcsr/base/sort.h"
#include "ops/mxm/mxm_row.h"
#include "ops/mxm/rap_cuda.h"

/* NULL in builds without CUDA. */
static dcsr_i_device_rap *const device_rap = DCSR_I_IN_CUDA(dcsr_i_cuda_rap);

static dcsr_status check_types(const dcsr_matrix *C, const dcsr_desc *desc, const dcsr_semiring **semiring)
{
    *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, C->type == DCSR_PATTERN ? DCSR_FP64 : C->type);
    if (!*semiring)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "rap: there is no plus_times on %s, the type of C",
                           dcsr_type_name(C->type));
    if (desc && (desc->transpose_a || desc->transpose_b || desc->mask_complement || desc->replace))
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "rap: the descriptor asks for a transpose, a mask or replacement; give it transposed "
            "views, and neither of the others");
    return DCSR_OK;
}

/* R (A P), whose shapes dcsr_mxm() checks only once A P is there. */
static dcsr_status check_shapes(dcsr_matrix *C, const dcsr_i_rows *r, const dcsr_i_rows *a,
                                const dcsr_i_rows *p)
{
    uint64_t rows, cols;
    dcsr_i_shape_queued(C, &rows, &cols);
    if (r->cols != a->rows || a->cols != p->rows)
        return dcsr_i_fail(
            DCSR_ERROR_DIMENSION_MISMATCH, "rap: R is %llu x %llu, A %llu x %llu, P %llu x %llu",
            (unsigned long long)r->rows, (unsigned long long)r->cols, (unsigned long long)a->rows,
            (unsigned long long)a->cols, (unsigned long long)p->rows, (unsigned long long)p->cols);
    return dcsr_i_check_shape("rap", "C", rows, cols, "R A P", r->rows, p->cols);
}

/* ---- One after the other ---- */

static dcsr_status multiply_twice(dcsr_matrix *C, const dcsr_semiring *semiring, dcsr_view *const views[3],
                                  const dcsr_desc *desc)
{
    dcsr_matrix *AP = NULL;
    dcsr_view *AP_view = NULL;
    dcsr_report first = {0};
    dcsr_desc how = desc ? *desc : (dcsr_desc){0};
    how.same_pattern = false;
    how.report = &first;
    dcsr_status status = dcsr_matrix_create(&AP, C->context, C->type, dcsr_i_view_rows(views[1])->rows,
                                            dcsr_i_view_rows(views[2])->cols, NULL);
    if (status == DCSR_OK) status = dcsr_mxm(AP, NULL, NULL, semiring, views[1], views[2], &how);
    if (status == DCSR_OK) status = dcsr_view_create(&AP_view, AP, DCSR_LAYOUT_SEGMENTS, 0);
    if (status == DCSR_OK) status = dcsr_mxm(C, NULL, NULL, semiring, views[0], AP_view, desc);
    if (status == DCSR_OK && desc && desc->report) desc->report->entries += first.entries;
    dcsr_view_destroy(AP_view);
    dcsr_matrix_destroy(AP);
    return status;
}

/* ---- At once ---- */

/* About how often each row of A P is computed: by the columns of some pages of rows of R. */
static double estimate_repeats(dcsr_context *context, const dcsr_i_rows *r)
{
    enum { SAMPLES = 16, MOST = 1 << 13 };
    uint64_t pages = dcsr_i_rows_pages(r), seen = 0, distinct = 0;
    uint64_t *keys = dcsr_i_alloc(context, DCSR_I_SCRATCH, 2 * MOST, sizeof *keys);
    for (uint64_t s = 0; keys && s < SAMPLES && s < pages; s++) {
        uint64_t first = (pages * s / SAMPLES) << DCSR_I_PAGE_SHIFT, n = 0;
        for (uint64_t row = first; row < first + DCSR_I_PAGE_ROWS && row < r->rows; row++) {
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            int count = dcsr_i_rows_pieces(r, row, pieces);
            for (int k = 0; k < count; k++)
                for (uint64_t e = 0; e < pieces[k].length && n < MOST; e++)
                    keys[n++] = r->columns[pieces[k].begin + e];
        }
        const uint64_t *sorted = dcsr_i_sort(keys, keys + MOST, n, 1, 0, dcsr_i_bits_for(r->cols), 1);
        for (uint64_t k = 0; k < n; k++) distinct += !k || sorted[k] != sorted[k - 1];
        seen += n;
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, keys, 2 * MOST, sizeof *keys);
    return seen ? (double)dcsr_i_rows_stored(r) * (double)distinct / (double)seen / (double)r->cols : 0;
}

typedef struct fused {
    dcsr_i_mxm outer, inner;
    dcsr_i_mxm_few few[2];
    dcsr_i_rows product; /* the shape and type of A P */
} fused;

static dcsr_status begin(void *user, int threads)
{
    fused *f = user;
    DCSR_TRY(dcsr_i_mxm_begin(&f->inner, threads));
    dcsr_status status = dcsr_i_mxm_begin(&f->outer, threads);
    if (status != DCSR_OK) dcsr_i_mxm_end(&f->inner);
    return status;
}

static void end(void *user)
{
    fused *f = user;
    dcsr_i_mxm_end(&f->outer);
    dcsr_i_mxm_end(&f->inner);
}

static dcsr_status plan(void *user, int thread, uint64_t first, unsigned *count, uint64_t *entries)
{
    return dcsr_i_mxm_plan(&((fused *)user)->outer, thread, first, count, entries);
}

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    return dcsr_i_mxm_block(&((fused *)user)->outer, thread, first, count, room, lengths);
}

static dcsr_status multiply_at_once(dcsr_matrix *C, const dcsr_semiring *semiring, const dcsr_i_input in[3],
                                    const dcsr_desc *desc)
{
    const dcsr_i_rows *r = in[0].rows, *a = in[1].rows, *p = in[2].rows;
    fused f = {.product = {.type = C->type, .rows = a->rows, .cols = p->cols}};
    dcsr_i_mxm product = {.call = "rap",
                          .context = C->context,
                          .semiring = semiring,
                          .values = C->type != DCSR_PATTERN,
                          .limit = desc ? (desc->memory_limit + 1) / 2 : 0};
    f.inner = f.outer = product;
    f.inner.few = &f.few[0];
    f.outer.few = &f.few[1];
    f.outer.C = C;
    f.outer.known = desc && desc->same_pattern;
    f.outer.inner = &f.inner;
    dcsr_i_mxm_factors(&f.inner, a, p);
    dcsr_i_mxm_factors(&f.outer, r, &f.product);
    uint64_t stored = dcsr_i_rows_stored(r) + dcsr_i_rows_stored(a) + dcsr_i_rows_stored(p);
    dcsr_i_rowwise run = {.out = {.call = "rap", .C = C, .desc = desc},
                          .T = {.type = dcsr_i_monoid_type(semiring->add),
                                .rows = r->rows,
                                .cols = p->cols,
                                .work = 4 * stored,
                                .source = {r}},
                          .make = {.user = &f, .begin = begin, .end = end, .plan = plan, .block = block}};
    return dcsr_i_rowwise_run(&run);
}

/* ---- Choosing ---- */

static dcsr_status multiply(dcsr_matrix *C, const dcsr_semiring *semiring, dcsr_view *const views[3],
                            const dcsr_desc *desc)
{
    const double most_repeats = 1.25; /* storing A P costs about as much as a quarter of it */
    const dcsr_i_matrix_output out = {.call = "rap", .C = C, .desc = desc};
    if (dcsr_i_runs_on_device(&out, false)) {
        bool taken;
        DCSR_TRY(device_rap(&taken, &out, semiring, views));
        return taken ? DCSR_OK : multiply_twice(C, semiring, views, desc);
    }
    dcsr_i_input in[3] = {{0}};
    dcsr_status status = DCSR_OK;
    for (int k = 0; k < 3 && status == DCSR_OK; k++) status = dcsr_i_input_of(&in[k], views[k], false);
    if (status == DCSR_OK)
        status = estimate_repeats(C->context, in[0].rows) <= most_repeats
                     ? multiply_at_once(C, semiring, in, desc)
                     : multiply_twice(C, semiring, views, desc);
    for (int k = 0; k < 3; k++) dcsr_i_input_free(&in[k]);
    return status;
}

dcsr_status dcsr_rap(dcsr_matrix *C, dcsr_view *R, dcsr_view *A, dcsr_view *P, const dcsr_desc *desc)
{
    const dcsr_semiring *semiring;
    dcsr_view *const views[3] = {R, A, P};
    DCSR_TRY(dcsr_i_check_output("rap", C, NULL, desc));
    DCSR_TRY(dcsr_i_check_view("rap", "R", R, C->context));
    DCSR_TRY(dcsr_i_check_view("rap", "A", A, C->context));
    DCSR_TRY(dcsr_i_check_view("rap", "P", P, C->context));
    DCSR_TRY(check_types(C, desc, &semiring));
    DCSR_TRY(check_shapes(C, dcsr_i_view_rows(R), dcsr_i_view_rows(A), dcsr_i_view_rows(P)));
    return multiply(C, semiring, views, desc);
}
