/* spmv_nut.h: what the kernels `nut` of all devices have in common (internal). */
#ifndef DCSR_SPMV_NUT_H
#define DCSR_SPMV_NUT_H

#include "ops/spmv/portfolio/portfolio.h"

/* As the members of dcsr_i_spmv_kernel; a format is a dcsr_i_nut. */
const char *dcsr_i_spmv_nut_refuses(const dcsr_i_spmv_matrix *A);
dcsr_status dcsr_i_spmv_nut_measure(uint64_t *bytes, const dcsr_i_spmv_matrix *A);
dcsr_status dcsr_i_spmv_nut_build(void **format, const dcsr_i_spmv_matrix *A);
dcsr_status dcsr_i_spmv_nut_refresh(void **format, bool *done, uint64_t *bytes, const dcsr_i_spmv_matrix *A,
                                    dcsr_i_changed_rows *changed);
void dcsr_i_spmv_nut_discard(void *format, const dcsr_i_spmv_matrix *A);

#endif
