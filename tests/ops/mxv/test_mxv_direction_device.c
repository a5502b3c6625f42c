/* test_mxv_direction_device.c: in which direction products with vectors go on a device, by models that are made up:
 * with the transpose, by tiles, and where the vector's columns are longer or shorter than others. Results are those of
 * the cpu. */
#include <dcsr/features.h>
#include <dcsr/mxv.h>
#include <dcsr/transpose.h>
#include "ops/choice/choice.h"
#include "tests/support/support_parity.h"
#include <inttypes.h>
#include <unistd.h>
#include <zlib.h>

/* One product, in both contexts. */
typedef struct problem {
    const dcsr_semiring *semiring;
    matrices A;
    vectors w, u, mask;
    bool masked, vxm;
    dcsr_direction direction;
} problem;

static dcsr_status call(problem *x, int c, dcsr_report *report)
{
    const dcsr_desc desc = {.direction = x->direction,
                            .mask_structure = true,
                            .replace = true,
                            .device = c == THERE ? DCSR_DEVICE_CUDA : DCSR_DEVICE_AUTO,
                            .report = report};
    const dcsr_vector *mask = x->masked ? x->mask.in[c] : NULL;
    return x->vxm ? dcsr_vxm(x->w.in[c], mask, NULL, x->semiring, x->u.in[c], x->A.view[c], &desc)
                  : dcsr_mxv(x->w.in[c], mask, NULL, x->semiring, x->A.view[c], x->u.in[c], &desc);
}

/* Has a model of these directions. */
static void use_model(const char *directions)
{
    static char path[] = "/tmp/dcsr-model-XXXXXX";
    char machine[256], body[1000];
    strcpy(strrchr(path, '-'), "-XXXXXX");
    const int fd = mkstemp(path);
    cr_assert(fd >= 0);
    TEST_OK(dcsr_model_get_machine(context, machine, sizeof machine));
    snprintf(body, sizeof body,
             "device cuda\nmachine %s\nmade by hand\nfeatures nnz\nkernels a b\nforest time 1 0 1\ntree 0 1\n"
             "leaf 1 0 1 0 2 3\n%send\n",
             machine, directions);
    FILE *file = fdopen(fd, "w");
    fprintf(file, "dcsr-model 1\ncrc32 %08lx\n%s", crc32(0, (const Bytef *)body, (uInt)strlen(body)), body);
    cr_assert(!fclose(file));
    setenv("DCSR_MODEL", path, 1);
    dcsr_i_models_forget();
    dcsr_model_info info;
    TEST_OK(dcsr_model_get_info(&info, context));
    cr_assert_str_empty(info.refused);
    remove(path);
}

static void forget_model(void)
{
    unsetenv("DCSR_MODEL");
    dcsr_i_models_forget();
}

/* An entry of the vector's columns costs three of the rows that are read. */
static const char three_to_one[] = "direction some push 0 0 0 3\ndirection some pull 0 0 1 0\n"
                                   "direction all push 0 0 0 3\ndirection all pull 0 0 1 0\n"
                                   "direction early push 0 0 0 3\ndirection early pull 0 0 1 0\n";

