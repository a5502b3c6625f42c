/* support_batches.h: random batches whose arrays are on a GPU, for suites that use support_device.h. */
#ifndef DCSR_TESTS_SUPPORT_BATCHES_H
#define DCSR_TESTS_SUPPORT_BATCHES_H

#include "dcsr/base/alloc.h"
#include "tests/support/support_device.h"

/* Two pages of rows in the emulator, whose views are compared row by row. */
enum { ROWS = 70, COLS = 300, MOST = 3000 };

typedef struct batch {
    size_t n;
    uint64_t rows[MOST], cols[MOST];
    uint64_t values[MOST]; /* as bytes: of any type */
    char *there[3];        /* copies on the device */
    size_t bytes[3];
} batch;

static inline const void *values_of(const batch *b, dcsr_type type)
{
    return type == DCSR_PATTERN ? NULL : b->values;
}

/* n entries, a share of them in row 7. */
static inline void fill(batch *b, test_random *random, dcsr_type type, size_t n)
{
    b->n = n;
    for (size_t i = 0; i < n; i++) {
        b->rows[i] = test_random_below(random, 3) ? test_random_below(random, ROWS) : 7;
        b->cols[i] = test_random_below(random, COLS);
        if (type != DCSR_PATTERN)
            test_encode(type, (double)test_random_below(random, type == DCSR_BOOL ? 2 : 30),
                        (char *)b->values + i * dcsr_type_size(type));
    }
}

/* Puts the copying of the batch to the device on a stream, without waiting for it. */
static inline void send(batch *b, dcsr_type type, dcsr_i_cuda_stream *on)
{
    const void *from[] = {b->rows, b->cols, b->values};
    const size_t size[] = {sizeof *b->rows, sizeof *b->cols, dcsr_type_size(type)};
    for (int i = 0; i < 3; i++) {
        b->bytes[i] = b->n * size[i];
        b->there[i] = dcsr_i_cuda_alloc(on, DCSR_I_SCRATCH, b->bytes[i], 1);
        cr_assert_not_null(b->there[i]);
        dcsr_i_cuda_copy(on, b->there[i], from[i], b->bytes[i]);
    }
}

/* In the order of the stream: overwrites what was sent, and gives it back. */
static inline void spoil(batch *b, dcsr_i_cuda_stream *on)
{
    for (int i = 0; i < 3; i++) {
        dcsr_i_cuda_fill(on, b->there[i], 0xff, b->bytes[i]);
        dcsr_i_cuda_free(on, DCSR_I_SCRATCH, b->there[i], b->bytes[i], 1);
    }
}

static inline dcsr_status give(dcsr_matrix *matrix, const batch *b, dcsr_type type, bool insert,
                               void *callers_stream, dcsr_ticket **ticket)
{
    const uint64_t *rows = (const uint64_t *)b->there[0], *cols = (const uint64_t *)b->there[1];
    return insert
               ? dcsr_matrix_insert_device(matrix, b->n, rows, cols,
                                           type == DCSR_PATTERN ? NULL : b->there[2], callers_stream, ticket)
               : dcsr_matrix_remove_device(matrix, b->n, rows, cols, callers_stream, ticket);
}

static inline void follow(oracle *model, const batch *b, bool insert)
{
    if (insert)
        oracle_insert(model, b->n, b->rows, b->cols, values_of(b, model->type));
    else
        oracle_remove(model, b->n, b->rows, b->cols);
}

static inline dcsr_status waited(dcsr_status status, dcsr_ticket *ticket)
{
    if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    return status;
}

/* Sends, gives and spoils a batch on the test's stream. */
static inline dcsr_status change(dcsr_matrix *matrix, batch *b, dcsr_type type, bool insert)
{
    dcsr_ticket *ticket = NULL;
    send(b, type, stream);
    dcsr_status status = give(matrix, b, type, insert, dcsr_i_cuda_handle(stream), &ticket);
    spoil(b, stream);
    status = waited(status, ticket);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
    return status;
}

/* The same of a batch that is there when it is given: few entries are applied by the call. */
static inline dcsr_status change_when_ready(dcsr_matrix *matrix, batch *b, dcsr_type type, bool insert)
{
    dcsr_ticket *ticket = NULL;
    send(b, type, stream);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
    dcsr_status status = give(matrix, b, type, insert, dcsr_i_cuda_handle(stream), &ticket);
    status = waited(status, ticket);
    spoil(b, stream);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
    return status;
}

#endif
