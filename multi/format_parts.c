/* format_parts.c: a CSR, a CSC or a COO as parts with equally many entries, which may end within a row; and products
 * with them, whose partial results are merged. After Chen, Xie, Firoz, Li, Song, Barker, Raugas, Li: MSREP (2022),
 * which calls them pCSR, pCSC and pCOO.
 *
 *      offsets    0     3        7  8       12          of lines: rows of CSR and COO, columns of CSC
 *      entries    a b c d e f g h i j k l
 *      parts      |----0----|---1---|--2--|             part 1 has the rest of line 1, and its first entry of line 3
 *
 * A part is a matrix of its device's context around the arrays of the whole, from its first entry on: on the cpu
 * nothing but its own offsets is new, and on a GPU it is the copy there. Lines without entries belong to the part of
 * the line behind them, so that parts have all lines, and none twice but those that they share. */
#include "dcsr/base/search.h"
#include "dcsr/base/threads.h"
#include "dcsr/store/entries.h"
#include "dcsr/view/view_data.h"
#include "multi/multi_operation.h"
#include "ops/algebra/operator.h"
#include <dcsr/convert.h>
#include <dcsr/mxv.h>
#include <dcsr/spmv.h>

struct dcsr_parts {
    dcsr_multi *devices;
    dcsr_context *home;
    dcsr_view *view; /* shared; NULL: of a COO */
    const dcsr_coo *coo;
    dcsr_parts_format format;
    dcsr_parts_balance balance;
    dcsr_type type;
    uint64_t count, rows, cols, nnz;
    uint64_t lines, across;  /* the length of a line */
    const uint64_t *offsets; /* of CSR and CSC */
    const uint32_t *indices; /* of all; `narrow` for COO */
    const void *values;
    uint32_t *narrow; /* the columns of a COO */
    dcsr_part part[DCSR_MAX_DEVICES];
    uint64_t *own_offsets[DCSR_MAX_DEVICES];
    dcsr_matrix *matrix[DCSR_MAX_DEVICES];
    dcsr_view *shown[DCSR_MAX_DEVICES];
};

/* ---- Where parts begin and end ---- */

static uint64_t entries_before(const dcsr_parts *p, uint64_t line)
{
    if (p->offsets) return p->offsets[line];
    return dcsr_i_keys_below(p->coo->row_indices, p->nnz, line);
}

/* The first line such that those before it have the entries 0 to end - 1. */
static uint64_t line_behind(const dcsr_parts *p, uint64_t end)
{
    if (!p->offsets) return end ? p->coo->row_indices[end - 1] + 1 : 0;
    return dcsr_i_keys_below(p->offsets, p->lines, end);
}

static void cut(dcsr_parts *p)
{
    for (uint64_t k = 0; k < p->count; k++) {
        dcsr_part *part = &p->part[k];
        const dcsr_part *before = k ? part - 1 : NULL;
        uint64_t behind;
        part->first = before ? before->end : 0;
        part->shared_first = before && before->shared_last;
        part->first_line = before ? before->first_line + before->lines - part->shared_first : 0;
        if (k + 1 == p->count) {
            behind = p->lines;
            part->end = p->nnz;
        } else if (p->balance == DCSR_PARTS_BY_LINES) {
            behind = dcsr_i_even_border(p->lines, k + 1, p->count);
            part->end = entries_before(p, behind);
        } else {
            part->end = dcsr_i_even_border(p->nnz, k + 1, p->count);
            behind = line_behind(p, part->end);
            if (behind < part->first_line) behind = part->first_line;
            part->shared_last = behind && entries_before(p, behind) > part->end;
        }
        part->lines = behind - part->first_line;
    }
}

/* ---- Making parts ---- */