/* Once the transpose is there, which directions that need it make, and CSC views have, the model decides. */
Test(mxv_direction_device, takes_the_cheaper_way)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 81);
    use_model(three_to_one);
    problem x = {.semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT64)};
    x.A = parity_matrix(&p, DCSR_INT64, 400, 400, 3000, 1, 2, DCSR_POLICY_LAST);
    x.w = parity_vector(&p, DCSR_INT64, 400, 0);
    x.u = parity_vector(&p, DCSR_INT64, 400, 8);
    x.mask = parity_vector(&p, DCSR_INT64, 400, 1);
    dcsr_report report;
    for (int there = 0; there < 3; there++) {
        for (int k = 0; k < 8; k++) {
            vectors full = x.u;
            x.vxm = k & 1;
            x.masked = k & 2;
            x.direction = DCSR_DIRECTION_AUTO;
            if (k & 4) x.u = parity_vector(&p, DCSR_INT64, 400, 0);
            for (int c = 0; c < PLACES && k & 4; c++) TEST_OK(dcsr_vector_set(x.u.in[c], 7, &(int64_t){3}));
            bool pushes = there ? k & 4 : x.vxm;
            for (int c = 0; c < PLACES; c++) TEST_OK(call(&x, c, &report));
            cr_assert_eq(report.device, DCSR_DEVICE_CUDA);
            cr_assert_eq(report.direction, pushes ? DCSR_DIRECTION_PUSH : DCSR_DIRECTION_PULL, "case %d", k);
            cr_assert(parity_same(&x.w), "case %d", k);
            if (k & 4) parity_free_vector(&x.u);
            x.u = full;
        }
        x.vxm = false;
        x.direction = DCSR_DIRECTION_PUSH;
        TEST_OK(call(&x, THERE, &report));
        if (there != 1) continue;
        dcsr_view_destroy(x.A.view[THERE]);
        TEST_OK(dcsr_view_create(&x.A.view[THERE], x.A.in[THERE], DCSR_LAYOUT_CSC, 0));
    }
    forget_model();
    parity_free_vector(&x.w);
    parity_free_vector(&x.u);
    parity_free_vector(&x.mask);
    parity_free_matrix(&x.A);
    parity_close(&p);
    close_device();
}

/* ---- Stars ---- */

/* The first columns have RAYS entries each, the others one; symmetric. */
enum {
    SIZE = 600,
    HUBS = 10,
    RAYS = 300,
    MEAN = (HUBS * RAYS * 2 + SIZE - HUBS) / SIZE /* entries of a column, rounded down */
};

/* In two pieces, for vxm to push over. */
static matrices make_stars(parity *p, dcsr_layout layout)
{
    enum { MOST = 2 * HUBS * RAYS + SIZE };
    static uint64_t row[MOST], col[MOST];
    static int64_t value[MOST];
    matrices m;
    uint64_t n = 0;
    for (uint64_t h = 0; h < HUBS; h++)
        for (uint64_t k = 0; k < RAYS; k++, n++)
            row[n] = HUBS + (h * 37 + k) % (SIZE - HUBS), col[n] = h, value[n] = 1 + (int64_t)(k % 3);
    for (uint64_t j = HUBS; j < SIZE; j++, n++) row[n] = (j * 7) % SIZE, col[n] = j, value[n] = 2;
    for (int c = 0; c < PLACES; c++) {
        m.in[c] = test_matrix(p->in[c], DCSR_INT64, SIZE, SIZE, DCSR_POLICY_LAST);
        for (int part = 0; part < 2; part++) {
            const uint64_t from = part * n / 2, to = (part + 1) * n / 2;
            TEST_OK(dcsr_matrix_insert(m.in[c], to - from, row + from, col + from, value + from, NULL));
            TEST_OK(dcsr_matrix_wait(m.in[c]));
        }
        TEST_OK(dcsr_view_create(&m.view[c], m.in[c], layout, 0));
    }
    return m;
}

/* Elements first .. first + n - 1, in a form. */
static vectors make_elements(parity *p, uint64_t first, uint64_t n, dcsr_vector_format format)
{
    vectors v;
    for (int c = 0; c < PLACES; c++) {
        TEST_OK(dcsr_vector_create(&v.in[c], p->in[c], DCSR_INT64, SIZE));
        TEST_OK(dcsr_vector_set_format(v.in[c], format));
        for (uint64_t i = first; i < first + n; i++)
            TEST_OK(dcsr_vector_set(v.in[c], i, &(int64_t){1 + (int64_t)i % 5}));
    }
    return v;
}

