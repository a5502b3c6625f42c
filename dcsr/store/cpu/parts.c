/* parts.c: memory for the parts of row tables and of their history, of which some is kept for the next change. */
#include "dcsr/store/store.h"

/* Where the spare part of this size is, and those of a quarter more or less; NULL: none is kept. With a
 * heap that looks for uses of what has been freed (sanitizers) all is given back to it. */
static _Atomic(void *) *spare_of(dcsr_matrix *matrix, size_t size)
{
#ifdef DCSR_JEMALLOC
    int order = 63 - __builtin_clzll(size | DCSR_I_LEAST_PART);
    int class = 4 * (order - __builtin_ctz(DCSR_I_LEAST_PART)) + (int)(size >> (order - 2) & 3);
    return class < DCSR_I_SPARE_PARTS ? &matrix->spare.part[class] : NULL;
#else
    (void)matrix, (void)size;
    return NULL;
#endif
}

static void drop_of(dcsr_matrix *matrix, void *part, size_t size)
{
    atomic_fetch_sub_explicit(&matrix->table_bytes, size, memory_order_relaxed);
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, part, 1, size);
}

/* A spare part begins with its size. */
static void drop(dcsr_matrix *matrix, void *spare)
{
    if (spare) drop_of(matrix, spare, *(size_t *)spare);
}

void *dcsr_i_part_create(dcsr_matrix *matrix, size_t size)
{
    _Atomic(void *) *slot = spare_of(matrix, size);
    void *part =
        slot && atomic_load_explicit(slot, memory_order_relaxed) ? atomic_exchange(slot, NULL) : NULL;
    if (part && *(size_t *)part == size) return part;
    drop(matrix, part);
    part = dcsr_i_alloc(matrix->context, DCSR_I_MATRIX, 1, size);
    if (part) atomic_fetch_add_explicit(&matrix->table_bytes, size, memory_order_relaxed);
    return part;
}

bool dcsr_i_parts_create(dcsr_matrix *matrix, size_t n, size_t size, void **parts)
{
    if (n == 1) return (parts[0] = dcsr_i_part_create(matrix, size)) != NULL;
    if (!dcsr_i_alloc_many(matrix->context, DCSR_I_MATRIX, n, size, parts)) return false;
    atomic_fetch_add_explicit(&matrix->table_bytes, n * size, memory_order_relaxed);
    return true;
}

void dcsr_i_part_free(dcsr_matrix *matrix, void *part, size_t size)
{
    if (!part) return;
    _Atomic(void *) *slot = spare_of(matrix, size);
    if (!slot || atomic_load_explicit(slot, memory_order_relaxed)) {
        drop_of(matrix, part, size); /* without touching it */
        return;
    }
    *(size_t *)part = size;
    drop(matrix, atomic_exchange(slot, part));
}

void dcsr_i_parts_drain(dcsr_matrix *matrix)
{
    for (int i = 0; i < DCSR_I_SPARE_PARTS; i++)
        if (atomic_load_explicit(&matrix->spare.part[i], memory_order_relaxed))
            drop(matrix, atomic_exchange(&matrix->spare.part[i], NULL));
}
