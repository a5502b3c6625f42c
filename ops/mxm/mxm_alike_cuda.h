/* mxm_alike_cuda.h: products whose rows are shifts of a few rows, on a device (internal; for C and for kernels).
 *
 * In the matrix of a stencil most rows are shifts of one another: the same columns, but for a number that is added to
 * all. So are most rows of a product of two. Rows that are shifts of one another are of one kind, and for each kind it
 * is found out once which products add up to which entry: its program. Then the entries of all rows are known before
 * any is computed, room is taken for just these, rows stand in order, and a product takes no search.
 *
 *      kinds of B's rows     by their columns                                                    mxm_kinds.cu
 *      kinds of C's rows     by the kinds and shifts of the rows of B that they add up
 *      programs              the products of one row of each kind, by column
 *      lengths, begins       of all rows of C
 *      strips                  rows that follow one another, each shifted by one from the one      mxm_alike.cu
 *                            before; so are, in memory, the rows of A and of B that they read
 *      loose rows            all others, sorted by kind
 *
 * Nothing is assumed: rows of a kind have been compared entry by entry. Where there are too many kinds the first two
 * steps end early. */
#ifndef DCSR_MXM_ALIKE_CUDA_H
#define DCSR_MXM_ALIKE_CUDA_H

#include "ops/mxm/mxm_rows_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DCSR_CUDA_MXM_KINDS = 255, /* slots of the table; a kind's number is its slot */
    DCSR_CUDA_MXM_MOST_KINDS = 200,
    DCSR_CUDA_MXM_NO_KIND = 255,     /* a row that is of none */
    DCSR_CUDA_MXM_KIND_ENTRIES = 32, /* of rows of A and of B at most: a lane for each */
    DCSR_CUDA_MXM_MOST_STEPS = DCSR_CUDA_MXM_KIND_ENTRIES * DCSR_CUDA_MXM_KIND_ENTRIES,
    DCSR_CUDA_MXM_MOST_ENTRIES = 256, /* of a row of C */
    DCSR_CUDA_MXM_SHARES = 16         /* that a program can be cut into, for warps */
};

/* Products of fewer rows are not worth the launches; nor are those of which more than half of the rows are left. */
#ifdef DCSR_SIMT
enum { DCSR_CUDA_MXM_LEAST_ALIKE = 48 };
#else
enum { DCSR_CUDA_MXM_LEAST_ALIKE = 1024 };
#endif

/* An open hash table of kinds. */
typedef struct dcsr_i_cuda_mxm_kinds {
    uint32_t row[DCSR_CUDA_MXM_KINDS]; /* the row that the others are compared with; UINT32_MAX: none */
    uint32_t count;                    /* MOST_KINDS or more: too many, and not all have been looked for */
} dcsr_i_cuda_mxm_kinds;

/* Besides a row's kind: whether it follows the row before it. Of B: in memory. Of C: its row of A does, whose columns
 * are those of the row before and one, the rows of B that these name do, and so its columns are shifted by one. */
#define DCSR_CUDA_MXM_FOLLOWS 0x100u

/* How the rows of a kind are computed: products in the order of C's entries, those of an entry in the order of A's. */
typedef struct dcsr_i_cuda_mxm_program {
    uint32_t terms, steps, entries; /* entries of the row of A, products, entries of the row of C */
    uint32_t shares;                /* of about equally many steps, for a warp each */
    /* Where a share's steps begin (at a multiple of 4) and end, and its entries begin. Behind its last step stand
     * others without effect, up to the next multiple of 4. */
    uint16_t begin[DCSR_CUDA_MXM_SHARES], end[DCSR_CUDA_MXM_SHARES], entry[DCSR_CUDA_MXM_SHARES];
    /* Number of the entry of A, of the entry of the row of B (8 bits each), and LAST. */
    uint32_t step[DCSR_CUDA_MXM_MOST_STEPS + 4 * DCSR_CUDA_MXM_SHARES];
    uint32_t column[DCSR_CUDA_MXM_MOST_ENTRIES]; /* counted from the first column of the first row of B */
} dcsr_i_cuda_mxm_program;

