/* parts.c: memory for the parts of row tables and of their history, of which some is kept for the next change. */
#include "dcsr/store/store.h"

/* Where the spare part of this size is, and those of a quarter more or less; NULL: none is kept. With a
 * heap that looks for uses of what has been freed (sanitizers) all is given back to it. */
static _Atomic(void *) *spare_of(dcsr_matrix *matrix, size_t size)
{
#ifdef DCSR_JEMALLOC
    dcsr_i_spare_parts *parts = atomic_load_explicit(&matrix->spare.parts, memory_order_acquire);
    int order = 63 - __builtin_clzll(size | DCSR_I_LEAST_PART);
    int class = 4 * (order - __builtin_ctz(DCSR_I_LEAST_PART)) + (int)(size >> (order - 2) & 3);
    return parts && class < DCSR_I_SPARE_PARTS ? &parts->part[class] : NULL;
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

/* Makes the room for spare parts where there is none; one of several threads does. Without memory none are kept. */
static void make_room(dcsr_matrix *matrix)
{
#ifdef DCSR_JEMALLOC
    dcsr_i_spare_parts *none = NULL, *made;
    if (matrix->spare.ends || atomic_load_explicit(&matrix->spare.parts, memory_order_relaxed)) return;
    made = dcsr_i_calloc(matrix->context, DCSR_I_MATRIX, 1, sizeof *made);
    if (!made) return;
    if (atomic_compare_exchange_strong(&matrix->spare.parts, &none, made))
        atomic_fetch_add_explicit(&matrix->table_bytes, sizeof *made, memory_order_relaxed);
    else
        dcsr_i_free(matrix->context, DCSR_I_MATRIX, made, 1, sizeof *made);
#else
    (void)matrix;
#endif
}

void dcsr_i_part_free(dcsr_matrix *matrix, void *part, size_t size)
{
    if (!part) return;
    make_room(matrix);
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
    dcsr_i_spare_parts *parts = atomic_load(&matrix->spare.parts);
    for (int i = 0; parts && i < DCSR_I_SPARE_PARTS; i++) drop(matrix, atomic_load(&parts->part[i]));
    if (parts) drop_of(matrix, parts, sizeof *parts);
}
