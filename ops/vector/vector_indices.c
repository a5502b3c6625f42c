/* vector_indices.c: lists of indices that a caller gives: their range, and bringing entries in order. */
#include "ops/vector/vector_indices.h"
#include "dcsr/base/runtime.h"
#include "dcsr/base/sort.h"
#include "dcsr/base/threads.h"

dcsr_status dcsr_i_check_indices(const char *call, const dcsr_context *context, uint64_t size,
                                 const uint64_t *indices, uint64_t n, bool *ascending)
{
    uint64_t out_of_range = 0, descents = 0;
    int threads = dcsr_i_threads(context, n);
#pragma omp parallel for num_threads(threads) if (threads > 1) reduction(+ : out_of_range, descents)
    for (uint64_t k = 0; k < n; k++) {
        out_of_range += indices[k] >= size;
        descents += k && indices[k - 1] >= indices[k];
    }
    if (ascending) *ascending = !descents;
    if (!out_of_range) return DCSR_OK;
    uint64_t k = 0;
    while (indices[k] < size) k++;
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "%s: indices[%llu] is %llu, of a vector of %llu elements; nothing was changed", call,
                       (unsigned long long)k, (unsigned long long)indices[k], (unsigned long long)size);
}

dcsr_status dcsr_i_body_sort(dcsr_i_body *body, dcsr_context *context, size_t value_size, uint64_t size)
{
    uint64_t n = body->nvals, *words = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *words), *spare = NULL;
    if (words) spare = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *spare);
    dcsr_i_body sorted;
    dcsr_status status =
        spare ? dcsr_i_body_sparse(&sorted, context, value_size, n) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        /* An index above the entry's number. */
        for (uint64_t p = 0; p < n; p++) words[p] = (uint64_t)body->indices[p] << 32 | p;
        int bits = 64 - __builtin_clzll(size);
        const uint64_t *order = dcsr_i_sort(words, spare, n, 1, 32, bits, dcsr_i_threads(context, n));
        uint64_t to = 0;
        for (uint64_t p = 0; p < n; p++) {
            if (p + 1 < n && order[p] >> 32 == order[p + 1] >> 32) continue;
            sorted.indices[to] = (uint32_t)(order[p] >> 32);
            memcpy((char *)sorted.values + to * value_size,
                   (const char *)body->values + (uint32_t)order[p] * value_size, value_size);
            to++;
        }
        sorted.nvals = to;
        dcsr_i_body_free(body, context, value_size);
        *body = sorted;
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, words, n, sizeof *words);
    dcsr_i_free(context, DCSR_I_SCRATCH, spare, n, sizeof *spare);
    return status;
}
