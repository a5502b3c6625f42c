/* spmv.h: sparse matrix times dense vector.
 *
 *      y = A x         y[i] = sum over the entries (i, j, a) of A of a * x[j]
 */
#ifndef DCSR_SPMV_H
#define DCSR_SPMV_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = A x over the ordinary plus and times, for a view of any layout: segments are read in place.
 *
 * x has one element per column, y one per row; they may not overlap, and may be NULL if they have no
 * elements. Their type is that of the matrix; fp64 for a pattern-only matrix, each of whose entries counts as
 * 1; for bool, plus is "or" and times is "and"; integers wrap around. An entry that the view shows more than
 * once counts each time. In a cuda context each of x and y may be in the device's memory or in the host's,
 * from and to which it is copied; y is complete when the call returns. Work of other streams on x or y must
 * be complete before the call.
 *
 * Parallel over rows; any number of threads may use one view. How a row is summed depends only on its length,
 * on the order in which its entries are stored, and in a cuda context on the lengths of the other rows: the
 * result is bitwise the same for any number of threads, and before and after a defragmentation that only
 * moves entries.
 *
 * Errors: INVALID_ARGUMENT (NULL), CONTEXT_DESTROYED; y is then as it was. In a cuda context also
 * OUT_OF_MEMORY and DEVICE. Memory: none on the cpu; on a device that of x and y if they are in host memory,
 * and, for as long as the view lasts, 36 bytes for each row of more than 128 entries and 12 for each further
 * 1024 of them; where segments are not defragmented as a whole also a map of their pieces, at most 5 bytes a row
 * and 8 for each segment of the row among its neighbours that has the most, but none where memory is short.
 * Cost: O(rows + nnz); at best nnz x (4 + value size) bytes, the row table, x and y are each moved once. */
DCSR_API dcsr_status dcsr_spmv(void *y, dcsr_view *A, const void *x);

/* The same on the caller's stream (a cudaStream_t; NULL is the default stream), for a view of a cuda context:
 * the product is put onto the stream, behind what it holds, and the call returns. Only the first product with
 * a view waits, for the rows to be counted. x and y are in the device's memory; they, and the view, must last
 * until the product has run, so the caller has to wait for the stream.
 *
 * Errors: INVALID_ARGUMENT (NULL, host memory, a cpu context), OUT_OF_MEMORY, DEVICE, CONTEXT_DESTROYED,
 * NOT_BUILT; nothing has then been put onto the stream. What fails while the product runs is reported by the
 * caller's next wait for the stream. */
DCSR_API dcsr_status dcsr_spmv_on_stream(void *y, dcsr_view *A, const void *x, void *stream);

/* ---- Many products with one matrix ----
 *
 * dcsr_spmv() reads the store in place. Who multiplies often gains by a kernel that has the entries in a format of its
 * own. A plan has chosen one for a view, and holds the format:
 *
 *      dcsr_spmv_plan *plan;
 *      dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.products = 1000});
 *      for (int i = 0; i < 1000; i++) dcsr_spmv_plan_run(y, plan, x);
 *      dcsr_spmv_plan_destroy(plan);
 *
 * Sums are grouped as the kernel likes; so results of floating point may differ from dcsr_spmv()'s in rounding, and
 * from one another where the number of products decides when a format is built. One kernel on one matrix and one
 * number of threads gives the same bits each time, but for those that are said to vary. Which kernel it is may be
 * decided by timing some of them, where many products are expected: name the kernel for the same bits in every run.
 *
 * Threads: a plan is used by one at a time; any number of plans may show one view. */

typedef struct dcsr_spmv_plan dcsr_spmv_plan;

/* A kernel by its name, and in a line what it does. The texts are constant. */
typedef struct dcsr_spmv_kernel {
    const char *name, *summary;
    bool
        varies; /* does not promise the same bits each time; such a one is taken only where it is asked for by name */
} dcsr_spmv_kernel;
/* The kernels for a device (DCSR_DEVICE_CPU or _CUDA): number 0, 1, ...; NULL beyond the last. */
DCSR_API const dcsr_spmv_kernel *dcsr_spmv_kernel_at(dcsr_device device, uint64_t number);

/* What dcsr_spmv_plan_refresh() does with a format. */
typedef enum dcsr_spmv_refreshing {
    DCSR_SPMV_REFRESH_IF_CHEAPER, /* what is expected to take less time */
    DCSR_SPMV_ALWAYS_REFRESH,     /* brings it up to date wherever that is possible */
    DCSR_SPMV_NEVER_REFRESH       /* builds it anew */
} dcsr_spmv_refreshing;

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_spmv_options {
    const char *
        kernel; /* a name of dcsr_spmv_kernel_at(); NULL or "auto": what is expected to take the least time in
                           all, building included */
    uint64_t
        products; /* with the plan and what it is refreshed to, about; 0: not known. Then the store is read in
                           place until products have cost as much as a better format would. Where they are so
                           many that it pays, thousands mostly, the best kernels are built and timed one after the
                           other (unless memory or for_energy is set) */
    uint64_t
        memory; /* the most bytes that a format may take where the choice is free; 0: what the context has */
    bool
        for_energy; /* choose what should take the least energy, where the model was trained on that (dcsr/features.h);
                        else the least time */
    dcsr_spmv_refreshing refreshing; /* the same bits either way */
} dcsr_spmv_options;

