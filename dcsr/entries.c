/* entries.c: the entries that a call gives to a matrix: checking and packing them. */
#include "dcsr/entries.h"
#include "dcsr/store.h"
#ifdef DCSR_CUDA
#include "dcsr/cuda.h"
#endif

/* The least room that an operation gets: small batches will join it. */
enum { LEAST_CAPACITY = 64 };

/* ---- Checking ---- */

#ifdef DCSR_CUDA
/* The function that takes what this one does not. */
static const char *counterpart(const dcsr_i_entries *e)
{
    if (e->kind == DCSR_I_INSERT) return e->on_device ? "dcsr_matrix_insert" : "dcsr_matrix_insert_device";
    return e->on_device ? "dcsr_matrix_remove" : "dcsr_matrix_remove_device";
}

static dcsr_status check_place(const dcsr_matrix *matrix, const dcsr_i_entries *e, const char *name,
                               const void *array)
{
    if (!array) return DCSR_OK;
    dcsr_cuda_place place = dcsr_cuda_where(matrix->context->cuda, array);
    bool on_device = place == DCSR_CUDA_ON_DEVICE || place == DCSR_CUDA_ELSEWHERE;
    if (e->on_device != on_device)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is in the memory of %s; call %s", e->call,
                           name, on_device ? "a device" : "the host", counterpart(e));
    if (place == DCSR_CUDA_ELSEWHERE)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: %s is in the memory of another device than the matrix; copy it there first",
                           e->call, name);
    return DCSR_OK;
}

static dcsr_status check_places(const dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    if (!matrix->cuda) {
        if (!e->on_device) return DCSR_OK;
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: the matrix is on the cpu; call %s with arrays in the memory of the host, or "
                           "create the context with DCSR_DEVICE_CUDA",
                           e->call, counterpart(e));
    }
    DCSR_TRY(check_place(matrix, e, "rows", e->rows));
    DCSR_TRY(check_place(matrix, e, "cols", e->cols));
    return check_place(matrix, e, "values", e->values);
}
#else
static dcsr_status check_places(const dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    (void)matrix;
    if (!e->on_device) return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_NOT_BUILT,
        "%s: this library was not built with CUDA; use the function for arrays in the memory of the host",
        e->call);
}
#endif

dcsr_status dcsr_i_entries_check(const dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if (e->n && e->kind == DCSR_I_INSERT && !e->values != !matrix->value_size)
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH,
                           e->values ? "%s: values given to a pattern-only matrix; pass NULL"
                                     : "%s: a matrix of %s needs values, and none were given",
                           e->call, dcsr_type_name(matrix->type));
    if (e->n && (!e->rows || !e->cols))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", e->call, e->rows ? "cols" : "rows");
    if (e->n > (matrix->cuda ? DCSR_I_MOST_DEVICE_ENTRIES : SIZE_MAX / 32))
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "%s: a batch of %zu entries; split it", e->call, e->n);
    return check_places(matrix, e);
}

/* The first entry outside the dimensions, or n. */
static size_t first_outside(const dcsr_i_entries *e, uint64_t rows, uint64_t cols, int threads)
{
    size_t first = e->n;
#pragma omp parallel for num_threads(threads) reduction(min : first) if (threads > 1)
    for (size_t i = 0; i < e->n; i++)
        if ((e->rows[i] >= rows || e->cols[i] >= cols) && i < first) first = i;
    return first;
}

dcsr_status dcsr_i_fail_outside(const char *call, uint64_t i, uint64_t n, uint64_t row, uint64_t col,
                                uint64_t rows, uint64_t cols)
{
    return dcsr_i_fail(
        DCSR_ERROR_INDEX_OUT_OF_RANGE,
        "%s: entry %llu of %llu is (%llu, %llu), outside the %llu x %llu matrix; nothing of the batch was "
        "applied; resize the matrix or leave the entry out",
        call, (unsigned long long)i, (unsigned long long)n, (unsigned long long)row, (unsigned long long)col,
        (unsigned long long)rows, (unsigned long long)cols);
}

