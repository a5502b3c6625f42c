/* portfolio.c: which kernels there are, and what those on the cpu share. */
#include "ops/spmv/portfolio/portfolio.h"
#include "dcsr/base/error.h"
#include "dcsr/base/runtime.h"
#include <string.h>

#define DCSR_CPU_KERNEL(NAME) &dcsr_i_spmv_##NAME,
#define DCSR_CUDA_KERNEL(NAME)
static const dcsr_i_spmv_kernel *const cpu_kernels[] = {
#include "ops/spmv/portfolio/kernels.def"
};

/* NULL in builds without CUDA. */
static const dcsr_i_spmv_device *const on_device = DCSR_I_IN_CUDA(dcsr_i_cuda_spmv_portfolio);

const dcsr_i_spmv_kernel *dcsr_i_spmv_kernel_at(dcsr_device device, uint64_t number)
{
    if (device == DCSR_DEVICE_CUDA)
        return on_device && number < on_device->count ? on_device->kernels[number] : NULL;
    return number < sizeof cpu_kernels / sizeof *cpu_kernels ? cpu_kernels[number] : NULL;
}

const dcsr_i_spmv_kernel *dcsr_i_spmv_kernel_named(dcsr_device device, const char *name)
{
    const dcsr_i_spmv_kernel *kernel;
    for (uint64_t k = 0; (kernel = dcsr_i_spmv_kernel_at(device, k)); k++)
        if (!strcmp(kernel->told.name, name)) return kernel;
    return NULL;
}

const dcsr_spmv_kernel *dcsr_spmv_kernel_at(dcsr_device device, uint64_t number)
{
    const dcsr_i_spmv_kernel *kernel = dcsr_i_spmv_kernel_at(device, number);
    return kernel ? &kernel->told : NULL;
}

dcsr_status dcsr_i_spmv_matrix_unmeasured(dcsr_i_spmv_matrix *A, dcsr_view *view)
{
    dcsr_view_shape shape;
    DCSR_TRY(dcsr_view_get_shape(view, &shape));
    *A = (dcsr_i_spmv_matrix){.context = shape.context,
                              .view = view,
                              .rows = dcsr_i_view_rows(view),
                              .info = {.type = shape.type,
                                       .layout = shape.layout,
                                       .rows = shape.rows,
                                       .cols = shape.cols,
                                       .version = view->version,
                                       .nnz = shape.nnz},
                              .vector_type = shape.type == DCSR_PATTERN ? DCSR_FP64 : shape.type};
    return DCSR_OK;
}

dcsr_status dcsr_i_spmv_measure_matrix(dcsr_i_spmv_matrix *A)
{
    if (!A->measured) DCSR_TRY(dcsr_view_get_info(A->view, &A->info));
    A->measured = true;
    return DCSR_OK;
}

dcsr_status dcsr_i_spmv_matrix_of(dcsr_i_spmv_matrix *A, dcsr_view *view)
{
    DCSR_TRY(dcsr_i_spmv_matrix_unmeasured(A, view));
    return dcsr_i_spmv_measure_matrix(A);
}

bool dcsr_i_spmv_has_as_many(const void *format, const dcsr_i_spmv_matrix *A,
                             const dcsr_i_spmv_matrix *before)
{
    (void)format;
    return A->info.nnz == before->info.nnz;
}

dcsr_status dcsr_i_spmv_run(void *y, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A,
                            const void *format, const void *x)
{
    if (A->rows->on_device) return on_device->run(y, kernel, A, format, x);
    return kernel->run(&(dcsr_i_spmv_product){.y = y, .x = x, .threads = dcsr_i_spmv_threads(A)}, A, format);
}

dcsr_status dcsr_i_spmv_time(double *seconds, void *y, const dcsr_i_spmv_kernel *kernel,
                             const dcsr_i_spmv_matrix *A, const void *format, const void *x,
                             uint64_t products)
{
    if (A->rows->on_device) return on_device->time(seconds, y, kernel, A, format, x, products);
    const uint64_t start = dcsr_i_nanoseconds();
    for (uint64_t i = 0; i < products; i++) DCSR_TRY(dcsr_i_spmv_run(y, kernel, A, format, x));
    *seconds = 1e-9 * (double)(dcsr_i_nanoseconds() - start) / (double)products;
    return DCSR_OK;
}

dcsr_status dcsr_i_spmv_run_on_stream(void *y, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A,
                                      const void *format, const void *x, void *stream)
{
    return on_device->run_on_stream(y, kernel, A, format, x, stream);
}

uint64_t dcsr_i_spmv_copy_row(const dcsr_i_rows *rows, uint64_t row, uint32_t *columns, void *values)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int count = dcsr_i_rows_pieces(rows, row, pieces);
    const size_t size = dcsr_type_size(rows->type);
    uint64_t n = 0;
    for (int k = 0; k < count; n += pieces[k++].length) {
        memcpy(columns + n, rows->columns + pieces[k].begin, pieces[k].length * sizeof *columns);
        if (size)
            memcpy((char *)values + n * size, (const char *)rows->values + pieces[k].begin * size,
                   pieces[k].length * size);
    }
    return n;
}
