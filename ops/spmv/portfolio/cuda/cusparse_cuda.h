/* cusparse_cuda.h: NVIDIA's cuSPARSE, of which the library is no part: it is looked for when a kernel first asks for it
 * (internal).
 *
 * The names and numbers are those of its generic interface, which versions 11.2 and later have; its headers are not
 * needed. Functions return 0 for success. Handles and descriptions are pointers to what it keeps to itself. */
#ifndef DCSR_CUSPARSE_CUDA_H
#define DCSR_CUSPARSE_CUDA_H

#include <stddef.h>
#include <stdint.h>

enum {
    DCSR_CUSPARSE_ALLOC_FAILED = 2,
    DCSR_CUSPARSE_INDEX_32 = 2,
    DCSR_CUSPARSE_FP32 = 0,
    DCSR_CUSPARSE_FP64 = 1
};
/* cusparseSpMVAlg_t */
enum { DCSR_CUSPARSE_COO1 = 1, DCSR_CUSPARSE_CSR1 = 2, DCSR_CUSPARSE_CSR2 = 3, DCSR_CUSPARSE_COO2 = 4 };

/* y = alpha op(A) x + beta y: what the functions of a product take first, then the buffer. */
typedef int dcsr_i_cusparse_product(void *handle, int operation, const void *alpha, void *A, void *x,
                                    const void *beta, void *y, int type, int algorithm, void *buffer);

typedef struct dcsr_i_cusparse {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    const char *(*error_text)(int status);
    int (*create_csr)(void **A, int64_t rows, int64_t cols, int64_t nnz, void *offsets, void *columns,
                      void *values, int offset_type, int column_type, int base, int type);
    int (*create_coo)(void **A, int64_t rows, int64_t cols, int64_t nnz, void *row_indices, void *columns,
                      void *values, int index_type, int base, int type);
    int (*destroy_matrix)(void *A);
    int (*create_vector)(void **x, int64_t size, void *values, int type);
    int (*destroy_vector)(void *x);
    int (*set_values)(void *x, void *values);
    int (*buffer_size)(void *handle, int operation, const void *alpha, void *A, void *x, const void *beta,
                       void *y, int type, int algorithm, size_t *bytes);
    dcsr_i_cusparse_product *multiply;
    dcsr_i_cusparse_product *preprocess; /* NULL before version 12.4 */
} dcsr_i_cusparse;

/* NULL: it is not on this machine. The file that DCSR_CUSPARSE names, or libcusparse.so. */
const dcsr_i_cusparse *dcsr_i_cusparse_find(void);
/* For tests: what is found from now on; NULL: what there is. */
void dcsr_i_cusparse_stand_in(const dcsr_i_cusparse *library);

#endif
