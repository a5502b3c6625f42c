/* read_cuda.c: measuring rows, looking up single entries and reading a row, on a device. */
#include "dcsr/store/cuda/read_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include <string.h>

/* Places that are asked for together: 768 KiB of pinned memory. */
enum { PLACES_AT_ONCE = 32768 };
enum { ROWS_OF_A_SHARE = 1024 };

/* ---- Single entries ---- */

typedef struct places {
    size_t n;
    const uint64_t *row, *col;
    char *values;
    size_t value_size;
    bool *stored;
} places;

/* Looks up places first .. first + n - 1, through `device` and pinned memory. */
static dcsr_status look_up_some(dcsr_i_cuda_stream *stream, const dcsr_i_rows *rows, dcsr_policy policy,
                                const places *p, size_t first, size_t n, dcsr_i_cuda_question *device)
{
    dcsr_i_cuda_question *host = dcsr_i_cuda_landing(stream, n * sizeof *host);
    if (!host) return dcsr_i_cuda_wait(stream, "looking up entries");
    for (size_t i = 0; i < n; i++)
        host[i] = (dcsr_i_cuda_question){.row = p->row[first + i], .column = (uint32_t)p->col[first + i]};
    dcsr_i_cuda_copy(stream, device, host, n * sizeof *host);
    dcsr_i_cuda_answer(stream, &rows->device, policy, device, n);
    dcsr_i_cuda_copy(stream, host, device, n * sizeof *host);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "looking up entries"));
    for (size_t i = 0; i < n; i++) {
        p->stored[first + i] = host[i].stored;
        if (host[i].stored && p->values)
            memcpy(p->values + (first + i) * p->value_size, &host[i].word, p->value_size);
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_look_up(dcsr_context *context, const dcsr_i_rows *rows, dcsr_policy policy, size_t n,
                                const uint64_t *row, const uint64_t *col, void *values, bool *stored)
{
    places p = {n, row, col, values, dcsr_type_size(rows->type), stored};
    size_t room = n < PLACES_AT_ONCE ? n : PLACES_AT_ONCE;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_question *device = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, room, sizeof *device);
    dcsr_status status = device ? DCSR_OK : dcsr_i_no_memory();
    for (size_t first = 0; status == DCSR_OK && first < n; first += room)
        status = look_up_some(stream, rows, policy, &p, first, n - first < room ? n - first : room, device);
    if (device) dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, device, room, sizeof *device);
    dcsr_i_stream_return(context, stream);
    return status;
}

/* ---- A row ---- */

/* Copies up to `capacity` entries of the pieces. */
static void copy_pieces(dcsr_i_cuda_stream *stream, const dcsr_i_rows *rows, const dcsr_i_cuda_pieces *pieces,
                        uint64_t capacity, uint32_t *columns, char *values)
{
    size_t size = dcsr_type_size(rows->type);
    uint64_t done = 0;
    for (uint64_t k = 0; k < pieces->count; k++) {
        uint64_t begin = pieces->begin[k], length = pieces->length[k];
        uint64_t take = capacity - done < length ? capacity - done : length;
        if (columns)
            dcsr_i_cuda_copy(stream, columns + done, rows->device.columns + begin, take * sizeof *columns);
        if (values)
            dcsr_i_cuda_copy(stream, values + done * size, rows->device.values + begin * size, take * size);
        done += take;
    }
}

