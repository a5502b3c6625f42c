/* table.c: the parts of row tables (rowtable.h): making, copying and freeing them. */
#include "dcsr/store.h"
#include <assert.h>
#include <string.h>

static size_t table_size(uint64_t directories)
{
    return sizeof(dcsr_i_table) + directories * sizeof(dcsr_i_directory *);
}

static size_t row_page_size(const dcsr_matrix *matrix)
{
    return sizeof(dcsr_i_row_page) + (size_t)matrix->segments_per_row * sizeof(dcsr_i_segment_page *);
}

static size_t segment_page_size(bool packed)
{
    return packed ? offsetof(dcsr_i_segment_page, capacity) : sizeof(dcsr_i_segment_page);
}

/* Where the spare part of this size is, and those of up to twice or half as much; NULL: none is kept. With a
 * heap that looks for uses of what has been freed (sanitizers) all is given back to it. */
static _Atomic(void *) *spare_of(dcsr_matrix *matrix, size_t size)
{
#ifdef DCSR_JEMALLOC
    int order = 64 - __builtin_clzll(size);
    return order < DCSR_I_SPARE_PARTS ? &matrix->spare_part[order] : NULL;
#else
    (void)matrix, (void)size;
    return NULL;
#endif
}

/* A spare part begins with its size. */
static void drop(dcsr_matrix *matrix, void *spare)
{
    if (!spare) return;
    size_t size = *(size_t *)spare;
    atomic_fetch_sub_explicit(&matrix->table_bytes, size, memory_order_relaxed);
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, spare, 1, size);
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
    *(size_t *)part = size;
    if (!slot || atomic_load_explicit(slot, memory_order_relaxed))
        drop(matrix, part);
    else
        drop(matrix, atomic_exchange(slot, part));
}

void dcsr_i_parts_drain(dcsr_matrix *matrix)
{
    for (int i = 0; i < DCSR_I_SPARE_PARTS; i++) drop(matrix, atomic_exchange(&matrix->spare_part[i], NULL));
}

dcsr_i_table *dcsr_i_table_create(dcsr_matrix *matrix, uint64_t rows, uint64_t cols, uint64_t version)
{
    uint64_t pages = (rows + DCSR_I_PAGE_ROWS - 1) / DCSR_I_PAGE_ROWS;
    uint64_t directories = (pages + DCSR_I_DIRECTORY_PAGES - 1) / DCSR_I_DIRECTORY_PAGES;
    dcsr_i_table *table = dcsr_i_part_create(matrix, table_size(directories));
    if (!table) return NULL;
    memset(table, 0, table_size(directories));
    table->rows = rows;
    table->cols = cols;
    table->version = version;
    table->directories = directories;
    table->segments_per_row = matrix->segments_per_row;
    return table;
}

dcsr_i_table *dcsr_i_table_copy(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t rows, uint64_t cols)
{
    dcsr_i_table *copy = dcsr_i_table_create(matrix, rows, cols, table->version + 1);
    if (!copy) return NULL;
    copy->stored = table->stored;
    copy->extra_segments = table->extra_segments;
    copy->duplicate_rows = table->duplicate_rows;
    copy->tombstone_rows = table->tombstone_rows;
    uint64_t shared = copy->directories < table->directories ? copy->directories : table->directories;
    memcpy(copy->directory, table->directory, shared * sizeof table->directory[0]);
    return copy;
}

void dcsr_i_table_free(dcsr_matrix *matrix, dcsr_i_table *table)
{
    if (table) dcsr_i_part_free(matrix, table, table_size(table->directories));
}

dcsr_i_directory *dcsr_i_directory_create(dcsr_matrix *matrix, const dcsr_i_directory *from, uint64_t version)
{
    dcsr_i_directory *directory = dcsr_i_part_create(matrix, sizeof *directory);
    if (!directory) return NULL;
    if (from)
        *directory = *from;
    else
        memset(directory, 0, sizeof *directory);
    directory->born = version;
    return directory;
}

void dcsr_i_row_page_init(const dcsr_matrix *matrix, dcsr_i_row_page *page, const dcsr_i_row_page *from,
                          uint64_t version)
{
    if (from) {
        memcpy(page, from, row_page_size(matrix));
    } else {
        memset(page, 0, row_page_size(matrix));
        page->moved = version;
    }
    page->born = version;
}

