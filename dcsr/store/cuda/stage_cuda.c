/* stage_cuda.c: bringing the entries of operations to the device.
 *
 * Joined operations are transferred one ahead: while one is applied, the next, if it waits in the queue and
 * is large enough to be worth it, is sealed and read on a stream of its own. */
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/store/entries.h"
#include "dcsr/store/cuda/store_cuda.h"

/* Smaller operations take less time to transfer than to be looked after; and batches may still join them. */
#ifdef DCSR_SIMT
enum { LEAST_AHEAD = 512 };
#else
enum { LEAST_AHEAD = 32768 };
#endif

/* ---- Checking ---- */

static dcsr_status check_array(const dcsr_matrix *matrix, const dcsr_i_entries *e, const char *name,
                               const void *array)
{
    if (!array) return DCSR_OK;
    dcsr_i_cuda_memory_kind where = dcsr_i_cuda_where(matrix->context->cuda, array);
    bool on_device = where == DCSR_CUDA_ON_DEVICE || where == DCSR_CUDA_ELSEWHERE;
    if (e->on_device != on_device)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is in the memory of %s; call %s", e->call,
                           name, on_device ? "a device" : "the host", dcsr_i_entries_counterpart(e));
    if (where == DCSR_CUDA_ELSEWHERE)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: %s is in the memory of another device than the matrix; copy it there first",
                           e->call, name);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_check_arrays(const dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    DCSR_TRY(check_array(matrix, e, "rows", e->rows));
    DCSR_TRY(check_array(matrix, e, "cols", e->cols));
    return check_array(matrix, e, "values", e->values);
}

/* ---- What an operation has on the device ---- */

/* What the device finds is written behind the keys. */
enum { VERDICT_WORDS = sizeof(dcsr_i_cuda_verdict) / sizeof(uint64_t) };

static dcsr_i_cuda_verdict *found_in(const dcsr_i_operation *operation)
{
    return (dcsr_i_cuda_verdict *)(operation->batch.arrival.keys + operation->batch.n);
}

void dcsr_i_cuda_expect_entries(dcsr_i_operation *operation, uint64_t n)
{
    dcsr_i_packed *batch = &operation->batch;
    batch->n = n;
    batch->calls = 1;
    batch->entry_bytes = (batch->value_size ? 2 : 1) * sizeof(uint64_t);
    batch->sealed = true;
}

dcsr_status dcsr_i_cuda_take_arrival(dcsr_i_cuda_stream *stream, dcsr_i_operation *operation)
{
    dcsr_i_packed *batch = &operation->batch;
    dcsr_i_arrival *arrival = &batch->arrival;
    bool values = batch->value_size != 0;
    arrival->keys =
        dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, batch->n + VERDICT_WORDS, sizeof *arrival->keys);
    if (arrival->keys && values)
        arrival->words = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, batch->n, sizeof *arrival->words);
    if (arrival->keys && (arrival->words || !values)) return DCSR_OK;
    dcsr_i_cuda_drop_arrival(stream, operation);
    return dcsr_i_no_memory();
}

void dcsr_i_cuda_drop_arrival(dcsr_i_cuda_stream *stream, dcsr_i_operation *operation)
{
    dcsr_i_packed *batch = &operation->batch;
    dcsr_i_arrival *arrival = &batch->arrival;
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, arrival->keys, batch->n + VERDICT_WORDS, sizeof *arrival->keys);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, arrival->words, batch->n, sizeof *arrival->words);
    dcsr_i_free(operation->context, DCSR_I_PINNED, arrival->verdict, 1, sizeof *arrival->verdict);
    dcsr_i_cuda_event_destroy(arrival->packed, dcsr_i_cuda_device_of(stream));
    *arrival = (dcsr_i_arrival){0};
}

void dcsr_i_cuda_drop_staged(dcsr_i_operation *operation)
{
    dcsr_i_packed *batch = &operation->batch;
    dcsr_i_cuda_device *device = operation->context->cuda;
    dcsr_i_arrival *arrival = &batch->arrival;
    if (!arrival->keys) return;
    dcsr_i_cuda_free_idle(device, DCSR_I_SCRATCH, arrival->keys, batch->n + VERDICT_WORDS,
                          sizeof *arrival->keys);
    dcsr_i_cuda_free_idle(device, DCSR_I_SCRATCH, arrival->words, batch->n, sizeof *arrival->words);
    *arrival = (dcsr_i_arrival){0};
}

