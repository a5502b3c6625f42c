/* spmv_cuda.h: sparse matrix times dense vector on a device (internal; for C and for kernels). */
#ifndef DCSR_SPMV_CUDA_H
#define DCSR_SPMV_CUDA_H

#include "dcsr/base/cuda.h"
#include "ops/spmv/piece_map_cuda.h"
#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of more entries than this are cut into parts that warps share. Parts begin at multiples of 32, so that
 * how a row is summed depends on its length alone. */
enum { DCSR_CUDA_SPMV_LONG = 128, DCSR_CUDA_SPMV_PART = 1024 };

/* A row that is cut: its parts are first .. first + parts - 1 of all parts. */
typedef struct dcsr_i_cuda_spmv_row {
    uint64_t row;
    uint64_t first, parts;
} dcsr_i_cuda_spmv_row;

typedef struct dcsr_i_cuda_spmv_counts {
    unsigned long long rows;  /* that are cut */
    unsigned long long parts; /* of all of them */
    unsigned long long longest;
    unsigned long long in_use; /* rows that are not empty */
} dcsr_i_cuda_spmv_counts;

/* What a product needs to know besides the rows. All pointers but the event are to device memory. */
typedef struct dcsr_i_cuda_spmv_plan {
    dcsr_i_cuda_spmv_counts counts;
    dcsr_i_cuda_spmv_row *row; /* counts.rows */
    uint32_t *row_of_part;     /* counts.parts: which of these rows */
    void *part;                /* counts.parts: the sum of each, on the way into the row's */
    void *part_is_free;        /* a cudaEvent_t: when the last product that used `part` is over */
    uint32_t *in_use;          /* a bit for each row: it has entries; NULL: all have */
    uint64_t in_use_words;
    bool tight;           /* the rows lie one behind the other */
    unsigned most_blocks; /* of a launch */
} dcsr_i_cuda_spmv_plan;

/* Adds up how many rows are to be cut, their parts, and how many rows are in use into *counts (device memory,
 * zeros), and finds the longest row. */
void dcsr_i_cuda_spmv_count(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                            dcsr_i_cuda_spmv_counts *counts);
/* Bits, in words of 32 up to a multiple of 64, of the rows that have entries. */
void dcsr_i_cuda_spmv_mark(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint32_t *in_use);
/* Fills plan->row and plan->row_of_part, and makes the event; *counts is device memory. */
void dcsr_i_cuda_spmv_cut(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                          dcsr_i_cuda_spmv_plan *plan, dcsr_i_cuda_spmv_counts *counts);
/* Destroys the event. */
void dcsr_i_cuda_spmv_forget(dcsr_i_cuda_stream *stream, dcsr_i_cuda_spmv_plan *plan);

/* Bytes of one sum. */
size_t dcsr_i_cuda_spmv_sum_size(uint32_t type);
/* Puts y = A x onto the cudaStream_t `on`; y and x are device memory; without a map of the rows it is NULL. Failures
 * are noted on `stream`. Only one thread at a time may call with one plan; the products themselves may overlap. */
void dcsr_i_cuda_spmv_run(dcsr_i_cuda_stream *stream, void *on, const dcsr_i_cuda_rows *rows,
                          const dcsr_i_cuda_spmv_plan *plan, const dcsr_i_cuda_piece_map *map, void *y,
                          const void *x);

/* ---- spmv_cuda.c ---- */

/* Some of a view's rows, a range of whole pages (but for the last), to be multiplied by themselves. */
typedef struct dcsr_i_cuda_spmv_range {
    uint64_t first;
    dcsr_i_cuda_rows rows; /* counted from the first */
    dcsr_i_cuda_spmv_plan plan;
    dcsr_i_cuda_piece_map map;
} dcsr_i_cuda_spmv_range;
/* Rows [first, end) of a view, which must outlast it; first is a multiple of DCSR_CUDA_PAGE_ROWS, or end. Waits for the
 * stream. On failure the range is zeros: OUT_OF_MEMORY, DEVICE. Cost: a pass over the lengths of the rows. */
dcsr_status dcsr_i_cuda_spmv_range_open(dcsr_i_cuda_spmv_range *range, dcsr_i_cuda_stream *stream,
                                        dcsr_view *A, uint64_t first, uint64_t end);
/* Puts the product with them onto the stream: y is that of all rows of the view, and x that of all its columns, in the
 * device's memory where the rows have entries. One thread at a time, products one behind the other. */
void dcsr_i_cuda_spmv_range_put(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmv_range *range, void *y,
                                const void *x);
/* Behind the work on the stream. Zeros are fine. */
void dcsr_i_cuda_spmv_range_close(dcsr_i_cuda_stream *stream, dcsr_i_cuda_spmv_range *range);

/* For a view on a device, where the arguments have been checked. */
typedef struct dcsr_i_spmv_ops {
    dcsr_status (*anywhere)(void *y, dcsr_view *A, const void *x); /* wherever y and x are */
    /* On the caller's stream; device memory only. */
    dcsr_status (*on_stream)(void *y, dcsr_view *A, const void *x, void *stream);
} dcsr_i_spmv_ops;
extern const dcsr_i_spmv_ops dcsr_i_cuda_spmv_ops;
/* For other operations. The plan for a view's rows, or for those of its transpose (dcsr/view/csc_cuda.h), which is
 * kept with it. */
dcsr_status dcsr_i_cuda_spmv_plan_of(const dcsr_i_cuda_spmv_plan **plan, dcsr_view *A, bool transposed);
/* For tests: whether products with the view's rows use a map. */
bool dcsr_i_cuda_spmv_has_map(dcsr_view *A);
/* Puts y = A x, or the transpose's, onto the cudaStream_t `on`; y and x are device memory. Failures are noted on
 * `stream`. */
dcsr_status dcsr_i_cuda_spmv_put(dcsr_i_cuda_stream *stream, void *on, void *y, dcsr_view *A, bool transposed,
                                 const void *x);
/* A product wherever y and x are: put() gets them in the device's memory, brought there and back if need be. Waits. */
typedef dcsr_status dcsr_i_cuda_spmv_putter(void *user, dcsr_i_cuda_stream *stream, void *y, dcsr_view *A,
                                            const void *x);
dcsr_status dcsr_i_cuda_spmv_anywhere(void *y, dcsr_view *A, const void *x, dcsr_i_cuda_spmv_putter *put,
                                      void *user);
/* A product of y and x in the device's memory: put() puts it onto a stream of the caller's, which is not waited for.
 * `operation` is for messages: "spmv". Errors: INVALID_ARGUMENT where y or x is elsewhere. */
dcsr_status dcsr_i_cuda_spmv_in_place(void *y, dcsr_view *A, const void *x, dcsr_i_cuda_spmv_putter *put,
                                      void *user, const char *operation);

#ifdef __cplusplus
}
#endif
#endif
