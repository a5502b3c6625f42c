/* features.h: what a matrix looks like, in some numbers, and the models that choose by them how to compute with it.
 *
 * The features of Dufrechou et al., "Selecting optimal SpMV realizations for GPUs via machine learning", and the column
 * deviation and clustering factors of Hong et al., "Optimizing Sparse-Matrix Sparse-Vector Multiplication for GPUs";
 * besides them what helps a store on few cores: pieces of rows, repeated values, near columns. */
#ifndef DCSR_FEATURES_H
#define DCSR_FEATURES_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Widths of column panels: 128, 256, ... 512 K columns. */
#define DCSR_CLUSTERING_FACTORS 13
/* More distinct values than this are not told apart. */
#define DCSR_MOST_DISTINCT 256

typedef struct dcsr_features {
    dcsr_type type;
    /* Always exact. The mean and the (population) deviation are over all rows, empty ones included. */
    uint64_t rows, cols, nnz;
    uint64_t min_row, max_row;
    double mean_row, row_std;
    double pieces; /* of the rows that have entries, the mean: 1 where the store is defragmented */
    /* Of the rows that were read, which stand for all. */
    double bandwidth; /* mean of (last column - first column + 1), over the rows that have entries */
    double col_std;   /* the (population) deviation of the number of entries of a column, over all columns */
    /* Number k: entries over segments, where a segment is what a row has in one panel of 128 << k columns, if that is
     * not empty. 1: no two entries of a row are in one panel. 0: there are no entries. */
    double clustering[DCSR_CLUSTERING_FACTORS];
    double
        near; /* of the entries that are not the first of their row, by column, the share of those that are at most
                    65535 columns behind the one before; 1 if there are none */
    double
        distinct; /* values, told apart by their bits; 0 for pattern, DCSR_MOST_DISTINCT + 1: more than that */
    uint64_t rows_read, entries_read; /* for these; a row may have been read more than once */
    bool exact;                       /* all entries were read, each once */
} dcsr_features;

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_features_options {
    bool exact; /* read all entries, however many */
} dcsr_features_options;

/* Fills *features of what the view shows. options may be NULL.
 *
 * Row lengths are looked at in all rows; a view of up to 32768 entries is read as a whole. Of others, rows are drawn at
 * random, independently of one another and with repetition, from the pages of rows in use (on a device from all rows):
 * as many as have 32768 entries by the mean, 256 at least and 2048 at most; reading stops where they have come to four
 * times as many entries and 256 rows. They are the same rows for the same row lengths, so that the result is
 * reproducible. The means are those of the rows drawn; the deviation of columns is estimated without bias from how
 * often two drawn rows have a column in common, so it is as rough as some tenths of the mean. The number of distinct
 * values is a lower bound.
 *
 * What was computed is kept with the view and, for other views of the version that show it alike, with the matrix, as
 * long as nothing is computed of a later one. dcsr_view_get_info() then counts nothing anew, and dcsr_mxv() chooses its
 * direction by what the model of this machine has learnt (dcsr/mxv.h). In a cuda context row lengths are counted on the
 * device, and the rows that are read are gathered there and copied.
 *
 * Errors: INVALID_ARGUMENT (NULL), CONTEXT_DESTROYED, OUT_OF_MEMORY, DEVICE; *features is then all zero. Threads:
 * as for reading the view; one that asks while another computes waits for it. Cost: O(rows in use) as
 * dcsr_view_get_info(), and up to some milliseconds for the rows that are read; memory up to 24 bytes for each
 * entry read, which are given back. */
DCSR_API dcsr_status dcsr_view_get_features(dcsr_features *features, dcsr_view *view,
                                            const dcsr_features_options *options);

/* A feature as models know it: a real number with a name. */
typedef struct dcsr_feature {
    const char *name;    /* "nnz", "clustering_128", ... */
    const char *group;   /* features that are left out together where it is asked what they are worth */
    const char *meaning; /* a few words */
} dcsr_feature;

/* The features, number 0, 1, ...; NULL beyond the last. The texts are constant. */
DCSR_API const dcsr_feature *dcsr_feature_at(uint64_t number);
/* The value of feature `number`; NaN beyond the last. */
DCSR_API double dcsr_feature_value(const dcsr_features *features, uint64_t number);

/* ---- Models ----
 *
 * A model chooses kernels of y = A x by features (dcsr_spmv_plan). It has been trained on what `dcsr tune` measured on
 * a machine. Parts of the library are one for processors of AMD, one for those of Intel, and one for GPUs; a user's own
 * takes their place, if it was made on this machine. It is looked for in the file that the environment variable
 * DCSR_MODEL names, else in $XDG_DATA_HOME/dcsr/ (~/.local/share/dcsr/) under the name cpu.model or cuda.model, when a
 * process chooses a kernel for the first time. docs/SELECTION.md describes the format. */

typedef struct dcsr_model_info {
    dcsr_device device;
    char machine[128]; /* where its training data were measured: processor or GPU, threads */
    char made[256];    /* when, by what, from how many matrices */
    char file[256];    /* the end of its path; empty for the model of the library */
    int kernels;       /* that it chooses among */
    int trees;         /* of the forest for time */
    bool energy;       /* it has one for energy, too */
    bool vectors;      /* it has a support vector machine for products with sparse vectors */
    char refused[512]; /* why the user's model is not in use; empty if there is none, or it is */
} dcsr_model_info;

/* Tells which model chooses in contexts of this device: on processors of other makers that for those of AMD. Errors:
 * INVALID_ARGUMENT, CONTEXT_DESTROYED, OUT_OF_MEMORY. Cost: the first call for a device in a process reads and checks
 * the models, some milliseconds. */
DCSR_API dcsr_status dcsr_model_get_info(dcsr_model_info *info, dcsr_context *context);

/* Reads a file as a model for the context's device and machine, and tells of it; nothing is changed.
 * Errors: NOT_FOUND, IO, FORMAT (no model, of another version, damaged, of another device or machine: the message says
 * which and what to do), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_model_check(dcsr_model_info *info, dcsr_context *context, const char *path);

/* Where the user's model of the context's device is looked for, whether it is there or not, and what models call this
 * machine; each is as long as its size at most. Errors: TOO_LARGE. */
DCSR_API dcsr_status dcsr_model_get_path(dcsr_context *context, char *path, size_t size);
DCSR_API dcsr_status dcsr_model_get_machine(dcsr_context *context, char *machine, size_t size);

#ifdef __cplusplus
}
#endif
#endif
