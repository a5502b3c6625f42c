/* convert_compressed.c: compressed rows (CSR) in, compressed columns (CSC) in and out.
 *
 * Both are one format with rows and columns exchanged: offsets by the major index, one minor index an entry.
 */
#include "dcsr/io/convert_out.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/store/load.h"
#include "dcsr/store/maintained_transpose.h"

/* -- In
 * ----------------------------------------------------------------------------------------------------------
 */

typedef struct compressed {
    const char *name, *major, *minor; /* "CSR", "row", "column" */
    uint64_t majors, minors, nnz;
    dcsr_type type;
    const uint64_t *offsets;
    const uint32_t *narrow; /* minor indices, */
    const uint64_t *wide;   /* in one of these */
    const void *values;
} compressed;

static uint64_t minor_at(const compressed *c, uint64_t i)
{
    return c->narrow ? c->narrow[i] : c->wide[i];
}

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
    if (c->nnz && ((!c->narrow && !c->wide) || (c->type != DCSR_PATTERN && !c->values)))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL, but there are %llu entries", c->name,
                           c->narrow || c->wide ? "values" : c->minor, (unsigned long long)c->nnz);
    uint64_t first = UINT64_MAX;
    int threads = dcsr_i_threads(context, c->nnz);
#pragma omp parallel for num_threads(threads) reduction(min : first)
    for (uint64_t i = 0; i < c->nnz; i++)
        if (minor_at(c, i) >= c->minors && i < first) first = i;
    if (first == UINT64_MAX) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "%s: entry %llu, in %s %llu, has %s %llu, but there are %llu %ss", c->name,
                       (unsigned long long)first, c->major, (unsigned long long)major_of(c, first), c->minor,
                       (unsigned long long)minor_at(c, first), (unsigned long long)c->minors, c->minor);
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
            minors[i] = minor_at(c, begin + i);
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

/* Fills a matrix that is empty, and that nobody else knows yet. */
static dcsr_status fill(dcsr_matrix *matrix, const dcsr_csr *csr)
{
    for (uint64_t row = 0; row < csr->rows; row++)
        if (csr->offsets[row + 1] - csr->offsets[row] > UINT32_MAX / 2)
            return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "row %llu of the CSR has more than 2^31 entries",
                               (unsigned long long)row);
    uint64_t marked = 0;
    DCSR_TRY(matrix->engine->fill(matrix, csr, &marked));
    atomic_fetch_add(&matrix->counts.inserted, csr->nnz);
    dcsr_i_request_twin(matrix);
    if (!marked) return DCSR_OK;
    DCSR_TRY(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    return dcsr_matrix_wait(matrix);
}

/* CSR is what a matrix is when it is defragmented, so its arrays are copied as they are. */
dcsr_status dcsr_i_matrix_from_csr(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                   const dcsr_csr *csr, const dcsr_matrix_options *options)
{
    DCSR_TRY(dcsr_i_load_check(matrix, csr, call));
    compressed c = {"CSR",     "row",        "column",     csr->rows, csr->cols,  csr->nnz,
                    csr->type, csr->offsets, csr->columns, NULL,      csr->values};
    dcsr_matrix *made;
    DCSR_TRY(dcsr_i_matrix_create(&made, call, context, csr->type, csr->rows, csr->cols, options));
    dcsr_status status = check_offsets(&c, context);
    if (status == DCSR_OK) status = check_minors(&c, context);
    if (status == DCSR_OK && csr->nnz && !csr->values != !dcsr_type_size(csr->type))
        status = dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "CSR: values must %s for type %s",
                             csr->values ? "be NULL" : "be given", dcsr_type_name(csr->type));
    if (status == DCSR_OK) status = fill(made, csr);
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

dcsr_status dcsr_matrix_from_csc(dcsr_matrix **matrix, dcsr_context *context, const dcsr_csc *csc,
                                 const dcsr_matrix_options *options)
{
    static const char call[] = "dcsr_matrix_from_csc";
    DCSR_TRY(dcsr_i_load_check(matrix, csc, call));
    compressed c = {"CSC",     "column",     "row", csc->cols, csc->rows,  csc->nnz,
                    csc->type, csc->offsets, NULL,  csc->row,  csc->values};
    return load(matrix, call, context, &c, options);
}

/* -- Out
 * ---------------------------------------------------------------------------------------------------------
 */

/* A counting sort by column that keeps the order of rows. The rows are cut into parts of about equally many
 * entries; each part counts its columns, and the sums over parts tell each where its entries of a column go.
 */
typedef struct counting {
    uint64_t parts;
    uint64_t
        *first_page; /* parts + 1: part p has the pages first_page[p] to first_page[p + 1] - 1 of the list */
    uint64_t *count; /* parts x cols: entries, then the place of the next one */
} counting;

static void free_counting(counting *sort, dcsr_context *context, uint64_t cols)
{
    dcsr_i_free(context, DCSR_I_SCRATCH, sort->first_page, sort->parts + 1, sizeof *sort->first_page);
    dcsr_i_free(context, DCSR_I_SCRATCH, sort->count, sort->parts * cols, sizeof *sort->count);
}

