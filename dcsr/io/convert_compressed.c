/* convert_compressed.c: matrices from compressed rows (CSR) and compressed columns (CSC).
 *
 * Both are one format with rows and columns exchanged: offsets by the major index, one minor index an entry.
 */
#include "dcsr/io/convert_out.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/store/load.h"
#include "dcsr/store/maintained_transpose.h"

typedef struct compressed {
    const char *name, *major, *minor, *array; /* "CSR", "row", "column", "col_indices" */
    uint64_t majors, minors, nnz;
    dcsr_type type;
    const uint64_t *offsets;
    const uint32_t *indices; /* minor ones */
    const void *values;
} compressed;

static dcsr_status check_offsets(const compressed *c, dcsr_context *context)
{
    if (!c->offsets)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: offsets is NULL; there must be %llu", c->name,
                           (unsigned long long)c->majors + 1);
    if (c->offsets[0] != 0)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: offsets[0] is %llu; it must be 0", c->name,
                           (unsigned long long)c->offsets[0]);
    uint64_t first = UINT64_MAX;
    int threads = dcsr_i_threads(context, c->majors);
#pragma omp parallel for num_threads(threads) reduction(min : first)
    for (uint64_t i = 0; i < c->majors; i++)
        if (c->offsets[i] > c->offsets[i + 1] && i < first) first = i;
    if (first != UINT64_MAX)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: offsets[%llu] is %llu and offsets[%llu] is %llu; they must ascend", c->name,
                           (unsigned long long)first, (unsigned long long)c->offsets[first],
                           (unsigned long long)first + 1, (unsigned long long)c->offsets[first + 1]);
    if (c->offsets[c->majors] != c->nnz)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the last offset is %llu; it must be nnz, %llu",
                           c->name, (unsigned long long)c->offsets[c->majors], (unsigned long long)c->nnz);
    return DCSR_OK;
}