/* Some elements of the columns of the stars, and what that is by columns of mean length, and really. */
typedef struct frontier {
    const char *name;
    uint64_t first, n;
} frontier;
static const frontier hubs = {"hubs", 0, HUBS}, rays = {"rays", HUBS, 500},
                      few_rays = {"few rays", HUBS, 200}, ray = {"a ray", 100, 1}, hub = {"a hub", 0, 1},
                      none = {"nothing", 0, 0};

static uint64_t entries_of(const frontier *f)
{
    return f->first < HUBS ? f->n * RAYS : f->n;
}

/* A product with the stars, or by vxm with their transpose. */
static void open_product(problem *x, parity *p, const frontier *f, dcsr_vector_format format, bool vxm,
                         dcsr_layout layout)
{
    *x = (problem){.semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT64), .vxm = vxm};
    x->A = make_stars(p, layout);
    x->w = make_elements(p, 5, 90, DCSR_VECTOR_AUTO);
    x->u = make_elements(p, f->first, f->n, format);
    x->mask = make_elements(p, 0, 1, DCSR_VECTOR_AUTO);
    if (!vxm) return;
    for (int c = 0; c < PLACES; c++) { /* rows become what columns are */
        dcsr_matrix *turned = test_matrix(p->in[c], DCSR_INT64, SIZE, SIZE, DCSR_POLICY_LAST);
        TEST_OK(dcsr_matrix_transpose(turned, NULL, NULL, x->A.view[c], NULL));
        dcsr_view_destroy(x->A.view[c]);
        dcsr_matrix_destroy(x->A.in[c]);
        x->A.in[c] = turned;
        TEST_OK(dcsr_view_create(&x->A.view[c], turned, layout, 0));
    }
}

static void close_product(problem *x)
{
    parity_free_vector(&x->w);
    parity_free_vector(&x->u);
    parity_free_vector(&x->mask);
    parity_free_matrix(&x->A);
}

/* Has the product done in both contexts, with a list of elements and with bits, over columns and over rows. */
static void expect(parity *p, const frontier *f, dcsr_layout layout, dcsr_direction asked,
                   dcsr_direction expected, uint64_t entries)
{
    for (int k = 0; k < 4; k++) {
        const dcsr_vector_format format = k & 1 ? DCSR_VECTOR_DENSE : DCSR_VECTOR_SPARSE;
        problem x;
        dcsr_report report;
        if (k & 2 && layout == DCSR_LAYOUT_NUT) continue; /* tiles of the transpose have to be asked for */
        open_product(&x, p, f, format, k & 2, layout);
        x.direction = DCSR_DIRECTION_PUSH; /* has the transpose made, if it is not there */
        if (layout == DCSR_LAYOUT_NUT) TEST_OK(call(&x, THERE, NULL));
        x.direction = asked;
        for (int c = 0; c < PLACES; c++) TEST_OK(call(&x, c, &report));
        cr_assert_eq(report.direction, expected, "%s, case %d: direction %d", f->name, k,
                     (int)report.direction);
        cr_assert_eq(report.entries, entries, "%s, case %d: %" PRIu64 " entries", f->name, k, report.entries);
        cr_assert(parity_same(&x.w), "%s, case %d", f->name, k);
        close_product(&x);
    }
}

static uint64_t stored(void)
{
    return HUBS * RAYS + SIZE - HUBS;
}