dcsr_i_row_page *dcsr_i_row_page_create(dcsr_matrix *matrix, const dcsr_i_row_page *from, uint64_t version)
{
    dcsr_i_row_page *page = dcsr_i_part_create(matrix, row_page_size(matrix));
    if (page) dcsr_i_row_page_init(matrix, page, from, version);
    return page;
}

/* Keeping spare pages only saves time, so running out of memory for their list is no failure. */
void dcsr_i_row_pages_expect(dcsr_matrix *matrix, uint64_t n)
{
    pthread_mutex_lock(&matrix->remains_lock);
    if (n > matrix->spare_capacity) {
        dcsr_i_row_page **larger = dcsr_i_realloc(matrix->context, DCSR_I_MATRIX, matrix->spare,
                                                  matrix->spare_capacity, n, sizeof *larger);
        if (larger) {
            matrix->spare = larger;
            matrix->spare_capacity = n;
        }
    }
    pthread_mutex_unlock(&matrix->remains_lock);
}

uint64_t dcsr_i_row_pages_take(dcsr_matrix *matrix, uint64_t n, dcsr_i_row_page **pages, size_t stride)
{
    pthread_mutex_lock(&matrix->remains_lock);
    uint64_t taken = n < matrix->spare_count ? n : matrix->spare_count;
    for (uint64_t i = 0; i < taken; i++)
        *(dcsr_i_row_page **)((char *)pages + i * stride) = matrix->spare[--matrix->spare_count];
    pthread_mutex_unlock(&matrix->remains_lock);
    return taken;
}

void dcsr_i_row_pages_drain(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->remains_lock);
    while (matrix->spare_count)
        dcsr_i_part_free(matrix, matrix->spare[--matrix->spare_count], row_page_size(matrix));
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, matrix->spare, matrix->spare_capacity, sizeof *matrix->spare);
    matrix->spare = NULL;
    matrix->spare_capacity = 0;
    pthread_mutex_unlock(&matrix->remains_lock);
}

dcsr_i_segment_page *dcsr_i_segment_page_create(dcsr_matrix *matrix, const dcsr_i_segment_page *from,
                                                const uint32_t *packed_lengths)
{
    dcsr_i_segment_page *page = dcsr_i_part_create(matrix, segment_page_size(false));
    if (!page) return NULL;
    if (packed_lengths) {
        memcpy(page->begin, from->begin, sizeof page->begin);
        memcpy(page->capacity, packed_lengths, sizeof page->capacity);
    } else if (from) {
        *page = *from;
    } else {
        memset(page, 0, sizeof *page);
    }
    return page;
}

bool dcsr_i_packed_pages_create(dcsr_matrix *matrix, size_t n, dcsr_i_row_page **pages, uint64_t version)
{
    void *segments[DCSR_I_PAGES_AT_ONCE], *rows[DCSR_I_PAGES_AT_ONCE];
    if (!dcsr_i_parts_create(matrix, n, row_page_size(matrix), rows)) return false;
    if (!dcsr_i_parts_create(matrix, n, segment_page_size(true), segments)) {
        for (size_t i = 0; i < n; i++) dcsr_i_part_free(matrix, rows[i], row_page_size(matrix));
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        pages[i] = rows[i];
        dcsr_i_row_page_init(matrix, pages[i], NULL, version);
        pages[i]->packed = 1;
        pages[i]->segment[0] = segments[i];
    }
    return true;
}

void dcsr_i_directory_free(dcsr_matrix *matrix, dcsr_i_directory *directory)
{
    dcsr_i_part_free(matrix, directory, sizeof *directory);
}

void dcsr_i_row_page_free_locked(dcsr_matrix *matrix, dcsr_i_row_page *page)
{
    if (matrix->spare_count < matrix->spare_capacity)
        matrix->spare[matrix->spare_count++] = page;
    else
        dcsr_i_part_free(matrix, page, row_page_size(matrix));
}

void dcsr_i_row_page_free(dcsr_matrix *matrix, dcsr_i_row_page *page)
{
    if (!page) return;
    pthread_mutex_lock(&matrix->remains_lock);
    dcsr_i_row_page_free_locked(matrix, page);
    pthread_mutex_unlock(&matrix->remains_lock);
}