#define DCSR_CUDA_MXM_LAST_STEP 0x80000000u /* of an entry of C */

typedef struct dcsr_i_cuda_mxm_plan {
    uint64_t products;                             /* of all rows that have a kind */
    uint64_t loose, left;                          /* rows; without a kind */
    uint64_t collected;                            /* of these two so far */
    uint64_t entries;                              /* of C */
    uint32_t most_terms, most_steps, most_entries; /* of a program */
} dcsr_i_cuda_mxm_plan;

/* What is known of rows, all on the device. */
typedef struct dcsr_i_cuda_mxm_alike {
    uint64_t *shift;                     /* of each row of B: first column, 32 bits; kind and FOLLOWS */
    uint32_t *kind;                      /* of each row of C; and FOLLOWS */
    dcsr_i_cuda_mxm_kinds *of_b, *of_c;  /* side by side */
    uint64_t *begin;                     /* of each row of C in the room; one more */
    dcsr_i_cuda_mxm_program *program;    /* of each kind */
    dcsr_i_cuda_mxm_plan *plan, planned; /* and as last read back */
    /* Loose rows and those that are left, sorted by kind. */
    uint32_t *loose_kind, *kind_spare, *loose_row, *row_spare;
    uint64_t *first_loose; /* of each kind; two more for what follows the last */
    uint64_t *first_tile;  /* of the loose rows of each kind; one more for their number */
    size_t shared_bytes;   /* that a block may have */
    uint32_t most_entries; /* of a row of C, for which these suffice */
} dcsr_i_cuda_mxm_alike;

/* ---- mxm_alike_cuda.c ---- */

/* What it may take besides the room at most. */
size_t dcsr_i_cuda_mxm_alike_bytes(const dcsr_i_cuda_mxm_job *job);
/* Finds out whether the rows of job's product are alike; if most *are, then dcsr_i_cuda_mxm_alike_compute() may be
 * called with room for planned.entries. In any case dcsr_i_cuda_mxm_alike_close(). Waits. */
dcsr_status dcsr_i_cuda_mxm_alike_open(dcsr_i_cuda_mxm_alike *alike, dcsr_i_cuda_stream *stream,
                                       const dcsr_i_cuda_mxm_job *job, bool *are);
/* Writes these rows from place job->first on, and notes the planned.left others in job->left. */
dcsr_status dcsr_i_cuda_mxm_alike_compute(dcsr_i_cuda_mxm_alike *alike, dcsr_i_cuda_stream *stream,
                                          const dcsr_i_cuda_mxm_job *job);
void dcsr_i_cuda_mxm_alike_close(dcsr_i_cuda_mxm_alike *alike, dcsr_i_cuda_stream *stream,
                                 const dcsr_i_cuda_mxm_job *job);

/* ---- mxm_kinds.cu ---- */

/* The tables are empty before: all bytes 0xff, counts 0. */
void dcsr_i_cuda_mxm_find_kinds(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                const dcsr_i_cuda_mxm_alike *alike);
void dcsr_i_cuda_mxm_write_programs(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                    const dcsr_i_cuda_mxm_alike *alike);
/* job->length; rows whose kind has no program lose it; the plan's first three. */
void dcsr_i_cuda_mxm_measure_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                  const dcsr_i_cuda_mxm_alike *alike);
/* loose_row and loose_kind, in no order. */
void dcsr_i_cuda_mxm_collect_loose(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                   const dcsr_i_cuda_mxm_alike *alike);
/* first_tile, from first_loose. */
void dcsr_i_cuda_mxm_plan_tiles(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_alike *alike);

/* ---- mxm_alike.cu ---- */

/* Entries of rows of C for which so many bytes of shared memory suffice. */
uint32_t dcsr_i_cuda_mxm_most_entries(size_t shared_bytes);
void dcsr_i_cuda_mxm_run_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                              const dcsr_i_cuda_mxm_alike *alike);
void dcsr_i_cuda_mxm_run_loose(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                               const dcsr_i_cuda_mxm_alike *alike);

#ifdef __cplusplus
}
#endif
#endif
