/* feature_table.c: the features by number and name, as models know them. */
#include "dcsr/base/runtime.h"
#include <dcsr/features.h>
#include <math.h>

/* Where a feature stands in the structure; a size and a type are whole there. */
typedef struct place {
    dcsr_feature feature;
    size_t at;
    bool whole;
} place;

#define WHOLE(field, group, meaning)                                   \
    {                                                                  \
        {#field, group, meaning}, offsetof(dcsr_features, field), true \
    }
#define REAL(field, group, meaning)                                     \
    {                                                                   \
        {#field, group, meaning}, offsetof(dcsr_features, field), false \
    }
#define FACTOR(k, width, text)                                                                  \
    {                                                                                           \
        {"clustering_" width, "clustering", "entries a segment in panels of " text " columns"}, \
            offsetof(dcsr_features, clustering) + (k) * sizeof(double), false                   \
    }

static const place places[] = {
    WHOLE(rows, "size", "rows"),
    WHOLE(cols, "size", "columns"),
    WHOLE(nnz, "nnz", "entries"),
    WHOLE(min_row, "shortest row", "the shortest row"),
    WHOLE(max_row, "longest row", "the longest row"),
    REAL(mean_row, "nnz", "entries a row, the mean"),
    REAL(row_std, "row deviation", "entries a row, the deviation"),
    REAL(pieces, "pieces", "pieces of a row that has entries"),
    REAL(bandwidth, "bandwidth", "columns from a row's first to its last, the mean"),
    REAL(col_std, "column deviation", "entries a column, the deviation"),
    REAL(near, "near columns", "share of entries near the one before"),
    REAL(distinct, "distinct values", "distinct values"),
    FACTOR(0, "128", "128"),
    FACTOR(1, "256", "256"),
    FACTOR(2, "512", "512"),
    FACTOR(3, "1k", "1 K"),
    FACTOR(4, "2k", "2 K"),
    FACTOR(5, "4k", "4 K"),
    FACTOR(6, "8k", "8 K"),
    FACTOR(7, "16k", "16 K"),
    FACTOR(8, "32k", "32 K"),
    FACTOR(9, "64k", "64 K"),
    FACTOR(10, "128k", "128 K"),
    FACTOR(11, "256k", "256 K"),
    FACTOR(12, "512k", "512 K"),
};
/* Those that are computed from several fields follow. */
static const dcsr_feature ratio = {"ratio", "size", "rows a column"},
                          value_bytes = {"value_bytes", "type", "bytes of a value"};
enum { PLACES = sizeof places / sizeof *places, RATIO = PLACES, VALUE_BYTES };

const dcsr_feature *dcsr_feature_at(uint64_t number)
{
    return number < PLACES         ? &places[number].feature
           : number == RATIO       ? &ratio
           : number == VALUE_BYTES ? &value_bytes
                                   : NULL;
}

double dcsr_feature_value(const dcsr_features *features, uint64_t number)
{
    if (number == RATIO) return features->cols ? (double)features->rows / (double)features->cols : 0;
    if (number == VALUE_BYTES) return (double)dcsr_type_size(features->type);
    if (number >= PLACES) return NAN;
    const char *at = (const char *)features + places[number].at;
    return places[number].whole ? (double)*(const uint64_t *)at : *(const double *)at;
}