/* The major index of entry i: the last whose offset is not beyond it. */
static uint64_t major_of(const compressed *c, uint64_t i)
{
    uint64_t low = 0, high = c->majors; /* offsets[low] <= i < offsets[high] */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (c->offsets[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static dcsr_status check_minors(const compressed *c, dcsr_context *context)
{
    if (c->nnz && (!c->indices || (c->type != DCSR_PATTERN && !c->values)))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL, but there are %llu entries", c->name,
                           c->indices ? "values" : c->array, (unsigned long long)c->nnz);
    uint64_t first = UINT64_MAX;
    int threads = dcsr_i_threads(context, c->nnz);
#pragma omp parallel for num_threads(threads) reduction(min : first)
    for (uint64_t i = 0; i < c->nnz; i++)
        if (c->indices[i] >= c->minors && i < first) first = i;
    if (first == UINT64_MAX) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "%s: entry %llu, in %s %llu, has %s %llu, but there are %llu %ss", c->name,
                       (unsigned long long)first, c->major, (unsigned long long)major_of(c, first), c->minor,
                       (unsigned long long)c->indices[first], (unsigned long long)c->minors, c->minor);
}

/* Queues the entries of a CSC. */
static dcsr_status load_batches(dcsr_i_loader *loader, const compressed *c)
{
    uint64_t *majors = loader->col, *minors = loader->row;
    size_t size = dcsr_type_size(c->type);
    uint64_t major = 0;
    for (uint64_t begin = 0; begin < c->nnz; begin += DCSR_I_LOAD_ENTRIES) {
        uint64_t left = c->nnz - begin, n = left < DCSR_I_LOAD_ENTRIES ? left : DCSR_I_LOAD_ENTRIES;
        for (uint64_t i = 0; i < n; i++) {
            while (c->offsets[major + 1] <= begin + i) major++;
            majors[i] = major;
            minors[i] = c->indices[begin + i];
        }
        const char *values = size ? (const char *)c->values + begin * size : NULL;
        DCSR_TRY(dcsr_i_loader_insert(loader, n, loader->row, loader->col, values));
    }
    return DCSR_OK;
}

static dcsr_status load(dcsr_matrix **matrix, const char *call, dcsr_context *context, const compressed *c,
                        const dcsr_matrix_options *options)
{
    dcsr_i_loader loader;
    DCSR_TRY(dcsr_i_loader_open(&loader, call, context, c->type, c->minors, c->majors, options));
    dcsr_status status = check_offsets(c, context);
    if (status == DCSR_OK) status = check_minors(c, context);
    if (status == DCSR_OK) status = load_batches(&loader, c);
    return dcsr_i_loader_close(&loader, status, matrix);
}

/* What is left to do for a matrix that was filled; `marked` of its rows may hold duplicates. */
static dcsr_status filled(dcsr_matrix *matrix, const dcsr_csr *csr, uint64_t marked)
{
    atomic_fetch_add(&matrix->counts.inserted, csr->nnz);
    dcsr_i_request_twin(matrix);
    if (!marked) return DCSR_OK;
    DCSR_TRY(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    return dcsr_matrix_wait(matrix);
}

static dcsr_status check_lengths(const dcsr_csr *csr)
{
    for (uint64_t row = 0; row < csr->rows; row++)
        if (csr->offsets[row + 1] - csr->offsets[row] > UINT32_MAX / 2)
            return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "row %llu of the CSR has more than 2^31 entries",
                               (unsigned long long)row);
    return DCSR_OK;
}

/* Fills a matrix that is empty, and that nobody else knows yet. */
static dcsr_status fill(dcsr_matrix *matrix, const dcsr_csr *csr)
{
    uint64_t marked = 0;
    DCSR_TRY(check_lengths(csr));
    DCSR_TRY(matrix->engine->fill(matrix, csr, &marked));
    return filled(matrix, csr, marked);
}

static dcsr_status fill_from_device(dcsr_matrix *matrix, const dcsr_csr *csr, void *stream)
{
    uint64_t marked = 0;
    if (!matrix->engine->fill_from_device)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_matrix_from_csr_device: the context is on the cpu; call dcsr_matrix_from_csr()");
    DCSR_TRY(matrix->engine->fill_from_device(matrix, csr, stream, &marked));
    return filled(matrix, csr, marked);
}

static dcsr_status check_values(const dcsr_csr *csr)
{
    if (!csr->nnz || !csr->values == !dcsr_type_size(csr->type)) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "CSR: values must %s for type %s",
                       csr->values ? "be NULL" : "be given", dcsr_type_name(csr->type));
}

dcsr_status dcsr_i_csr_check(const dcsr_csr *csr, dcsr_context *context)
{
    const compressed c = {"CSR",    "row",     "column",     "col_indices",    csr->rows,  csr->cols,
                          csr->nnz, csr->type, csr->offsets, csr->col_indices, csr->values};
    DCSR_TRY(check_offsets(&c, context));
    DCSR_TRY(check_minors(&c, context));
    return check_values(csr);
}

/* CSR is what a matrix is when it is defragmented, so its arrays are copied as they are. */
dcsr_status dcsr_i_matrix_from_csr(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                   const dcsr_csr *csr, const dcsr_matrix_options *options)
{
    DCSR_TRY(dcsr_i_load_check(matrix, csr, call));
    dcsr_matrix *made;
    DCSR_TRY(dcsr_i_matrix_create(&made, call, context, csr->type, csr->rows, csr->cols, options));
    dcsr_status status = dcsr_i_csr_check(csr, context);
    if (status == DCSR_OK) status = fill(made, csr);
    if (status == DCSR_OK)
        *matrix = made;
    else
        dcsr_matrix_destroy(made);
    return status;
}

/* The first row whose columns do not ascend strictly; the number of rows if there is none. */
static uint64_t first_unsorted(const dcsr_csr *csr, dcsr_context *context)
{
    uint64_t first = csr->rows;
    const int threads = dcsr_i_threads(context, csr->nnz + csr->rows);
#pragma omp parallel for num_threads(threads) reduction(min : first) if (threads > 1)
    for (uint64_t row = 0; row < csr->rows; row++)
        for (uint64_t i = csr->offsets[row] + 1; i < csr->offsets[row + 1] && row < first; i++)
            if (csr->col_indices[i] <= csr->col_indices[i - 1]) first = row;
    return first;
}

