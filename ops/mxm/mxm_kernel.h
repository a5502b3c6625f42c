/* mxm_kernel.h: the inner loop of sparse matrix times sparse matrix (internal). */
#ifndef DCSR_MXM_KERNEL_H
#define DCSR_MXM_KERNEL_H

#include "ops/algebra/operator.h"

/* z[index[k] - base] += *a * b[source[k]] for k < n; source NULL: b[k]. No index is there twice. a and b are
 * of the multiplication's types, NULL where it does not look at them. False where a user's function said so.
 */
typedef bool dcsr_i_mxm_kernel(const dcsr_semiring *semiring, void *z, const uint32_t *index, uint32_t base,
                               const void *a, const void *b, const uint32_t *source, size_t n);

/* The kernel of a semiring: one of its own, or the one that applies the semiring's operators to blocks. */
dcsr_i_mxm_kernel *dcsr_i_mxm_kernel_of(const dcsr_semiring *semiring);

/* Those of their own, by dcsr_semiring_name; NULL where there is none. */
typedef dcsr_i_mxm_kernel *const dcsr_i_mxm_kernels[DCSR_SEMIRING_NAMES];
#define DCSR_X(NAME, name, ctype, minimum, maximum) extern dcsr_i_mxm_kernels dcsr_i_mxm_##name;
#include <dcsr/types.def>
#undef DCSR_X

#endif
