/* features.h: what a matrix looks like, in some numbers by which models choose how to compute with it.
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
 * The view keeps what was computed, for later calls. In a cuda context row lengths are counted on the device, and the
 * rows that are read are gathered there and copied.
 *
 * Errors: INVALID_ARGUMENT (NULL), CONTEXT_DESTROYED, OUT_OF_MEMORY, DEVICE; *features is then all zero. Threads:
 * as for reading the view; one that asks while another computes waits for it. Cost: O(rows in use) as
 * dcsr_view_get_info(), and half a millisecond to one for the rows that are read; memory up to 24 bytes for each
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

#ifdef __cplusplus
}
#endif
#endif
