/* follow_stages.h: what an update on a device works with (internal). */
#ifndef DCSR_AMG_FOLLOW_STAGES_H
#define DCSR_AMG_FOLLOW_STAGES_H

#include "amg/cuda/amg_stages.h"
#include "amg/cuda/follow_cuda.h"

/* Rows that were computed, and how many entries they have at most; held by these arrays, or by others. */
typedef struct dcsr_i_amg_cuda_rows_made {
    dcsr_i_amg_cuda_made rows;
    uint64_t entries;
    dcsr_i_amg_array node, begin, end, columns, values;
} dcsr_i_amg_cuda_rows_made;

/* Sets of a level, by the names that follow.c has for them; then counters: entries of A, P and R that have moved, and
 * that these rows had; and numbers of one step each. */
enum {
    DCSR_I_WEIGHED,
    DCSR_I_LOOKED,
    DCSR_I_DIRTY,
    DCSR_I_SMOOTHED,
    DCSR_I_COLUMNS,
    DCSR_I_COARSE,
    DCSR_I_SOURCES,
    DCSR_I_MOVED,
    DCSR_I_PARTS,
    DCSR_I_MEMBERS,
    DCSR_I_VECTORS,
    DCSR_I_SETS,
    DCSR_I_PLACED = DCSR_I_SETS,
    DCSR_I_GONE = DCSR_I_PLACED + 3,
    DCSR_I_ENTRIES = DCSR_I_GONE + 3,
    DCSR_I_REACHED,
    DCSR_I_KEYS,
    DCSR_I_WRONG,
    DCSR_I_LOPSIDED,
    DCSR_I_ROOM,
    DCSR_I_TURNED,
    DCSR_I_AP_USED,
    DCSR_I_AP_FULL,
    DCSR_I_RAP_USED,
    DCSR_I_RAP_FULL,
    DCSR_I_LEFT,
    DCSR_I_COUNTERS
};

enum { DCSR_I_AMG_CUDA_SCRATCH = 48 };
typedef struct dcsr_i_amg_cuda_follow {
    dcsr_i_amg_hierarchy *h;
    dcsr_i_amg_level *level;
    const char *why; /* the levels have to be set up anew, if it is not NULL */
    /* What was written, at most log_bound words of it; and what A, P and R of each level had. */
    dcsr_i_amg_array where, what, log_count;
    uint64_t log_bound;
    struct dcsr_i_amg_cuda_before {
        bool moved;
        uint64_t used, nnz;
    } before[DCSR_I_AMG_MOST_LEVELS][3];
    /* Of one level: memory that is given back behind it. */
    dcsr_i_amg_array scratch[DCSR_I_AMG_CUDA_SCRATCH];
    int scratch_count;
    uint32_t *bits, *lists;
    uint64_t *counters;           /* on the device; */
    uint64_t at[DCSR_I_COUNTERS]; /* as they were when they were read last */
    dcsr_i_amg_array vectors,
        next_vectors; /* nodes whose near-nullspace vectors differ; those of the next level */
} dcsr_i_amg_cuda_follow;

/* ---- follow_memory_cuda.c ---- */

/* Memory until the level is done; not zeroed. NULL: there is none. */
void *dcsr_i_amg_cuda_scratch(dcsr_i_amg_cuda_follow *f, uint64_t count, size_t size);
void dcsr_i_amg_cuda_scratch_end(dcsr_i_amg_cuda_follow *f);

/* Room for `more` words in the log. */
dcsr_status dcsr_i_amg_cuda_log_room(dcsr_i_amg_cuda_follow *f, uint64_t more);
dcsr_i_amg_cuda_log dcsr_i_amg_cuda_log_of(const dcsr_i_amg_cuda_follow *f);

/* Gives a matrix arrays of its own into which rows can move, with room for `more` entries. */
dcsr_status dcsr_i_amg_cuda_loosen(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, uint64_t more);
/* Closes the gaps, if they are many; where there is no memory for it, another time. */
void dcsr_i_amg_cuda_tidy(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h);
/* The rows as a matrix. */
dcsr_status dcsr_i_amg_cuda_collect(dcsr_matrix **made, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows);
/* To the host: n x n, column after column; `dense` comes as zeros. */
dcsr_status dcsr_i_amg_cuda_bring_dense(double *dense, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows);

dcsr_i_amg_cuda_set dcsr_i_amg_cuda_set_of(const dcsr_i_amg_cuda_follow *f, int number);
dcsr_status dcsr_i_amg_cuda_read_counters(dcsr_i_amg_cuda_follow *f);

/* ---- regroup_cuda.c ---- */

/* Gives nodes of LOOKED aggregates where they need others, and makes T of the aggregates that get or lose nodes, or
 * have nodes whose vectors differ. LOOKED gets all whose rows of P this reaches, with room for their entries in
 * `begin`. */
dcsr_status dcsr_i_amg_cuda_regroup(dcsr_i_amg_cuda_follow *f, uint64_t *begin);

/* ---- follow_cuda.c ---- */

dcsr_status dcsr_i_amg_cuda_follow_rows(dcsr_i_amg_hierarchy *h, dcsr_view *A, const dcsr_index_list *rows,
                                        uint64_t *count, const char **why);

#endif