dcsr_status dcsr_i_fail_outside_now(uint64_t i, uint64_t row, uint64_t col, uint64_t rows, uint64_t cols)
{
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "a batch with entry %llu at (%llu, %llu) was not applied: the resize before it failed "
                       "and the matrix is still %llu x %llu; resize it and insert the batch again",
                       (unsigned long long)i, (unsigned long long)row, (unsigned long long)col,
                       (unsigned long long)rows, (unsigned long long)cols);
}

dcsr_status dcsr_i_entries_within(const dcsr_i_entries *e, uint64_t rows, uint64_t cols, int threads)
{
    size_t i = first_outside(e, rows, cols, threads);
    if (i == e->n) return DCSR_OK;
    return dcsr_i_fail_outside(e->call, i, e->n, e->rows[i], e->cols[i], rows, cols);
}

/* ---- Packing ---- */

static int bits_for(uint64_t count)
{
    return count > 1 ? 64 - __builtin_clzll(count - 1) : 0;
}

static uint64_t load_value(const void *values, size_t size, size_t i)
{
    switch (size) {
    case 1:
        return ((const uint8_t *)values)[i];
    case 2:
        return ((const uint16_t *)values)[i];
    case 4:
        return ((const uint32_t *)values)[i];
    default:
        return ((const uint64_t *)values)[i];
    }
}

/* Copies values that stand apart. */
static void copy_values(char *to, const char *from, size_t bytes, int threads)
{
    enum { AT_ONCE = 1 << 18 };
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (size_t i = 0; i < bytes; i += AT_ONCE)
        memcpy(to + i, from + i, bytes - i < AT_ONCE ? bytes - i : AT_ONCE);
}

void dcsr_i_entries_pack(dcsr_i_operation *operation, const dcsr_i_entries *e, int threads)
{
    uint64_t *to = operation->entries + operation->n * (uint64_t)operation->stride;
    int bits = operation->column_bits, stride = operation->stride;
    size_t size = operation->value_size, apart = dcsr_i_size_apart(operation);
    bool ascending = operation->ascending;
#pragma omp parallel for num_threads(threads) reduction(&& : ascending) if (threads > 1)
    for (size_t i = 0; i < e->n; i++) {
        uint64_t key = e->rows[i] << bits | e->cols[i];
        if (i && key <= (e->rows[i - 1] << bits | e->cols[i - 1])) ascending = false;
        to[i * (size_t)stride] = key;
        if (stride > 1) to[i * (size_t)stride + 1] = load_value(e->values, size, i);
    }
    if (apart && e->n)
        copy_values(dcsr_i_values(operation) + operation->n * apart, e->values, e->n * apart, threads);
    if (operation->n && e->n && to[0] <= to[-stride]) ascending = false;
    operation->ascending = ascending;
    operation->n += e->n;
    operation->batches++;
}

dcsr_status dcsr_i_entries_room(dcsr_i_operation *operation, uint64_t capacity)
{
    uint64_t *larger =
        dcsr_i_realloc(operation->context, dcsr_i_entries_pool(operation->context), operation->entries,
                       operation->capacity, capacity, operation->entry_bytes);
    if (!larger) return DCSR_ERROR_OUT_OF_MEMORY;
    memmove(larger + capacity, larger + operation->capacity, operation->n * dcsr_i_size_apart(operation));
    operation->entries = larger;
    operation->capacity = capacity;
    return DCSR_OK;
}

dcsr_status dcsr_i_entries_operation(dcsr_i_operation **operation, dcsr_matrix *matrix,
                                     const dcsr_i_entries *e, uint64_t rows, uint64_t cols)
{
    dcsr_i_operation *created = dcsr_i_operation_create(matrix->context, e->kind);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->value_size = e->kind == DCSR_I_INSERT ? matrix->value_size : 0;
    created->stride = created->value_size && !matrix->cuda ? 2 : 1;
    created->entry_bytes = (size_t)created->stride * sizeof *created->entries + dcsr_i_size_apart(created);
    created->rows = rows;
    created->cols = cols;
    created->row_bits = bits_for(rows);
    created->column_bits = bits_for(cols);
    created->ascending = true;
    dcsr_status status = DCSR_OK;
    if (!e->on_device) status = dcsr_i_entries_room(created, e->n > LEAST_CAPACITY ? e->n : LEAST_CAPACITY);
    if (status != DCSR_OK) {
        dcsr_i_operation_release(created);
        return status;
    }
    *operation = created;
    return DCSR_OK;
}