/* A device's share of a COO's entries: whether they are in order, and their columns in 32 bits. */
static dcsr_status take_share(void *user, uint64_t k)
{
    dcsr_parts *p = user;
    const uint64_t *rows = p->coo->row_indices, *cols = p->coo->col_indices;
    const uint64_t begin = dcsr_i_even_border(p->nnz, k, p->count),
                   end = dcsr_i_even_border(p->nnz, k + 1, p->count);
    for (uint64_t e = begin; e < end; e++) {
        if (rows[e] >= p->rows || cols[e] >= p->cols)
            return dcsr_i_fail_outside("dcsr_parts_create_coo", e, p->nnz, rows[e], cols[e], p->rows,
                                       p->cols);
        if (e && (rows[e] < rows[e - 1] || (rows[e] == rows[e - 1] && cols[e] <= cols[e - 1])))
            return dcsr_i_fail(
                DCSR_ERROR_INVALID_ARGUMENT,
                "dcsr_parts_create_coo: entry %llu of %llu is not behind the one before it; sort "
                "entries by row and column, each once",
                (unsigned long long)e, (unsigned long long)p->nnz);
        p->narrow[e] = (uint32_t)cols[e];
    }
    return DCSR_OK;
}

static void fill_offsets(const dcsr_parts *p, const dcsr_part *part, uint64_t *offsets)
{
    if (p->offsets) {
        for (uint64_t i = 1; i < part->lines; i++)
            offsets[i] = p->offsets[part->first_line + i] - part->first;
    } else {
        for (uint64_t e = part->first; e < part->end; e++)
            offsets[p->coo->row_indices[e] - part->first_line + 1]++;
        for (uint64_t i = 1; i < part->lines; i++) offsets[i + 1] += offsets[i];
    }
    offsets[part->lines] = part->end - part->first;
}

static dcsr_status make_part(void *user, uint64_t k)
{
    dcsr_parts *p = user;
    dcsr_part *part = &p->part[k];
    dcsr_context *context = dcsr_i_multi_context(p->devices, k);
    const size_t size = dcsr_type_size(p->type);
    p->own_offsets[k] = dcsr_i_calloc(context, DCSR_I_MATRIX, part->lines + 1, sizeof **p->own_offsets);
    if (!p->own_offsets[k]) return DCSR_ERROR_OUT_OF_MEMORY;
    fill_offsets(p, part, p->own_offsets[k]);
    part->offsets = p->own_offsets[k];
    part->indices = p->indices + part->first;
    part->values = size ? (const char *)p->values + part->first * size : NULL;
    const dcsr_csr_arrays arrays = {.rows = part->lines,
                                    .cols = p->across,
                                    .nnz = part->end - part->first,
                                    .type = p->type,
                                    .offset_type = DCSR_UINT64,
                                    .index_type = DCSR_UINT32,
                                    .offsets = p->own_offsets[k],
                                    .col_indices = (void *)(uintptr_t)part->indices,
                                    .values = (void *)(uintptr_t)part->values};
    DCSR_TRY(dcsr_matrix_import_csr(&p->matrix[k], context, &arrays, NULL, NULL, NULL));
    return dcsr_view_create(&p->shown[k], p->matrix[k], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
}

static dcsr_status begin(dcsr_parts **parts, dcsr_multi *devices, dcsr_parts_balance balance,
                         const char *call)
{
    DCSR_TRY(dcsr_i_multi_check(devices));
    if ((unsigned)balance > DCSR_PARTS_BY_LINES)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: balance is %d; use one of DCSR_PARTS_BY_*", call,
                           (int)balance);
    dcsr_context *home = dcsr_i_multi_home(devices);
    dcsr_parts *created = dcsr_i_calloc(home, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->devices = devices;
    created->home = home;
    created->balance = balance;
    created->count = dcsr_i_multi_count(devices);
    dcsr_i_multi_retain(devices);
    *parts = created;
    return DCSR_OK;
}

/* Cuts and makes parts; on failure nothing is left. */
static dcsr_status finish(dcsr_parts **parts, dcsr_parts *created, dcsr_status status)
{
    if (status == DCSR_OK) {
        cut(created);
        status = dcsr_multi_run(created->devices, make_part, created);
    }
    if (status != DCSR_OK) {
        dcsr_parts_destroy(created);
        return status;
    }
    *parts = created;
    return DCSR_OK;
}

static dcsr_status read_view(dcsr_parts *p, dcsr_view *view)
{
    dcsr_csr csr;
    dcsr_csc csc;
    DCSR_TRY(dcsr_view_share(&p->view, view));
    if (p->format == DCSR_PARTS_CSR) {
        DCSR_TRY(dcsr_view_get_csr_on_host(view, &csr));
        p->nnz = csr.nnz, p->lines = csr.rows, p->across = csr.cols;
        p->offsets = csr.offsets, p->indices = csr.col_indices, p->values = csr.values;
    } else {
        DCSR_TRY(dcsr_view_get_csc_on_host(view, &csc));
        p->nnz = csc.nnz, p->lines = csc.cols, p->across = csc.rows;
        p->offsets = csc.offsets, p->indices = csc.row_indices, p->values = csc.values;
    }
    return DCSR_OK;
}

dcsr_status dcsr_parts_create(dcsr_parts **parts, dcsr_multi *devices, dcsr_view *view,
                              dcsr_parts_balance balance)
{
    static const char call[] = "dcsr_parts_create";
    dcsr_parts *p = NULL;
    dcsr_view_shape shape;
    if (!parts) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: parts is NULL; give it a place", call);
    *parts = NULL;
    DCSR_TRY(dcsr_view_get_shape(view, &shape));
    if (shape.layout != DCSR_LAYOUT_CSR && shape.layout != DCSR_LAYOUT_CSC)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: the view's layout is %d; create it with DCSR_LAYOUT_CSR or DCSR_LAYOUT_CSC",
                           call, (int)shape.layout);
    DCSR_TRY(begin(&p, devices, balance, call));
    p->format = shape.layout == DCSR_LAYOUT_CSR ? DCSR_PARTS_CSR : DCSR_PARTS_CSC;
    p->type = shape.type;
    p->rows = shape.rows, p->cols = shape.cols;
    return finish(parts, p, read_view(p, view));
}