static dcsr_status make_counting(counting *sort, dcsr_context *context, const dcsr_i_rows *rows,
                                 const dcsr_i_page_offsets *offsets)
{
    uint64_t pages = offsets->pages.count, nnz = offsets->before[pages];
    /* A part costs as much as counting `cols` entries; with many columns and few entries that is not worth
     * it. */
    sort->parts = (uint64_t)dcsr_i_threads(context, nnz);
    while (sort->parts > 1 && sort->parts * rows->cols > nnz) sort->parts--;
    sort->first_page = dcsr_i_alloc(context, DCSR_I_SCRATCH, sort->parts + 1, sizeof *sort->first_page);
    sort->count = dcsr_i_calloc(context, DCSR_I_SCRATCH, sort->parts * rows->cols, sizeof *sort->count);
    if (!sort->first_page || !sort->count) {
        free_counting(sort, context, rows->cols);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    uint64_t page = 0;
    for (uint64_t p = 0; p < sort->parts; p++) {
        while (page < pages && offsets->before[page] < nnz / sort->parts * p) page++;
        sort->first_page[p] = page;
    }
    sort->first_page[sort->parts] = pages;
    return DCSR_OK;
}

/* Goes through the entries of a page: counts them when csc is NULL, else puts them in place. */
static void pass_page(uint64_t *count, const dcsr_i_page_list *pages, uint64_t page, const dcsr_i_rows *rows,
                      dcsr_csc *csc)
{
    size_t size = dcsr_type_size(rows->type);
    uint64_t end = dcsr_i_listed_end(pages, page, rows->rows);
    for (uint64_t row = dcsr_i_listed_row(pages, page); row < end; row++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int n = dcsr_i_rows_pieces(rows, row, pieces);
        for (int k = 0; k < n; k++)
            for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++) {
                uint64_t at = count[rows->columns[i]]++;
                if (!csc) continue;
                csc->row[at] = row;
                dcsr_i_copy_value(csc->values, at, rows->values, i, size);
            }
    }
}

/* The same for a part. */
static void pass(const counting *sort, uint64_t part, const dcsr_i_page_list *pages, const dcsr_i_rows *rows,
                 dcsr_csc *csc)
{
    for (uint64_t page = sort->first_page[part]; page < sort->first_page[part + 1]; page++)
        pass_page(sort->count + part * rows->cols, pages, page, rows, csc);
}

static void sort_by_column(dcsr_csc *csc, const counting *sort, const dcsr_i_page_list *pages,
                           const dcsr_i_rows *rows)
{
    int threads = (int)sort->parts;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (uint64_t p = 0; p < sort->parts; p++) pass(sort, p, pages, rows, NULL);
    uint64_t at = 0;
    for (uint64_t col = 0; col < rows->cols; col++) {
        csc->offsets[col] = at;
        for (uint64_t p = 0; p < sort->parts; p++) {
            uint64_t entries = sort->count[p * rows->cols + col];
            sort->count[p * rows->cols + col] = at;
            at += entries;
        }
    }
    csc->offsets[rows->cols] = at;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (uint64_t p = 0; p < sort->parts; p++) pass(sort, p, pages, rows, csc);
}

static dcsr_status allocate_csc(dcsr_csc *csc, dcsr_context *context, const dcsr_i_rows *rows, uint64_t nnz)
{
    size_t size = dcsr_type_size(rows->type);
    *csc = (dcsr_csc){rows->rows, rows->cols, nnz, rows->type, NULL, NULL, NULL, context};
    csc->offsets = dcsr_i_alloc(context, DCSR_I_SCRATCH, rows->cols + 1, sizeof *csc->offsets);
    csc->row = dcsr_i_alloc(context, DCSR_I_SCRATCH, nnz, sizeof *csc->row);
    if (size) csc->values = dcsr_i_alloc(context, DCSR_I_SCRATCH, nnz, size);
    if (csc->offsets && csc->row && (csc->values || !size)) return DCSR_OK;
    dcsr_csc_free(csc);
    return DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_view_to_csc(dcsr_csc *csc, dcsr_view *view)
{
    if (!csc)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_to_csc: csc is NULL; give it a place");
    memset(csc, 0, sizeof *csc);
    const dcsr_i_rows *rows;
    dcsr_context *context;
    dcsr_i_page_offsets offsets;
    DCSR_TRY(dcsr_i_convert_begin(view, &rows, &context));
    DCSR_TRY(dcsr_i_page_offsets_create(&offsets, context, rows, 0));
    dcsr_status status = allocate_csc(csc, context, rows, offsets.before[offsets.pages.count]);
    counting sort;
    if (status == DCSR_OK) {
        status = make_counting(&sort, context, rows, &offsets);
        if (status == DCSR_OK) {
            sort_by_column(csc, &sort, &offsets.pages, rows);
            free_counting(&sort, context, rows->cols);
        } else {
            dcsr_csc_free(csc);
        }
    }
    dcsr_i_page_offsets_free(&offsets, context);
    return status;
}

void dcsr_csc_free(dcsr_csc *csc)
{
    if (!csc) return;
    dcsr_i_free(csc->context, DCSR_I_SCRATCH, csc->offsets, csc->cols + 1, sizeof *csc->offsets);
    dcsr_i_free(csc->context, DCSR_I_SCRATCH, csc->row, csc->nnz, sizeof *csc->row);
    dcsr_i_free(csc->context, DCSR_I_SCRATCH, csc->values, csc->nnz, dcsr_type_size(csc->type));
    memset(csc, 0, sizeof *csc);
}
