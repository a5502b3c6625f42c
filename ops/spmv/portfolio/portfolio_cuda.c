/* portfolio_cuda.c: which kernels there are on a device, and the one that reads the rows in place. */
#include "ops/spmv/portfolio/portfolio.h"
#include "dcsr/device/clock_cuda.h"
#include "ops/spmv/spmv_cuda.h"

static dcsr_status run_segments(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A,
                                const void *format)
{
    (void)format;
    return dcsr_i_cuda_spmv_put(product->stream, product->on, product->y, A->view, false, product->x);
}

const dcsr_i_spmv_kernel dcsr_i_cuda_spmv_segments = {
    .told = {.name = "segments", .summary = "rows in place, by warps; pieces by a map of them"},
    .run = run_segments,
};

#define DCSR_CPU_KERNEL(NAME)
#define DCSR_CUDA_KERNEL(NAME) &dcsr_i_cuda_spmv_##NAME,
static const dcsr_i_spmv_kernel *const kernels[] = {
#include "ops/spmv/portfolio/kernels.def"
};

/* ---- Products wherever the vectors are ---- */

typedef struct prepared {
    const dcsr_i_spmv_kernel *kernel;
    const dcsr_i_spmv_matrix *A;
    const void *format;
    void *const *on; /* the caller's stream; NULL: the library's */
} prepared;

static dcsr_status put(void *user, dcsr_i_cuda_stream *stream, void *y, dcsr_view *A, const void *x)
{
    (void)A;
    const prepared *p = user;
    const dcsr_i_spmv_product product = {
        .y = y, .x = x, .stream = stream, .on = p->on ? *p->on : dcsr_i_cuda_handle(stream)};
    return p->kernel->run(&product, p->A, p->format);
}

static dcsr_status run_anywhere(void *y, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A,
                                const void *format, const void *x)
{
    return dcsr_i_cuda_spmv_anywhere(y, A->view, x, put, &(prepared){kernel, A, format, NULL});
}

static dcsr_status run_on_stream(void *y, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A,
                                 const void *format, const void *x, void *stream)
{
    return dcsr_i_cuda_spmv_in_place(y, A->view, x, put, &(prepared){kernel, A, format, &stream},
                                     "spmv_plan_run");
}

/* ---- Their time ---- */

typedef struct timed {
    const dcsr_i_spmv_kernel *kernel;
    const dcsr_i_spmv_matrix *A;
    const void *format;
    dcsr_i_spmv_product product;
    uint64_t products;
    double *seconds; /* of all */
} timed;

static dcsr_status put_all(void *user)
{
    const timed *t = user;
    for (uint64_t i = 0; i < t->products; i++) DCSR_TRY(t->kernel->run(&t->product, t->A, t->format));
    return DCSR_OK;
}

static dcsr_status put_timed(void *user, dcsr_i_cuda_stream *stream, void *y, dcsr_view *A, const void *x)
{
    (void)A;
    timed *t = user;
    t->product = (dcsr_i_spmv_product){.y = y, .x = x, .stream = stream, .on = dcsr_i_cuda_handle(stream)};
    return dcsr_i_cuda_time(t->seconds, stream, t->product.on, put_all, t, "spmv");
}

static dcsr_status time_products(double *seconds, void *y, const dcsr_i_spmv_kernel *kernel,
                                 const dcsr_i_spmv_matrix *A, const void *format, const void *x,
                                 uint64_t products)
{
    timed t = {.kernel = kernel, .A = A, .format = format, .products = products, .seconds = seconds};
    DCSR_TRY(dcsr_i_cuda_spmv_anywhere(y, A->view, x, put_timed, &t));
    *seconds /= (double)products;
    return DCSR_OK;
}

const dcsr_i_spmv_device dcsr_i_cuda_spmv_portfolio = {sizeof kernels / sizeof *kernels, kernels,
                                                       run_anywhere, time_products, run_on_stream};