/* A short row comes with the answer where it is: one launch and one wait. A longer one is copied from there. */
static dcsr_status read_row(dcsr_i_cuda_stream *stream, const dcsr_i_rows *rows, uint64_t row,
                            uint64_t capacity, uint32_t *columns, char *values, uint64_t *length)
{
    dcsr_i_cuda_row *found = dcsr_i_cuda_landing(stream, sizeof *found);
    const uint64_t first = capacity < DCSR_CUDA_READ_ENTRIES ? capacity : DCSR_CUDA_READ_ENTRIES;
    if (found) dcsr_i_cuda_find_row(stream, &rows->device, row, first, found);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "reading a row"));
    uint64_t all = 0;
    for (uint64_t k = 0; k < found->pieces.count; k++) all += found->pieces.length[k];
    const uint64_t taken = capacity < all ? capacity : all;
    if (taken > first) {
        copy_pieces(stream, rows, &found->pieces, capacity, columns, values);
        DCSR_TRY(dcsr_i_cuda_wait(stream, "reading a row"));
    } else if (taken) {
        if (columns) memcpy(columns, found->columns, taken * sizeof *columns);
        if (values) memcpy(values, found->values, taken * dcsr_type_size(rows->type));
    }
    *length = all;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_read_row(dcsr_context *context, const dcsr_i_rows *rows, uint64_t row,
                                 uint64_t capacity, uint32_t *columns, void *values, uint64_t *length)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = read_row(stream, rows, row, capacity, columns, values, length);
    dcsr_i_stream_return(context, stream);
    return status;
}

/* ---- Measures ---- */

/* Device memory for measuring. */
typedef struct shares {
    uint32_t count;
    dcsr_i_cuda_share *share;
    double *squares;
} shares;

static dcsr_status add_shares(dcsr_i_measures *result, dcsr_i_cuda_stream *stream, const dcsr_i_rows *rows,
                              const shares *s)
{
    dcsr_i_cuda_share *share = dcsr_i_cuda_landing(stream, s->count * sizeof *share);
    if (!share) return dcsr_i_cuda_wait(stream, "measuring rows");
    dcsr_i_cuda_measure_shares(stream, &rows->device, s->share, s->count);
    dcsr_i_cuda_copy(stream, share, s->share, s->count * sizeof *share);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "measuring rows"));
    uint64_t below = 0;
    *result = (dcsr_i_measures){0};
    for (uint32_t i = 0; i < s->count; i++) {
        result->nnz += share[i].nnz;
        result->rows_in_use += share[i].rows_in_use;
        result->unresolved_rows += share[i].unresolved_rows;
        if (share[i].longest > result->longest) result->longest = share[i].longest;
        if (share[i].max_segments > result->max_segments) result->max_segments = share[i].max_segments;
        if (share[i].below > below) below = share[i].below;
    }
    if (result->rows_in_use) result->shortest = UINT32_MAX - below;
    return DCSR_OK;
}

static dcsr_status add_squares(dcsr_i_measures *result, dcsr_i_cuda_stream *stream, const dcsr_i_rows *rows,
                               const shares *s)
{
    double mean = (double)result->nnz / (double)rows->rows;
    double *squares = dcsr_i_cuda_landing(stream, s->count * sizeof *squares);
    if (!squares) return dcsr_i_cuda_wait(stream, "measuring rows");
    dcsr_i_cuda_measure_squares(stream, &rows->device, mean, s->squares, s->count);
    dcsr_i_cuda_copy(stream, squares, s->squares, s->count * sizeof *squares);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "measuring rows"));
    for (uint32_t i = 0; i < s->count; i++) result->squares += squares[i];
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_measure(dcsr_i_measures *result, dcsr_context *context, const dcsr_i_rows *rows)
{
    uint64_t count = (rows->rows + ROWS_OF_A_SHARE - 1) / ROWS_OF_A_SHARE;
    shares s = {.count = count < DCSR_CUDA_MOST_SHARES ? (uint32_t)count : DCSR_CUDA_MOST_SHARES};
    dcsr_i_measures measures = {0};
    if (!count) {
        *result = measures;
        return DCSR_OK;
    }
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    s.share = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, s.count, sizeof *s.share);
    if (s.share) s.squares = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, s.count, sizeof *s.squares);
    dcsr_status status = s.squares ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) status = add_shares(&measures, stream, rows, &s);
    if (status == DCSR_OK) status = add_squares(&measures, stream, rows, &s);
    if (s.squares) dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, s.squares, s.count, sizeof *s.squares);
    if (s.share) dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, s.share, s.count, sizeof *s.share);
    dcsr_i_stream_return(context, stream);
    if (status == DCSR_OK) *result = measures;
    return status;
}