/* ---- From arrays on the device ---- */

/* Puts the work that reads the arrays behind what the caller's stream holds. */
static void pack(dcsr_i_cuda_stream *stream, dcsr_i_operation *operation, const dcsr_i_entries *e)
{
    const dcsr_i_packed *batch = &operation->batch;
    const dcsr_i_arrival *arrival = &batch->arrival;
    const dcsr_i_cuda_arrays arrays = {e->rows, e->cols, e->values, e->n, (uint32_t)batch->value_size};
    const dcsr_i_cuda_packing packing = {batch->rows,   batch->cols,    batch->column_bits,
                                         arrival->keys, arrival->words, found_in(operation)};
    dcsr_i_cuda_order_caller_after(e->stream, stream); /* the memory is there in this one's order */
    dcsr_i_cuda_pack(stream, e->stream, &arrays, &packing, arrival->verdict);
    dcsr_i_cuda_event_record(stream, arrival->packed, e->stream);
    /* The stream itself has nothing to do; this asks what was noted. A failure is the device's, and stops the
     * operation when its turn comes. */
    dcsr_i_cuda_settle(stream, "reading a batch");
}

/* Whether the caller, who is going to have the turn, can read them at once. */
static bool is_ready(const dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    dcsr_i_cuda_stream *stream = matrix->cuda->stream;
    if (e->n > DCSR_CUDA_MOST_READY) return false;
    dcsr_i_cuda_enter(stream);
    const bool ready = dcsr_i_cuda_is_idle(e->stream);
    dcsr_i_cuda_step_out(stream);
    return ready;
}

dcsr_status dcsr_i_cuda_expect_batch(dcsr_matrix *matrix, dcsr_i_operation *operation,
                                     const dcsr_i_entries *e, bool here)
{
    dcsr_i_arrival *arrival = &operation->batch.arrival;
    dcsr_i_cuda_expect_entries(operation, e->n);
    if (here && is_ready(matrix, e)) {
        operation->batch.ascending = false; /* for all that is known */
        *arrival = (dcsr_i_arrival){.rows = e->rows, .cols = e->cols, .values = e->values};
        return DCSR_OK;
    }
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(matrix->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_take_arrival(stream, operation);
    if (status == DCSR_OK) {
        arrival->verdict = dcsr_i_alloc(operation->context, DCSR_I_PINNED, 1, sizeof *arrival->verdict);
        status = arrival->verdict ? dcsr_i_cuda_event_create(&arrival->packed, dcsr_i_cuda_device_of(stream))
                                  : dcsr_i_no_memory();
        if (status != DCSR_OK) dcsr_i_cuda_drop_arrival(stream, operation);
    }
    if (status == DCSR_OK)
        arrival->borrowed = stream;
    else
        dcsr_i_stream_return(matrix->context, stream);
    return status;
}

void dcsr_i_cuda_arrive_batch(dcsr_matrix *matrix, dcsr_i_operation *operation, const dcsr_i_entries *e,
                              bool queued)
{
    dcsr_i_cuda_stream *stream = operation->batch.arrival.borrowed;
    operation->batch.arrival.borrowed = NULL;
    if (!stream) return;
    if (queued)
        pack(stream, operation, e);
    else
        dcsr_i_cuda_drop_arrival(stream, operation);
    dcsr_i_stream_return(matrix->context, stream);
}

/* ---- From pinned memory ---- */

/* Puts the reading onto the stream. On failure nothing is left behind. */
static dcsr_status transfer(dcsr_i_cuda_stream *stream, dcsr_i_operation *operation)
{
    const dcsr_i_packed *batch = &operation->batch;
    const dcsr_i_cuda_packed packed = {batch->entries, dcsr_i_values(batch), (uint32_t)batch->value_size,
                                       batch->n};
    DCSR_TRY(dcsr_i_cuda_take_arrival(stream, operation));
    dcsr_i_cuda_unload(stream, &packed, batch->arrival.keys, batch->arrival.words, (dcsr_i_cuda_tell){0});
    return DCSR_OK;
}

/* Takes the next operation for bringing it ahead of time, if it has entries that are worth it. */
static dcsr_i_operation *seal_next(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->queue.lock);
    dcsr_i_operation *next = matrix->queue.first;
    if (next && (next->batch.sealed || next->batch.n < LEAST_AHEAD)) next = NULL;
    if (next) next->batch.sealed = true;
    pthread_mutex_unlock(&matrix->queue.lock);
    return next;
}