dcsr_status dcsr_parts_create_coo(dcsr_parts **parts, dcsr_multi *devices, const dcsr_coo *coo,
                                  dcsr_parts_balance balance)
{
    static const char call[] = "dcsr_parts_create_coo";
    dcsr_parts *p = NULL;
    if (!parts) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: parts is NULL; give it a place", call);
    *parts = NULL;
    if (!coo || (unsigned)coo->type >= DCSR_TYPE_COUNT)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s", call,
                           coo ? "coo.type is not one of dcsr_type" : "coo is NULL");
    DCSR_TRY(dcsr_i_check_dimensions(call, coo->rows, coo->cols));
    if (coo->nnz && (!coo->row_indices || !coo->col_indices || (dcsr_type_size(coo->type) && !coo->values)))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: an array of the COO is NULL", call);
    DCSR_TRY(begin(&p, devices, balance, call));
    p->format = DCSR_PARTS_COO;
    p->type = coo->type;
    p->coo = coo;
    p->nnz = coo->nnz;
    p->rows = p->lines = coo->rows;
    p->cols = p->across = coo->cols;
    p->values = coo->values;
    p->narrow = dcsr_i_alloc(p->home, DCSR_I_MATRIX, p->nnz, sizeof *p->narrow);
    p->indices = p->narrow;
    return finish(parts, p, p->narrow ? dcsr_multi_run(devices, take_share, p) : DCSR_ERROR_OUT_OF_MEMORY);
}

