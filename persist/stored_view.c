/* stored_view.c: views of versions in the store: lent from the map where that holds them as CSR, else copied.
 *
 * What is lent stands in for the CSR that an empty matrix of the same shape would make; a transaction keeps
 * the pages of the map from being reused until the last view is destroyed. */
#include "dcsr/base/alloc.h"
#include "dcsr/store/store.h"
#include "persist/stored_rows.h"
#include <string.h>

typedef struct loan {
    dcsr_store *store;
    dcsr_i_stored stored;
} loan;

static void end_loan(dcsr_i_csr *csr)
{
    loan *l = csr->lender;
    atomic_fetch_sub(&l->store->views, 1);
    dcsr_i_stored_close(&l->stored);
    dcsr_i_free(NULL, DCSR_I_MATRIX, l, 1, sizeof *l);
}

/* The cpu's engine, but for the arrays, which are not its own. */
static dcsr_i_engine lending;
static pthread_once_t lending_once = PTHREAD_ONCE_INIT;

static void make_lending(void)
{
    lending = dcsr_i_cpu_engine;
    lending.csr_free = end_loan;
}

static bool can_be_lent(const dcsr_i_version *version)
{
    return version->record.chunks == 1 && version->record.nnz &&
           !(version->chunks[0].flags & DCSR_I_COMPRESSED);
}

/* Takes over what is stored, unless it fails. */
static dcsr_status lend(dcsr_matrix *shell, dcsr_store *store, dcsr_i_stored *stored)
{
    dcsr_i_csr *csr = dcsr_i_calloc(shell->context, DCSR_I_MATRIX, 1, sizeof *csr);
    loan *l = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *l);
    if (!csr || !l) {
        dcsr_i_free(shell->context, DCSR_I_MATRIX, csr, 1, sizeof *csr);
        dcsr_i_free(NULL, DCSR_I_MATRIX, l, 1, sizeof *l);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    pthread_once(&lending_once, make_lending);
    *l = (loan){store, *stored};
    const dcsr_i_version_record *record = &stored->version.record;
    atomic_init(&csr->references, 1);
    csr->context = shell->context;
    csr->engine = &lending;
    csr->version = shell->versions.current->version;
    csr->type = (dcsr_type)record->type;
    csr->rows = record->rows;
    csr->cols = record->cols;
    csr->nnz = record->nnz;
    csr->value_size = shell->value_size;
    csr->offsets = (uint64_t *)stored->data[0].offsets; /* which a view only reads */
    csr->columns = (uint32_t *)stored->data[0].columns;
    csr->values = (void *)stored->data[0].values;
    csr->lender = l;
    *stored = (dcsr_i_stored){0};
    atomic_fetch_add(&store->views, 1);
    dcsr_i_csr_cache(shell, DCSR_I_CSR, csr);
    dcsr_i_csr_release(csr);
    return DCSR_OK;
}

static dcsr_status view_map(dcsr_view **view, dcsr_context *context, dcsr_store *store, dcsr_i_stored *stored)
{
    const dcsr_i_version_record *record = &stored->version.record;
    dcsr_matrix_options options = {.policy = (dcsr_policy)record->policy};
    dcsr_matrix *shell;
    DCSR_TRY(
        dcsr_matrix_create(&shell, context, (dcsr_type)record->type, record->rows, record->cols, &options));
    dcsr_status status = lend(shell, store, stored);
    if (status == DCSR_OK) status = dcsr_view_create(view, shell, DCSR_LAYOUT_CSR, 0);
    dcsr_matrix_destroy(shell);
    return status;
}

static dcsr_status view_copy(dcsr_view **view, dcsr_context *context, dcsr_i_stored *stored)
{
    dcsr_matrix *matrix;
    DCSR_TRY(dcsr_i_stored_restore(&matrix, "dcsr_store_open_view", context, stored, NULL));
    dcsr_status status = dcsr_view_create(view, matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_matrix_destroy(matrix);
    return status;
}

/* Takes over what is stored, unless it fails. */
static dcsr_status view_lent(dcsr_view **view, dcsr_context *context, dcsr_store *store,
                             dcsr_i_stored *stored)
{
    dcsr_i_chunk_ask_for(stored->values);
    DCSR_TRY(dcsr_i_chunk_open(store, stored->name, &stored->version, 0, stored->values, stored->data));
    DCSR_TRY(dcsr_i_chunk_check(store, stored->name, &stored->version, 0, stored->data));
    return view_map(view, context, store, stored);
}

dcsr_status dcsr_store_open_view(dcsr_view **view, dcsr_context *context, dcsr_store *store, const char *name,
                                 uint64_t version)
{
    if (!view) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_open_view: view is NULL");
    *view = NULL;
    DCSR_TRY(dcsr_i_context_check(context));
    DCSR_TRY(dcsr_i_store_check("dcsr_store_open_view", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_open_view", name));
    if (context->device != DCSR_DEVICE_CPU)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_store_open_view: the map is in host memory, and the context on a device; restore the "
            "matrix there");
    dcsr_i_stored stored;
    DCSR_TRY(dcsr_i_stored_open(&stored, store, name, version));
    dcsr_status status = can_be_lent(&stored.version) ? view_lent(view, context, store, &stored)
                                                      : view_copy(view, context, &stored);
    dcsr_i_stored_close(&stored);
    return status;
}
