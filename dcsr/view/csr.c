/* csr.c: CSR views: offsets over rows that lie one behind the other are all that a defragmented matrix lacks
 * of CSR; of any other the rows are gathered. The newest is kept until the next version comes. */
#include "dcsr/view/view_data.h"
#include <string.h>

/* A cached CSR must show neither fewer nor more than the flags ask for. */
int dcsr_i_csr_slot(unsigned flags)
{
    if (flags & DCSR_VIEW_DUPLICATES) return -1;
    return flags & DCSR_VIEW_SORTED ? DCSR_I_SORTED_CSR : DCSR_I_CSR;
}

dcsr_i_csr *dcsr_i_csr_cached(dcsr_matrix *matrix, int slot, uint64_t version)
{
    if (slot < 0) return NULL;
    pthread_mutex_lock(&matrix->versions.lock);
    dcsr_i_csr *csr = matrix->versions.cached[slot];
    if (csr && csr->version == version)
        atomic_fetch_add(&csr->references, 1);
    else
        csr = NULL;
    pthread_mutex_unlock(&matrix->versions.lock);
    return csr;
}

void dcsr_i_csr_cache(dcsr_matrix *matrix, int slot, dcsr_i_csr *csr)
{
    if (slot < 0) return;
    pthread_mutex_lock(&matrix->versions.lock);
    if (matrix->versions.current->version == csr->version && !matrix->versions.cached[slot] &&
        !matrix->versions.closed) {
        matrix->versions.cached[slot] = csr;
        atomic_fetch_add(&csr->references, 1);
    }
    pthread_mutex_unlock(&matrix->versions.lock);
}

static bool has_cached(const dcsr_matrix *matrix)
{
    for (int i = 0; i < DCSR_I_CACHED; i++)
        if (matrix->versions.cached[i]) return true;
    for (int i = 0; i < DCSR_I_NUTS; i++)
        if (matrix->versions.nut[i]) return true;
    return matrix->versions.facts != NULL;
}

void dcsr_i_csr_forget(dcsr_matrix *matrix)
{
    dcsr_i_csr *cached[DCSR_I_CACHED];
    if (atomic_load(&matrix->references) == 1 && !has_cached(matrix))
        return; /* nobody is left who could add some */
    pthread_mutex_lock(&matrix->versions.lock);
    matrix->versions.closed = true;
    memcpy(cached, matrix->versions.cached, sizeof cached);
    memset(matrix->versions.cached, 0, sizeof matrix->versions.cached);
    pthread_mutex_unlock(&matrix->versions.lock);
    for (int i = 0; i < DCSR_I_CACHED; i++) dcsr_i_csr_release(cached[i]);
    dcsr_i_nut_forget(matrix);
    dcsr_i_facts_forget(matrix);
}

uint64_t *dcsr_i_offsets_create(dcsr_context *context, const char *lines, uint64_t n)
{
    uint64_t *offsets = dcsr_i_alloc(context, DCSR_I_MATRIX, n + 1, sizeof *offsets);
    if (!offsets)
        dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                    "a view as CSR or CSC: no memory for the offsets of %llu %s, %llu bytes; read a view of "
                    "DCSR_LAYOUT_SEGMENTS, or free matrices and views",
                    (unsigned long long)n, lines, (unsigned long long)(n + 1) * sizeof *offsets);
    return offsets;
}

/* offsets[i] = entries in rows before i. */
static void sum_lengths(const dcsr_i_table *table, uint64_t *offsets)
{
    uint64_t sum = 0, pages = dcsr_i_page_count(table);
    for (uint64_t p = 0; p < pages; p++) {
        const dcsr_i_row_page *page = dcsr_i_page(table, p);
        uint64_t first = p << DCSR_I_PAGE_SHIFT, rows = table->rows - first;
        if (rows > DCSR_I_PAGE_ROWS) rows = DCSR_I_PAGE_ROWS;
        for (uint64_t r = 0; r < rows; r++) {
            offsets[first + r] = sum;
            sum += page ? page->length[r] : 0;
        }
    }
    offsets[table->rows] = sum;
}