void dcsr_parts_destroy(dcsr_parts *p)
{
    if (!p) return;
    dcsr_multi *devices = p->devices;
    for (uint64_t k = 0; k < p->count; k++) {
        dcsr_view_destroy(p->shown[k]);
        dcsr_matrix_destroy(p->matrix[k]);
        dcsr_i_free(dcsr_i_multi_context(devices, k), DCSR_I_MATRIX, p->own_offsets[k], p->part[k].lines + 1,
                    sizeof **p->own_offsets);
    }
    dcsr_i_free(p->home, DCSR_I_MATRIX, p->narrow, p->nnz, sizeof *p->narrow);
    dcsr_view_destroy(p->view);
    dcsr_i_free(p->home, DCSR_I_MATRIX, p, 1, sizeof *p);
    dcsr_i_multi_release(devices);
}

/* ---- Asking ---- */

static dcsr_status check(const dcsr_parts *p, const void *result, const char *call)
{
    if (!p)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the parts are NULL; create some first", call);
    if (!result) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the result is NULL", call);
    return dcsr_i_context_check(p->home);
}

dcsr_status dcsr_parts_get_info(const dcsr_parts *p, dcsr_parts_info *info)
{
    DCSR_TRY(check(p, info, "dcsr_parts_get_info"));
    *info = (dcsr_parts_info){.format = p->format,
                              .type = p->type,
                              .rows = p->rows,
                              .cols = p->cols,
                              .nnz = p->nnz,
                              .parts = p->count};
    uint64_t most = 0;
    for (uint64_t k = 0; k < p->count; k++)
        if (p->part[k].end - p->part[k].first > most) most = p->part[k].end - p->part[k].first;
    info->balance = p->nnz ? (double)most * (double)p->count / (double)p->nnz : 1;
    return DCSR_OK;
}

dcsr_status dcsr_parts_get(const dcsr_parts *p, uint64_t k, dcsr_part *part)
{
    DCSR_TRY(check(p, part, "dcsr_parts_get"));
    if (k >= p->count)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_parts_get: part %llu of %llu",
                           (unsigned long long)k, (unsigned long long)p->count);
    *part = p->part[k];
    return DCSR_OK;
}

/* ---- y = A x ---- */

typedef struct product {
    const dcsr_parts *p;
    dcsr_parts_merge merge;
    const char *x;
    char *y;
    char *partial[DCSR_MAX_DEVICES]; /* results of the parts: of their lines, or all of y */
    uint64_t length[DCSR_MAX_DEVICES];
    size_t size; /* of a value */
    const dcsr_binary_op *plus;
    const dcsr_semiring *semiring;
    dcsr_i_multi_cost cost;
} product;

static dcsr_type result_type(const dcsr_parts *p)
{
    return p->type == DCSR_PATTERN ? DCSR_FP64 : p->type;
}

/* What columns give to all of y, by one thread. */
#define SCATTER(name, ctype, entry)                                                                     \
    static void scatter_##name(ctype *restrict y, const dcsr_part *part, const ctype *x, uint64_t rows) \
    {                                                                                                   \
        const uint32_t *restrict to = part->indices;                                                    \
        const ctype *restrict a = part->values;                                                         \
        (void)a;                                                                                        \
        memset(y, 0, rows * sizeof *y);                                                                 \
        for (uint64_t i = 0; i < part->lines; i++) {                                                    \
            const ctype u = x[i];                                                                       \
            for (uint64_t e = part->offsets[i]; e < part->offsets[i + 1]; e++) y[to[e]] += (entry)*u;   \
        }                                                                                               \
    }
SCATTER(fp64, double, a[e])
SCATTER(fp32, float, a[e])
SCATTER(pattern, double, 1)
#undef SCATTER

/* Whether it was done so: floating point, by a device of one thread on the cpu. dcsr_vxm() keeps a bit for each element
 * besides, and looks at it for each entry. */