/* Chooses a kernel for the view and builds its format. The plan holds what the view shows, so that the view may be
 * destroyed. *plan is NULL on failure. options may be NULL.
 * Errors: INVALID_ARGUMENT (NULL; a kernel that cannot serve this matrix: the message says why), NOT_FOUND (no kernel
 * of that name on the device: the message lists them), OUT_OF_MEMORY, CONTEXT_DESTROYED, on a device DEVICE.
 * Cost: O(rows) to choose; a format costs as much as two to some hundred products (dcsr_spmv_plan_info). */
DCSR_API dcsr_status dcsr_spmv_plan_create(dcsr_spmv_plan **plan, dcsr_view *A,
                                           const dcsr_spmv_options *options);

/* NULL does nothing. */
DCSR_API void dcsr_spmv_plan_destroy(dcsr_spmv_plan *plan);

/* y = A x; arguments and errors as of dcsr_spmv(). Where the choice is free, and a format is due but there is no memory
 * for it, the store is read in place, here and in the other calls, and the reason says so. */
DCSR_API dcsr_status dcsr_spmv_plan_run(void *y, dcsr_spmv_plan *plan, const void *x);

/* The same on the caller's stream (a cudaStream_t; NULL is the default stream), for a plan of a cuda context: the
 * product is put onto the stream, behind what it holds, and the call returns. x and y are in the device's memory. Some
 * kernels have room for one product's partial sums in their format: products of one plan must follow one another, on
 * one stream or on streams that wait for each other. What was put must have run before the plan is refreshed or
 * destroyed, and, where the kernel is chosen freely and `products` was not given, before the call that builds the
 * format.
 *
 * Errors: INVALID_ARGUMENT (NULL, host memory, a cpu context), OUT_OF_MEMORY, DEVICE, CONTEXT_DESTROYED; nothing has
 * then been put onto the stream. What fails while the product runs is reported by the caller's next wait for it. */
DCSR_API dcsr_status dcsr_spmv_plan_run_on_stream(void *y, dcsr_spmv_plan *plan, const void *x, void *stream);

/* Makes `products` products, each y = A x, one behind the other, and tells the seconds of one, their mean: for a plan
 * of a cuda context by the device's clock, without copying y and x and without the time that the host takes to wait;
 * else by the monotonic clock. Errors: as dcsr_spmv_plan_run(), and INVALID_ARGUMENT (products is 0); *seconds is
 * then 0. */
DCSR_API dcsr_status dcsr_spmv_plan_time(double *seconds, void *y, dcsr_spmv_plan *plan, const void *x,
                                         uint64_t products);

/* The plan shows another view of the same matrix from now on. Its format is built anew, or, where the kernel can and
 * what has changed finds room, brought up to date in the rows that may differ: those whose entries are at other places
 * than before. Products are the same, bit for bit, so that cost decides; a plan times what it does. It brings formats
 * up to date, unless it has seen that not to pay: it took longer for as many rows or fewer than building did last, or
 * there was no room. Such a finding applies to the next refresh of that kind, and where it is confirmed then, to the
 * next 2, 4, ... 64. Where most rows have changed, building comes first. The option `refreshing` asks for one or the
 * other, and dcsr_spmv_plan_info.refresh_reason tells what was done, and why. (On a device a floating-point sum of
 * duplicates that are not resolved in the matrix may differ in rounding from view to view, as ever.)
 *
 * On failure the plan is as it was. Errors: as dcsr_spmv_plan_create(). Cost of finding the rows: that of
 * dcsr_view_diff() without reading entries; but where more than half of the rows are at other places they are read, as
 * many may only have moved. */
DCSR_API dcsr_status dcsr_spmv_plan_refresh(dcsr_spmv_plan *plan, dcsr_view *A);

typedef struct dcsr_spmv_plan_info {
    const char *kernel;       /* that the next product is made with */
    char reason[160];         /* why it was chosen */
    uint64_t bytes;           /* of its format; 0: it reads the view */
    double build_seconds;     /* that building or refreshing the format took last */
    bool refreshed;           /* what was done last was refreshing, of some rows alone */
    char refresh_reason[160]; /* what dcsr_spmv_plan_refresh() did last, and why; "" before it was called */
    uint64_t products;        /* made so far */
    uint64_t version;         /* that the plan shows */
} dcsr_spmv_plan_info;
DCSR_API dcsr_status dcsr_spmv_plan_get_info(const dcsr_spmv_plan *plan, dcsr_spmv_plan_info *info);

#ifdef __cplusplus
}
#endif
#endif