/* For any thread that has entered the matrix's stream. */
static dcsr_i_cuda_stream *borrow_for_transfers(dcsr_context *context)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow_to_write(context);
    if (stream) dcsr_i_cuda_step_out(stream);
    return stream;
}

dcsr_status dcsr_i_cuda_bring_next(dcsr_matrix *matrix, const dcsr_i_operation *operation)
{
    dcsr_i_cuda_store *store = matrix->cuda;
    if (operation->batch.arrival.ahead) DCSR_TRY(dcsr_i_cuda_wait(store->transfers, "transferring a batch"));
    /* An operation in the queue stays there while the worker is at work. What cannot be had for it now may be
     * there when its turn comes. */
    dcsr_i_operation *next = seal_next(matrix);
    if (next && !store->transfers) store->transfers = borrow_for_transfers(matrix->context);
    if (next && store->transfers && transfer(store->transfers, next) == DCSR_OK)
        next->batch.arrival.ahead = true;
    return DCSR_OK;
}

/* ---- Arriving ---- */

/* Entries were checked when they were queued, against dimensions that a resize before them was to bring.
 * Should that have failed, they are checked again. */
static dcsr_status check_again(dcsr_matrix *matrix, const dcsr_i_operation *operation)
{
    const dcsr_i_packed *batch = &operation->batch;
    const dcsr_i_table *table = matrix->versions.current;
    if (batch->rows <= table->rows && batch->cols <= table->cols) return DCSR_OK;
    dcsr_i_cuda_stream *stream = matrix->cuda->stream;
    dcsr_i_cuda_verdict *verdict = dcsr_i_cuda_landing(stream, sizeof *verdict), *found = found_in(operation);
    if (!verdict) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(stream, found, 0xff, sizeof *found);
    dcsr_i_cuda_find_outside(stream, batch->arrival.keys, batch->n, batch->column_bits, table->rows,
                             table->cols, found);
    dcsr_i_cuda_copy(stream, verdict, found, sizeof *verdict);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "checking a batch"));
    if (verdict->outside == UINT64_MAX) return DCSR_OK;
    return dcsr_i_fail_outside_now(verdict->outside, verdict->row, verdict->col, table->rows, table->cols);
}

dcsr_status dcsr_i_cuda_fail_outside(const dcsr_i_operation *operation, const dcsr_i_cuda_verdict *found)
{
    const dcsr_i_packed *batch = &operation->batch;
    return dcsr_i_fail_outside(operation->kind == DCSR_I_INSERT ? "dcsr_matrix_insert_device"
                                                                : "dcsr_matrix_remove_device",
                               found->outside, batch->n, found->row, found->col, batch->rows, batch->cols);
}

/* Waits for arrays of the caller's to be read, and looks at what was found in them. */
static dcsr_status receive(dcsr_i_operation *operation, dcsr_i_cuda_device *device)
{
    dcsr_i_packed *batch = &operation->batch;
    const dcsr_i_cuda_verdict *verdict = batch->arrival.verdict;
    DCSR_TRY(dcsr_i_cuda_event_wait(batch->arrival.packed, device, "reading a batch"));
    batch->ascending = verdict->ascends != 0;
    return verdict->outside == UINT64_MAX ? DCSR_OK : dcsr_i_cuda_fail_outside(operation, verdict);
}

dcsr_status dcsr_i_cuda_bring_arrival(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    dcsr_i_cuda_store *store = matrix->cuda;
    if (operation->batch.arrival.packed)
        DCSR_TRY(receive(operation, matrix->context->cuda));
    else if (operation->batch.arrival.ahead)
        dcsr_i_cuda_order(store->stream, store->transfers);
    else if (!operation->batch.arrival.keys)
        DCSR_TRY(transfer(store->stream, operation));
    return check_again(matrix, operation);
}

void dcsr_i_cuda_cancel_arrival(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    dcsr_i_cuda_stream *stream = matrix->cuda->stream;
    dcsr_i_arrival *arrival = &operation->batch.arrival;
    if (!arrival->keys) return;
    dcsr_i_cuda_enter(stream);
    if (arrival->packed) dcsr_i_cuda_event_settle(arrival->packed, matrix->context->cuda, "reading a batch");
    if (arrival->ahead) dcsr_i_cuda_settle(matrix->cuda->transfers, "transferring a batch");
    dcsr_i_cuda_drop_arrival(stream, operation);
    dcsr_i_cuda_leave(stream);
}