static bool scatter(const product *m, uint64_t k)
{
    const dcsr_parts *p = m->p;
    const dcsr_part *part = &p->part[k];
    dcsr_context *context = dcsr_i_multi_context(p->devices, k);
    const char *x = m->x + part->first_line * m->size;
    if (context->device != DCSR_DEVICE_CPU || dcsr_i_threads(context, part->end - part->first) > 1)
        return false;
    if (p->type == DCSR_FP64)
        scatter_fp64((double *)m->partial[k], part, (const double *)x, p->rows);
    else if (p->type == DCSR_FP32)
        scatter_fp32((float *)m->partial[k], part, (const float *)x, p->rows);
    else if (p->type == DCSR_PATTERN)
        scatter_pattern((double *)m->partial[k], part, (const double *)x, p->rows);
    else
        return false;
    return true;
}

/* The same whatever the type and the device. */
static dcsr_status multiply_columns(product *m, uint64_t k)
{
    const dcsr_parts *p = m->p;
    const dcsr_part *part = &p->part[k];
    dcsr_context *context = dcsr_i_multi_context(p->devices, k);
    const dcsr_i_scalar zero = {0};
    dcsr_vector *u = NULL, *w = NULL;
    if (!part->lines || !p->rows) {
        memset(m->partial[k], 0, p->rows * m->size);
        return DCSR_OK;
    }
    if (scatter(m, k)) return DCSR_OK;
    dcsr_status status =
        dcsr_vector_import(&u, context, result_type(p), part->lines,
                           (void *)(uintptr_t)(m->x + part->first_line * m->size), NULL, NULL);
    if (status == DCSR_OK) status = dcsr_vector_create(&w, context, result_type(p), p->rows);
    if (status == DCSR_OK)
        status = dcsr_vxm(w, NULL, NULL, m->semiring, u, p->shown[k],
                          &(dcsr_desc){.direction = DCSR_DIRECTION_PUSH});
    if (status == DCSR_OK) status = dcsr_vector_to_array(w, &zero, m->partial[k]);
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(w);
    return status;
}

/* What the part's rows are but for the first if that is shared, which is added later, to that of the part before. */
static void put_rows(const product *m, uint64_t k)
{
    const dcsr_part *part = &m->p->part[k];
    const uint64_t skip = part->shared_first;
    if (part->lines > skip)
        memcpy(m->y + (part->first_line + skip) * m->size, m->partial[k] + skip * m->size,
               (part->lines - skip) * m->size);
}

static void add_shared_rows(const product *m)
{
    for (uint64_t k = 0; k < m->p->count; k++) {
        char *to = m->y + m->p->part[k].first_line * m->size;
        if (m->p->part[k].shared_first) m->plus->loop(to, to, m->partial[k], 1);
    }
}

/* Sums of a range of y. */
static void sum_range(const product *m, uint64_t begin, uint64_t end)
{
    char *to = m->y + begin * m->size;
    if (begin >= end) return;
    memcpy(to, m->partial[0] + begin * m->size, (end - begin) * m->size);
    for (uint64_t j = 1; j < m->p->count; j++)
        m->plus->loop(to, to, m->partial[j] + begin * m->size, end - begin);
}

/* Every second device adds its neighbour's, then every fourth; the first has them all in the end. */
static dcsr_status sum_tree(product *m, uint64_t k)
{
    const uint64_t count = m->p->count;
    for (uint64_t step = 1; step < count; step *= 2) {
        if (k % (2 * step) == 0 && k + step < count && m->p->rows) {
            m->plus->loop(m->partial[k], m->partial[k], m->partial[k + step], m->p->rows);
            m->cost.bytes[k] += m->p->rows * m->size;
        }
        DCSR_TRY(dcsr_multi_meet(m->p->devices, DCSR_OK));
    }
    const uint64_t begin = dcsr_i_even_border(m->p->rows, k, count),
                   end = dcsr_i_even_border(m->p->rows, k + 1, count);
    if (end > begin) memcpy(m->y + begin * m->size, m->partial[0] + begin * m->size, (end - begin) * m->size);
    return DCSR_OK;
}

