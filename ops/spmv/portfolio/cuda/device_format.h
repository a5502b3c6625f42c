/* device_format.h: formats in the memory of a device, and how they are made (internal; for C and for kernels).
 *
 * A format is a few numbers and up to DCSR_SPMV_ARRAYS arrays. A kernel of the portfolio is a recipe for it: one step
 * says how long each array is, one fills them, one multiplies. Taking, counting and freeing memory is done here, once:
 *
 *      measure()   plan -> bytes of the arrays
 *      build()     plan -> arrays -> fill
 *      run()       run, on the stream of the product
 *
 * Arrays of the view that a recipe finds as it wants them are lent: the plan holds the view for as long as the format
 * lasts. */
#ifndef DCSR_DEVICE_FORMAT_H
#define DCSR_DEVICE_FORMAT_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DCSR_SPMV_ARRAYS = 8 };

typedef struct dcsr_i_spmv_array {
    void *at; /* device memory */
    uint64_t count;
    uint32_t size; /* bytes of an element */
    bool lent;
} dcsr_i_spmv_array;

typedef struct dcsr_i_spmv_format {
    uint64_t rows, cols, nnz, longest; /* of the view: rows, columns, entries, and those of the longest row */
    uint32_t type, value_size;         /* of A; 0 for a pattern */
    uint32_t sum_size;                 /* of an element of x and y, and of a sum */
    uint32_t lanes;                    /* to a row, where rows have equally many */
    uint64_t width;                    /* places of each row, where rows have equally many */
    uint64_t tiles;                    /* that the work is cut into */
    uint64_t bin[8];                   /* rows in each bin of lengths */
    dcsr_i_spmv_array array[DCSR_SPMV_ARRAYS];
} dcsr_i_spmv_format;

/* What a format is made of: the rows, on their device. */
typedef struct dcsr_i_spmv_making {
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_rows rows;
    bool contiguous; /* rows lie one behind the other, from place `first` on */
    uint64_t first;
    uint32_t lanes;          /* of the recipe */
    const uint64_t *offsets; /* rows + 1: where each would begin if they lay one behind the other */
} dcsr_i_spmv_making;

/* Rows that have changed, on their device: the walk over their entries as they are now. */
typedef struct dcsr_i_spmv_changed {
    dcsr_i_cuda_walk walk;
    uint64_t entries;  /* of them, at most */
    uint64_t *offsets; /* the walk's */
    uint32_t *differ;  /* 0 at first; kernels raise it */
} dcsr_i_spmv_changed;

typedef struct dcsr_i_spmv_put {
    dcsr_i_cuda_stream *stream; /* failures are noted here */
    void *on;                   /* the cudaStream_t on which the product is put */
    void *y;
    const void *x;
} dcsr_i_spmv_put;

typedef struct dcsr_i_spmv_recipe {
    /* As of a kernel (portfolio.h), from the numbers of the view alone; NULL: it serves all that formats serve. */
    const char *(*refuses)(const dcsr_i_spmv_format *format);
    /* The same, where that takes a look at the entries; *reason stays NULL where it serves. May be NULL. OUT_OF_MEMORY,
     * DEVICE. */
    dcsr_status (*unfit)(const char **reason, const dcsr_i_spmv_format *format,
                         const dcsr_i_spmv_making *making);
    /* Says count and size of each array, and which are lent; the numbers of the view are there. May run kernels. The
     * same for the same rows each time. OUT_OF_MEMORY, DEVICE. */
    dcsr_status (*plan)(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making);
    /* Fills the arrays, which are there. Same errors. */
    dcsr_status (*fill)(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making);
    void (*run)(const dcsr_i_spmv_format *format, const dcsr_i_cuda_rows *rows, const dcsr_i_spmv_put *put);
    uint32_t lanes; /* to a row; 0: as the recipe likes */
    bool by_column; /* has a number for each column */
    /* Puts onto the stream what writes the rows that have changed to their places, or raises changed->differ and then
     * writes nothing, where these are too few or too many. Memory is taken before. OUT_OF_MEMORY, with nothing put that
     * writes. NULL: the format is built anew. */
    dcsr_status (*refresh)(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making,
                           const dcsr_i_spmv_changed *changed);
    /* Whether that may be, by the numbers of the view as it is now; those of `format` are of before, and `making` has
     * no stream. NULL: it may always be. */
    bool (*may_refresh)(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making,
                        const dcsr_i_spmv_format *now);
} dcsr_i_spmv_recipe;