/* By columns of mean length hubs are few, and pushed, and many rays pulled. Counting shows better. */
Test(mxv_direction_device, counts_entries_where_the_mean_may_mislead)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 3);
    use_model(three_to_one);
    cr_assert(3 * HUBS * MEAN < (int)stored() && 3 * (uint64_t)rays.n * MEAN > stored());
    cr_assert(3 * entries_of(&hubs) > stored() && 3 * entries_of(&rays) < stored());
    expect(&p, &hubs, DCSR_LAYOUT_CSC, DCSR_DIRECTION_AUTO, DCSR_DIRECTION_PULL, stored());
    expect(&p, &rays, DCSR_LAYOUT_CSC, DCSR_DIRECTION_AUTO, DCSR_DIRECTION_PUSH, rays.n);
    expect(&p, &few_rays, DCSR_LAYOUT_CSC, DCSR_DIRECTION_AUTO, DCSR_DIRECTION_PUSH, few_rays.n);
    /* Tiles are the third way. */
    use_model("direction some push 0 0 0 3\ndirection some pull 0 0 1 0\ndirection some tiles 2000 0 0 0\n");
    expect(&p, &hubs, DCSR_LAYOUT_NUT, DCSR_DIRECTION_AUTO, DCSR_DIRECTION_TILES, stored());
    expect(&p, &few_rays, DCSR_LAYOUT_NUT, DCSR_DIRECTION_AUTO, DCSR_DIRECTION_PUSH, few_rays.n);
    forget_model();
    parity_close(&p);
    close_device();
}

/* Where little is at stake they are not counted. */
Test(mxv_direction_device, does_not_count_for_a_few_microseconds)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 5);
    use_model("direction some push 0 0 0 0.003\ndirection some pull 0 0 0.001 0\n");
    expect(&p, &hubs, DCSR_LAYOUT_CSC, DCSR_DIRECTION_AUTO, DCSR_DIRECTION_PUSH, 0);
    expect(&p, &rays, DCSR_LAYOUT_CSC, DCSR_DIRECTION_AUTO, DCSR_DIRECTION_PULL, stored());
    forget_model();
    parity_close(&p);
    close_device();
}

/* A push over few entries counts them, as its result may be a list: also where a hub has more. */
Test(mxv_direction_device, counts_few_entries)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 7);
    expect(&p, &ray, DCSR_LAYOUT_CSC, DCSR_DIRECTION_PUSH, DCSR_DIRECTION_PUSH, 1);
    expect(&p, &hub, DCSR_LAYOUT_CSC, DCSR_DIRECTION_PUSH, DCSR_DIRECTION_PUSH, RAYS);
    expect(&p, &none, DCSR_LAYOUT_CSC, DCSR_DIRECTION_PUSH, DCSR_DIRECTION_PUSH, 0);
    parity_close(&p);
    close_device();
}

/* The vector may be the output. */
Test(mxv_direction_device, counts_of_a_vector_that_is_written)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 9);
    use_model(three_to_one);
    for (int k = 0; k < 4; k++) {
        problem x;
        open_product(&x, &p, k & 1 ? &hubs : &rays, DCSR_VECTOR_SPARSE, k & 2, DCSR_LAYOUT_CSC);
        for (int c = 0; c < PLACES; c++) {
            dcsr_vector *w = x.w.in[c];
            x.w.in[c] = x.u.in[c];
            TEST_OK(call(&x, c, NULL));
            x.w.in[c] = w;
        }
        cr_assert(parity_same(&x.u), "case %d", k);
        close_product(&x);
    }
    forget_model();
    parity_close(&p);
    close_device();
}

static dcsr_status call_in(void *x, int c)
{
    return call(x, c, NULL);
}

/* Whatever memory is refused, w is as it was. */
static void run_short(parity *p, void (*fail_after)(long), const frontier *f, dcsr_vector_format format)
{
    problem x;
    open_product(&x, p, f, format, false, DCSR_LAYOUT_CSC);
    parity_run_short(fail_after, call_in, &x, &x.w);
    close_product(&x);
}

Test(mxv_direction_device, survives_lack_of_memory)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 11);
    use_model(three_to_one);
    for (int k = 0; k < 4; k++) {
        const frontier *f = k & 1 ? &hubs : &rays;
        const dcsr_vector_format format = k & 2 ? DCSR_VECTOR_DENSE : DCSR_VECTOR_SPARSE;
        run_short(&p, dcsr_i_fail_allocations_after, f, format);
#ifdef DCSR_SIMT
        run_short(&p, simt_fail_allocations_after, f, format);
#endif
    }
    forget_model();
    parity_close(&p);
    close_device();
}