static void gather(dcsr_i_csr *csr, const dcsr_i_rows *rows, int threads)
{
    size_t size = csr->value_size;
    uint64_t pages = dcsr_i_page_count(rows->table);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) if (threads > 1)
    for (uint64_t p = 0; p < pages; p++) {
        const dcsr_i_row_page *page = dcsr_i_page(rows->table, p);
        if (!page) continue;
        uint64_t to = csr->offsets[p << DCSR_I_PAGE_SHIFT];
        for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) {
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            int count = dcsr_i_row_pieces(page, r, pieces);
            for (int k = 0; k < count; to += pieces[k++].length) {
                memcpy(csr->columns + to, rows->columns + pieces[k].begin,
                       pieces[k].length * sizeof *csr->columns);
                if (size)
                    memcpy((char *)csr->values + to * size,
                           (const char *)rows->values + pieces[k].begin * size, pieces[k].length * size);
            }
        }
    }
}

dcsr_status dcsr_i_csr_fill(dcsr_i_csr *csr, dcsr_matrix *matrix, const dcsr_i_table *table)
{
    dcsr_i_rows rows = dcsr_i_rows_of(matrix, table);
    csr->offsets = dcsr_i_offsets_create(csr->context, "rows", csr->rows);
    if (!csr->offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    sum_lengths(table, csr->offsets);
    if (csr->hold) {
        csr->columns = matrix->arena.columns + table->first;
        csr->values = csr->value_size ? matrix->arena.values + table->first * csr->value_size : NULL;
        return DCSR_OK;
    }
    csr->columns = dcsr_i_alloc(csr->context, DCSR_I_MATRIX, csr->nnz, sizeof *csr->columns);
    if (csr->columns && csr->value_size)
        csr->values = dcsr_i_alloc(csr->context, DCSR_I_MATRIX, csr->nnz, csr->value_size);
    if (!csr->columns || (csr->value_size && !csr->values)) return DCSR_ERROR_OUT_OF_MEMORY;
    gather(csr, &rows, dcsr_i_threads(csr->context, csr->nnz));
    return DCSR_OK;
}

void dcsr_i_csr_free(dcsr_i_csr *csr)
{
    if (!csr->hold) {
        dcsr_i_free(csr->context, DCSR_I_MATRIX, csr->columns, csr->nnz, sizeof *csr->columns);
        dcsr_i_free(csr->context, DCSR_I_MATRIX, csr->values, csr->nnz, csr->value_size);
    }
    dcsr_i_free(csr->context, DCSR_I_MATRIX, csr->offsets, csr->rows + 1, sizeof *csr->offsets);
}

dcsr_i_rows dcsr_i_rows_of_csr(const dcsr_i_csr *csr)
{
    return (dcsr_i_rows){.type = csr->type,
                         .rows = csr->rows,
                         .cols = csr->cols,
                         .offsets = csr->offsets,
                         .columns = csr->columns,
                         .values = csr->values};
}

dcsr_status dcsr_i_csr_create(dcsr_i_csr **csr, dcsr_matrix *matrix, dcsr_i_held_version *hold,
                              unsigned flags)
{
    const dcsr_i_table *table = hold->own ? hold->own : hold->base;
    dcsr_i_csr *created = dcsr_i_calloc(matrix->context, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    atomic_init(&created->references, 1);
    created->context = matrix->context;
    created->engine = matrix->engine;
    created->version = hold->version;
    created->flags = flags;
    created->type = matrix->type;
    created->rows = table->rows;
    created->cols = table->cols;
    created->nnz = table->stored;
    created->value_size = matrix->value_size;
    if (table->contiguous) {
        created->hold = hold;
        atomic_fetch_add(&hold->references, 1);
    }
    dcsr_status status = matrix->engine->csr_fill(created, matrix, table);
    if (status != DCSR_OK) {
        dcsr_i_csr_release(created);
        return status;
    }
    dcsr_i_csr_cache(matrix, dcsr_i_csr_slot(flags), created);
    *csr = created;
    return DCSR_OK;
}