/* ---- Recipes ---- */

extern const dcsr_i_spmv_recipe
    dcsr_i_spmv_recipe_lanes[6];                        /* spmv_csr_lanes.cu: 1, 2, 4 ... 32 lanes to a row */
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_csr; /* by the mean length */
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_dynamic;
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_adaptive; /* spmv_adaptive.cu */
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_merge;    /* spmv_merge.cu */
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_hubs;     /* spmv_hubs.cu */
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_pcsr;     /* spmv_pcsr.cu */
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_ell;      /* spmv_strips.cu */
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_sellp;
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_hyb;
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_coo;
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_adcsr;      /* spmv_adcsr.cu */
extern const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_dictionary; /* spmv_dictionary.cu */

/* ---- For kernels that have a recipe and more (device_format_cuda.c): as those of a kernel (portfolio.h) ---- */

struct dcsr_i_spmv_matrix;
const char *dcsr_i_spmv_format_refuses(const struct dcsr_i_spmv_matrix *A, const dcsr_i_spmv_recipe *recipe);
dcsr_status dcsr_i_spmv_format_measure(uint64_t *bytes, const struct dcsr_i_spmv_matrix *A,
                                       const dcsr_i_spmv_recipe *recipe);
dcsr_status dcsr_i_spmv_format_build(void **format, const struct dcsr_i_spmv_matrix *A,
                                     const dcsr_i_spmv_recipe *recipe);
void dcsr_i_spmv_format_discard(void *format, const struct dcsr_i_spmv_matrix *A);

/* ---- For recipes ---- */

static inline void dcsr_i_spmv_say(dcsr_i_spmv_format *format, int array, uint64_t count, size_t size)
{
    format->array[array].count = count;
    format->array[array].size = (uint32_t)size;
}

/* CSR with offsets of 32 bits (device_csr.cu): arrays 0, 1 and 2 are offsets, columns and values. */
dcsr_status dcsr_i_spmv_csr_plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making);
dcsr_status dcsr_i_spmv_csr_fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making);
/* Where rows have kept their lengths. */
dcsr_status dcsr_i_spmv_csr_refresh(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making,
                                    const dcsr_i_spmv_changed *changed);
/* may_refresh() of formats that list entries: there are as many as before. */
static inline bool dcsr_i_spmv_list_may_refresh(const dcsr_i_spmv_format *format,
                                                const dcsr_i_spmv_making *making,
                                                const dcsr_i_spmv_format *now)
{
    (void)making;
    return format->nnz == now->nnz;
}
/* And those of a CSR, if they are its own and need not be all copied. */
bool dcsr_i_spmv_csr_may_refresh(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making,
                                 const dcsr_i_spmv_format *now);
/* If changed->differ has been raised, the walk has no entries for what is put onto the stream from now on: so the host
 * need not look at it before it puts what writes them. */
void dcsr_i_spmv_stop_if_raised(const dcsr_i_spmv_making *making, const dcsr_i_spmv_changed *changed);
/* start[k] = how many of the rows weigh less than k * items, for k = 0 .. tiles; row i weighs ends[i] + i. */
void dcsr_i_spmv_find_tiles(dcsr_i_cuda_stream *stream, const uint32_t *ends, uint64_t rows, uint64_t items,
                            uint32_t *start, uint64_t tiles);

/* Counts of n things in scratch memory, of n + 1 places, become what precedes each; what is counted in all comes last.
 * NULL, with the counts freed: no memory. counts may be NULL, for the same reason. */
uint64_t *dcsr_i_spmv_scanned(const dcsr_i_spmv_making *making, uint64_t *counts, uint64_t n);
/* The same of the widths of slices of 32 rows (device_slices.cu). */
uint64_t *dcsr_i_spmv_slice_starts(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making);
/* What is counted in all, of either; frees it. */
dcsr_status dcsr_i_spmv_total(const dcsr_i_spmv_making *making, uint64_t *starts, uint64_t n,
                              uint64_t *total);

#ifdef __cplusplus
}
#endif
#endif
