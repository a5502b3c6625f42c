/* multi_operation.h: what operations on several devices check and tell alike (internal; multi_products.c). */
#ifndef DCSR_MULTI_OPERATION_H
#define DCSR_MULTI_OPERATION_H

#include "multi/multi_vector.h"

/* What devices tell of an operation. */
typedef struct dcsr_i_multi_cost {
    uint64_t bytes[DCSR_MAX_DEVICES], waited[DCSR_MAX_DEVICES]; /* nanoseconds */
    dcsr_report report[DCSR_MAX_DEVICES];
} dcsr_i_multi_cost;

/* Sums them up over so many devices; `began` by dcsr_i_nanoseconds(). report may be NULL. */
void dcsr_i_multi_tell(dcsr_multi_report *report, const dcsr_i_multi_cost *each, uint64_t count,
                       uint64_t began);

/* DCSR_OK, or what is wrong with an input: INVALID_ARGUMENT, DIMENSION_MISMATCH, CONTEXT_DESTROYED, DEVICE. */
dcsr_status dcsr_i_multi_check_view(const dcsr_multi_view *A, const char *call);
dcsr_status dcsr_i_multi_check_operand(const dcsr_multi_vector *vector, const dcsr_multi_view *A,
                                       uint64_t size, const char *what);

#endif
