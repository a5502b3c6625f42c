/* features_cuda.h: bringing some rows of a view on a device to the host (internal). */
#ifndef DCSR_FEATURES_CUDA_H
#define DCSR_FEATURES_CUDA_H

#include "dcsr/store/store.h"

/* The rows on a device whose numbers are listed in host memory, as a CSR there, row i being the one with number
 * list[i]; without a list, all rows that have entries, or if there are more than `count`, which is not 0, so many that
 * are drawn from them by the key. Errors: OUT_OF_MEMORY, DEVICE. */
typedef dcsr_status dcsr_i_features_download_function(dcsr_i_csr **csr, dcsr_context *context,
                                                      const dcsr_i_rows *rows, const uint32_t *list,
                                                      uint64_t count, uint64_t key);
dcsr_i_features_download_function dcsr_i_features_download; /* in builds with CUDA */

#endif
