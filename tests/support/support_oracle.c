/* support_oracle.c: the oracle: a matrix that follows matrix.h literally, one entry after the other. */
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t oracle_value(dcsr_type type, const void *values, uint64_t i)
{
    uint64_t bits = 0;
    size_t size = dcsr_type_size(type);
    if (size) memcpy(&bits, (const char *)values + i * size, size);
    return bits;
}

static double pick_double(dcsr_policy policy, double old, double new)
{
    if (policy == DCSR_POLICY_SUM) return old + new;
    if (isnan(old)) return new;
    return policy == DCSR_POLICY_MIN ? (new < old ? new : old) : (new > old ? new : old);
}

static uint64_t pick_integer(dcsr_type type, dcsr_policy policy, uint64_t old, uint64_t new)
{
    unsigned shift = 64 - 8 * (unsigned)dcsr_type_size(type);
    if (policy == DCSR_POLICY_SUM) return (old + new) << shift >> shift;
    uint64_t flip = type >= DCSR_INT8 && type <= DCSR_INT64 ? (uint64_t)1 << 63 : 0;
    bool less = ((new << shift) ^ flip) < ((old << shift) ^ flip);
    return (policy == DCSR_POLICY_MIN) == less ? new : old;
}

uint64_t oracle_combine(dcsr_type type, dcsr_policy policy, uint64_t old, uint64_t new)
{
    if (policy == DCSR_POLICY_LAST) return new;
    if (policy == DCSR_POLICY_ANY || type == DCSR_PATTERN) return old;
    if (type == DCSR_BOOL) return policy == DCSR_POLICY_MIN ? (old & new) : (old | new);
    if (type == DCSR_FP64) {
        double a, b;
        memcpy(&a, &old, sizeof a);
        memcpy(&b, &new, sizeof b);
        a = pick_double(policy, a, b);
        return oracle_value(type, &a, 0);
    }
    if (type == DCSR_FP32) {
        float a, b;
        memcpy(&a, &old, sizeof a);
        memcpy(&b, &new, sizeof b);
        a = (float)pick_double(policy, a, b);
        return oracle_value(type, &a, 0);
    }
    return pick_integer(type, policy, old, new);
}

void oracle_create(oracle *model, dcsr_type type, dcsr_policy policy, uint64_t rows, uint64_t cols)
{
    if (policy == DCSR_POLICY_DEFAULT) policy = type == DCSR_PATTERN ? DCSR_POLICY_ANY : DCSR_POLICY_LAST;
    *model = (oracle){type, policy, rows, cols, test_allocate(rows, sizeof(oracle_row))};
}

void oracle_destroy(oracle *model)
{
    for (uint64_t r = 0; r < model->rows; r++) free(model->row[r].entry);
    free(model->row);
    *model = (oracle){0};
}

void oracle_copy(oracle *copy, const oracle *model)
{
    *copy = *model;
    copy->row = test_copy(model->row, model->rows * sizeof(oracle_row));
    for (uint64_t r = 0; r < model->rows; r++) {
        oracle_row *row = &copy->row[r];
        row->entry = row->length ? test_copy(row->entry, row->length * sizeof(oracle_entry)) : NULL;
        row->capacity = row->length;
    }
}

/* The first place in the row whose column is not below col. */
static size_t place(const oracle_row *row, uint64_t col)
{
    size_t low = 0, high = row->length;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (row->entry[middle].column < col)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t count_at(const oracle_row *row, size_t at, uint64_t col)
{
    size_t n = 0;
    while (at + n < row->length && row->entry[at + n].column == col) n++;
    return n;
}

void oracle_insert(oracle *model, size_t n, const uint64_t *rows, const uint64_t *cols, const void *values)
{
    for (size_t i = 0; i < n; i++) {
        oracle_row *row = &model->row[rows[i]];
        uint64_t value = oracle_value(model->type, values, i);
        size_t at = place(row, cols[i]), there = count_at(row, at, cols[i]);
        if (there && model->policy != DCSR_POLICY_KEEP) {
            row->entry[at].value = oracle_combine(model->type, model->policy, row->entry[at].value, value);
            continue;
        }
        if (row->length == row->capacity) {
            row->capacity = row->capacity * 2 + 4;
            row->entry = realloc(row->entry, row->capacity * sizeof *row->entry);
            if (!row->entry) abort();
        }
        at += there;
        memmove(row->entry + at + 1, row->entry + at, (row->length - at) * sizeof *row->entry);
        row->entry[at] = (oracle_entry){(uint32_t)cols[i], 0, value};
        row->length++;
    }
}

void oracle_remove(oracle *model, size_t n, const uint64_t *rows, const uint64_t *cols)
{
    for (size_t i = 0; i < n; i++) {
        oracle_row *row = &model->row[rows[i]];
        size_t at = place(row, cols[i]), there = count_at(row, at, cols[i]);
        if (!there) continue;
        row->length -= there;
        memmove(row->entry + at, row->entry + at + there, (row->length - at) * sizeof *row->entry);
    }
}

void oracle_resize(oracle *model, uint64_t rows, uint64_t cols)
{
    oracle_row *kept = test_allocate(rows, sizeof(oracle_row));
    for (uint64_t r = 0; r < model->rows; r++) {
        if (r < rows)
            kept[r] = model->row[r];
        else
            free(model->row[r].entry);
    }
    free(model->row);
    model->row = kept;
    model->rows = rows;
    model->cols = cols;
    for (uint64_t r = 0; r < rows; r++) kept[r].length = place(&kept[r], cols);
}

uint64_t oracle_nnz(const oracle *model)
{
    uint64_t nnz = 0;
    for (uint64_t r = 0; r < model->rows; r++) nnz += model->row[r].length;
    return nnz;
}

bool oracle_get(const oracle *model, uint64_t row, uint64_t col, uint64_t *value)
{
    const oracle_row *entries = &model->row[row];
    size_t at = place(entries, col), there = count_at(entries, at, col);
    if (there) *value = entries->entry[at + there - 1].value;
    return there != 0;
}