void dcsr_i_segment_page_free(dcsr_matrix *matrix, dcsr_i_segment_page *page, bool packed)
{
    dcsr_i_part_free(matrix, page, segment_page_size(packed));
}

bool dcsr_i_own_segment_pages(dcsr_matrix *matrix, dcsr_i_row_page *page, const dcsr_i_row_page *old,
                              uint64_t version)
{
    memset(page->segment, 0, (size_t)matrix->segments_per_row * sizeof page->segment[0]);
    page->moved = version;
    page->packed = 0;
    for (int k = 0; k < matrix->segments_per_row && old->segment[k]; k++) {
        page->segment[k] =
            dcsr_i_segment_page_create(matrix, old->segment[k], old->packed ? old->length : NULL);
        if (!page->segment[k]) return false;
    }
    return true;
}

static void free_page(dcsr_matrix *matrix, dcsr_i_row_page *page, const dcsr_i_row_page *base)
{
    for (int k = 0; page && k < matrix->segments_per_row; k++)
        if (page->segment[k] && (!base || page->segment[k] != base->segment[k]))
            dcsr_i_segment_page_free(matrix, page->segment[k], page->packed);
    dcsr_i_row_page_free(matrix, page);
}

dcsr_i_rows dcsr_i_rows_of(const dcsr_matrix *matrix, const dcsr_i_table *table)
{
    return (dcsr_i_rows){.type = matrix->type,
                         .rows = table->rows,
                         .cols = table->cols,
                         .table = table,
                         .columns = matrix->arena.columns,
                         .values = matrix->arena.values};
}

void dcsr_i_free_unshared(dcsr_matrix *matrix, dcsr_i_table *own, const dcsr_i_table *base)
{
    for (uint64_t d = 0; own && d < own->directories; d++) {
        dcsr_i_directory *directory = own->directory[d];
        const dcsr_i_directory *shared = base && d < base->directories ? base->directory[d] : NULL;
        if (!directory || directory == shared) continue;
        for (int p = 0; p < DCSR_I_DIRECTORY_PAGES; p++) {
            const dcsr_i_row_page *old = shared ? shared->page[p] : NULL;
            if (directory->page[p] && directory->page[p] != old) free_page(matrix, directory->page[p], old);
        }
        dcsr_i_directory_free(matrix, directory);
    }
    dcsr_i_table_free(matrix, own);
}

int dcsr_i_segments_of(const dcsr_matrix *matrix, const dcsr_i_row_page *page, unsigned r,
                       dcsr_i_piece pieces[DCSR_MAX_SEGMENTS])
{
    if (page->packed) {
        pieces[0] = (dcsr_i_piece){page->segment[0]->begin[r], page->length[r]};
        return page->length[r] != 0;
    }
    int count = 0;
    for (; count < matrix->segments_per_row && page->segment[count] && page->segment[count]->capacity[r];
         count++)
        pieces[count] = (dcsr_i_piece){page->segment[count]->begin[r], page->segment[count]->capacity[r]};
    return count;
}

void dcsr_i_free_remains(dcsr_matrix *matrix, const dcsr_i_remains *remains)
{
    switch (remains->kind) {
    case DCSR_I_TABLE:
        dcsr_i_table_free(matrix, remains->pointer);
        break;
    case DCSR_I_DIRECTORY:
        dcsr_i_directory_free(matrix, remains->pointer);
        break;
    case DCSR_I_ROW_PAGE:
        dcsr_i_row_page_free_locked(matrix, remains->pointer);
        break;
    case DCSR_I_SEGMENT_PAGE:
        dcsr_i_segment_page_free(matrix, remains->pointer, false);
        break;
    case DCSR_I_PACKED_SEGMENT_PAGE:
        dcsr_i_segment_page_free(matrix, remains->pointer, true);
        break;
    case DCSR_I_RANGE:
        dcsr_i_arena_give(&matrix->arena, remains->begin, remains->size);
        break;
    case DCSR_I_RUN:
        dcsr_i_arena_free_run(&matrix->arena, remains->begin, remains->size);
        break;
    default:
        assert(!"remains of another engine");
    }
}