static dcsr_status multiply_part(void *user, uint64_t k)
{
    product *m = user;
    const dcsr_parts *p = m->p;
    const bool by_columns = p->format == DCSR_PARTS_CSC;
    dcsr_status status = by_columns         ? multiply_columns(m, k)
                         : p->part[k].lines ? dcsr_spmv(m->partial[k], p->shown[k], m->x)
                                            : DCSR_OK;
    DCSR_TRY(dcsr_multi_meet(p->devices, status));
    const uint64_t began = dcsr_i_nanoseconds();
    if (m->merge != DCSR_MERGE_ONE && !by_columns) {
        put_rows(m, k);
    } else if (m->merge == DCSR_MERGE_TREE) {
        status = sum_tree(m, k);
    } else if (m->merge == DCSR_MERGE_RANGES) {
        const uint64_t begin = dcsr_i_even_border(p->rows, k, p->count),
                       end = dcsr_i_even_border(p->rows, k + 1, p->count);
        sum_range(m, begin, end);
        m->cost.bytes[k] += (end - begin) * (p->count - 1) * m->size;
    }
    m->cost.waited[k] = dcsr_i_nanoseconds() - began;
    return status;
}

static dcsr_status run_product(product *m)
{
    const dcsr_parts *p = m->p;
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < p->count && status == DCSR_OK; k++) {
        m->length[k] = p->format == DCSR_PARTS_CSC ? p->rows : p->part[k].lines;
        m->partial[k] = dcsr_i_alloc(p->home, DCSR_I_SCRATCH, m->length[k], m->size);
        if (!m->partial[k]) status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (status == DCSR_OK) status = dcsr_multi_run(p->devices, multiply_part, m);
    const uint64_t began = dcsr_i_nanoseconds();
    if (status == DCSR_OK && p->format != DCSR_PARTS_CSC) {
        for (uint64_t k = 0; k < p->count && m->merge == DCSR_MERGE_ONE; k++) put_rows(m, k);
        add_shared_rows(m);
    } else if (status == DCSR_OK && m->merge == DCSR_MERGE_ONE) {
        sum_range(m, 0, p->rows);
        m->cost.bytes[0] = (p->count - 1) * p->rows * m->size;
    }
    for (uint64_t k = 0; k < p->count; k++) {
        m->cost.waited[k] += dcsr_i_nanoseconds() - began;
        dcsr_i_free(p->home, DCSR_I_SCRATCH, m->partial[k], m->length[k], m->size);
    }
    return status;
}

dcsr_status dcsr_parts_spmv(void *y, const dcsr_parts *p, const void *x, dcsr_parts_merge merge,
                            dcsr_multi_report *report)
{
    static const char call[] = "dcsr_parts_spmv";
    const uint64_t began = dcsr_i_nanoseconds();
    DCSR_TRY(check(p, p, call));
    DCSR_TRY(dcsr_i_multi_check(p->devices));
    if ((!y && p->rows) || (!x && p->cols))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call, !y && p->rows ? "y" : "x");
    if ((unsigned)merge > DCSR_MERGE_TREE)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: merge is %d; use one of DCSR_MERGE_*", call,
                           (int)merge);
    const dcsr_type type = result_type(p);
    product m = {.p = p, .merge = merge, .x = x, .y = y, .size = dcsr_type_size(type)};
    m.plus = dcsr_binary_op_of(type == DCSR_BOOL ? DCSR_BINARY_LOR : DCSR_BINARY_PLUS, type);
    m.semiring = dcsr_semiring_of(p->type == DCSR_PATTERN ? DCSR_PLUS_FIRST
                                  : type == DCSR_BOOL     ? DCSR_LOR_LAND
                                                          : DCSR_PLUS_TIMES,
                                  type);
    DCSR_TRY(run_product(&m));
    dcsr_i_multi_tell(report, &m.cost, p->count, began);
    return DCSR_OK;
}