/* In arrays that are taken over nothing is moved. */
static dcsr_status check_order(const char *call, const dcsr_csr *csr, dcsr_context *context)
{
    const uint64_t row = first_unsorted(csr, context);
    if (row == csr->rows) return DCSR_OK;
    uint64_t i = csr->offsets[row] + 1;
    while (csr->col_indices[i] > csr->col_indices[i - 1]) i++;
    return dcsr_i_fail(
        DCSR_ERROR_INVALID_ARGUMENT,
        "%s: row %llu has column %lu behind column %lu, at entry %llu; columns must ascend, each "
        "once: sort the rows, or call dcsr_matrix_from_csr_arrays(), which copies",
        call, (unsigned long long)row, (unsigned long)csr->col_indices[i],
        (unsigned long)csr->col_indices[i - 1], (unsigned long long)i);
}

static dcsr_status adopt(dcsr_matrix *matrix, const dcsr_csr *csr, const dcsr_i_home *given)
{
    DCSR_TRY(check_lengths(csr));
    DCSR_TRY(matrix->engine->adopt(matrix, csr, given));
    return filled(matrix, csr, 0);
}

dcsr_status dcsr_i_matrix_adopt_csr(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                    const dcsr_csr *csr, const dcsr_i_home *given, bool *taken,
                                    const dcsr_matrix_options *options)
{
    dcsr_matrix *made;
    DCSR_TRY(dcsr_i_matrix_create(&made, call, context, csr->type, csr->rows, csr->cols, options));
    *taken = given && csr->nnz && made->engine->adopt;
    dcsr_status status = dcsr_i_csr_check(csr, context);
    if (status == DCSR_OK) status = check_order(call, csr, context);
    if (status == DCSR_OK) status = *taken ? adopt(made, csr, given) : fill(made, csr);
    if (status == DCSR_OK)
        *matrix = made;
    else
        dcsr_matrix_destroy(made);
    return status;
}

dcsr_status dcsr_matrix_from_csr(dcsr_matrix **matrix, dcsr_context *context, const dcsr_csr *csr,
                                 const dcsr_matrix_options *options)
{
    return dcsr_i_matrix_from_csr(matrix, "dcsr_matrix_from_csr", context, csr, options);
}

dcsr_status dcsr_matrix_from_csr_device(dcsr_matrix **matrix, dcsr_context *context, const dcsr_csr *csr,
                                        void *stream, const dcsr_matrix_options *options)
{
    static const char call[] = "dcsr_matrix_from_csr_device";
    dcsr_matrix *made;
    DCSR_TRY(dcsr_i_load_check(matrix, csr, call));
    DCSR_TRY(dcsr_i_matrix_create(&made, call, context, csr->type, csr->rows, csr->cols, options));
    dcsr_status status = check_values(csr);
    if (status == DCSR_OK && (!csr->offsets || (csr->nnz && !csr->col_indices)))
        status = dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call,
                             csr->offsets ? "col_indices" : "offsets");
    if (status == DCSR_OK) status = fill_from_device(made, csr, stream);
    if (status == DCSR_OK)
        *matrix = made;
    else
        dcsr_matrix_destroy(made);
    return status;
}

dcsr_status dcsr_matrix_from_csc(dcsr_matrix **matrix, dcsr_context *context, const dcsr_csc *csc,
                                 const dcsr_matrix_options *options)
{
    static const char call[] = "dcsr_matrix_from_csc";
    DCSR_TRY(dcsr_i_load_check(matrix, csc, call));
    compressed c = {"CSC",    "column",  "row",        "row_indices",    csc->cols,  csc->rows,
                    csc->nnz, csc->type, csc->offsets, csc->row_indices, csc->values};
    return load(matrix, call, context, &c, options);
}
