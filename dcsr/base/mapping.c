/* mapping.c: address space that gets memory unit by unit, and on the cpu that memory. */
#include "dcsr/base/mapping.h"
#include "dcsr/base/asan.h"
#include "dcsr/base/cuda.h"
#include "dcsr/base/runtime.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Pages are made accessible in steps of a huge page, and all but the first one of a mapping may be huge:
 * small matrices then stay small, large ones get the shorter page walks (measured: 1.3x on SpMV). */
enum { HUGE_PAGE = 2 << 20 };

/* -- On the cpu
 * -------------------------------------------------------------------------------------------------- */

static dcsr_status reserve_pages(dcsr_i_mapping *mapping)
{
    mapping->length = dcsr_i_round_up(mapping->length, mapping->unit);
    mapping->reserved = dcsr_i_round_up(mapping->length, HUGE_PAGE) + HUGE_PAGE;
    char *base = mmap(NULL, mapping->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "cannot reserve %zu bytes of address space; raise the limit (ulimit -v), or destroy "
            "matrices and dictionaries that are not needed",
            mapping->reserved);
    mapping->base = base;
    mapping->start = (char *)dcsr_i_round_up((uintptr_t)base, HUGE_PAGE);
    if (mapping->length > HUGE_PAGE)
        madvise(mapping->start + HUGE_PAGE, mapping->length - HUGE_PAGE, MADV_HUGEPAGE);
    return DCSR_OK;
}

static void unreserve_pages(dcsr_i_mapping *mapping)
{
    munmap(mapping->base, mapping->reserved);
}

/* Pages get memory when they are touched first. */
static dcsr_status make_accessible(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes)
{
    uint64_t end = dcsr_i_round_up(begin + bytes, HUGE_PAGE), more = end - mapping->accessible;
    if (end <= mapping->accessible) return DCSR_OK;
    if (mprotect(mapping->start + mapping->accessible, more, PROT_READ | PROT_WRITE) != 0)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                           "the system refused %llu bytes of memory, or one more mapping "
                           "(sysctl vm.max_map_count)",
                           (unsigned long long)more);
    mapping->accessible = end;
    return DCSR_OK;
}

static void drop_pages(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes)
{
    madvise(mapping->start + begin, bytes, MADV_DONTNEED);
}

static const dcsr_i_mapping_kind on_cpu = {.reserve = reserve_pages,
                                           .unreserve = unreserve_pages,
                                           .add = make_accessible,
                                           .drop = drop_pages,
                                           .of_host = true};

/* -- Units
 * ------------------------------------------------------------------------------------------------------- */

/* The unit that a place lies in, and where a unit begins. */
static uint64_t unit_at(const dcsr_i_mapping *mapping, uint64_t place)
{
    if (place < mapping->small) return place / mapping->unit;
    return mapping->small / mapping->unit + (place - mapping->small) / mapping->large_unit;
}

static uint64_t begin_of(const dcsr_i_mapping *mapping, uint64_t unit)
{
    uint64_t small_units = mapping->small / mapping->unit;
    return unit < small_units ? unit * mapping->unit
                              : mapping->small + (unit - small_units) * mapping->large_unit;
}

static uint64_t size_of(const dcsr_i_mapping *mapping, uint64_t unit)
{
    return begin_of(mapping, unit + 1) - begin_of(mapping, unit);
}

static bool is_there(const dcsr_i_mapping *mapping, uint64_t unit)
{
    return unit / 64 < mapping->mark_words && mapping->marks[unit / 64].there >> (unit % 64) & 1;
}

/* Of a unit that is there: whether a piece begins with it. */
static bool begins_piece(const dcsr_i_mapping *mapping, uint64_t unit)
{
    return mapping->marks[unit / 64].begins >> (unit % 64) & 1;
}

static void set_begins_piece(dcsr_i_mapping *mapping, uint64_t unit, bool begins)
{
    uint64_t bit = (uint64_t)1 << (unit % 64), *word = &mapping->marks[unit / 64].begins;
    *word = begins ? *word | bit : *word & ~bit;
}

/* Memory for those units of [first, end) that are not there, in pieces as large as may be; *stopped is where
 * it failed. */
static dcsr_status add_absent(dcsr_i_mapping *mapping, uint64_t first, uint64_t end, uint64_t *stopped)
{
    for (uint64_t u = *stopped = first; u < end; *stopped = u) {
        const uint64_t piece = u++;
        if (is_there(mapping, piece)) continue;
        while (u < end && !is_there(mapping, u) &&
               begin_of(mapping, u + 1) - begin_of(mapping, piece) <= mapping->most_piece)
            u++;
        DCSR_TRY(mapping->kind->add(mapping, begin_of(mapping, piece),
                                    begin_of(mapping, u) - begin_of(mapping, piece)));
        for (uint64_t v = piece; v < u; v++) set_begins_piece(mapping, v, v == piece);
    }
    return DCSR_OK;
}

/* Takes it back, run by run, from the units that are marked as there, or from those that are not. Nothing is forbidden
 * when it comes back. */
static void drop_if(dcsr_i_mapping *mapping, bool there, uint64_t first, uint64_t end)
{
    for (uint64_t u = first; u < end; u++) {
        if (is_there(mapping, u) != there) continue;
        uint64_t begin = begin_of(mapping, u);
        while (u < end && is_there(mapping, u) == there) u++;
        const uint64_t bytes = begin_of(mapping, u) - begin;
        dcsr_i_mapping_allow(mapping, begin, bytes);
        mapping->kind->drop(mapping, begin, bytes);
    }
}

/* Marks units as there or not; returns the bytes for which that is new. */
static uint64_t mark(dcsr_i_mapping *mapping, bool there, uint64_t first, uint64_t end)
{
    uint64_t changed = 0;
    for (uint64_t u = first; u < end; u++) {
        if (is_there(mapping, u) == there) continue;
        mapping->marks[u / 64].there ^= (uint64_t)1 << (u % 64);
        changed += size_of(mapping, u);
    }
    return changed;
}

static dcsr_status make_room_for_marks(dcsr_i_mapping *mapping, uint64_t units)
{
    uint64_t words = (units + 63) / 64;
    if (words <= mapping->mark_words) return DCSR_OK;
    if (words < 2 * mapping->mark_words) words = 2 * mapping->mark_words;
    dcsr_i_mapping_marks *marks = dcsr_i_realloc(mapping->context, DCSR_I_MATRIX, mapping->marks,
                                                 mapping->mark_words, words, sizeof *marks);
    if (!marks) return DCSR_ERROR_OUT_OF_MEMORY;
    memset(marks + mapping->mark_words, 0, (words - mapping->mark_words) * sizeof *marks);
    mapping->marks = marks;
    mapping->mark_words = words;
    return DCSR_OK;
}

/* -- What mapping.h says
 * ----------------------------------------------------------------------------------------- */

/* What this process has reserved, for all devices: GPUs share its addresses. */
static _Atomic size_t reserved;

void dcsr_i_mapping_count(int64_t bytes)
{
    atomic_fetch_add_explicit(&reserved, (size_t)bytes, memory_order_relaxed);
}

size_t dcsr_i_mapping_share(size_t wanted)
{
    /* Half of what a process has on x86-64; the other half is the program's, and for what is the least. */
    size_t all = (size_t)1 << 46, least = (size_t)1 << 28, shares = 32;
    struct rlimit limit;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur < all)
        all = limit.rlim_cur, least = (size_t)1 << 25, shares = 8;
    const size_t taken = atomic_load_explicit(&reserved, memory_order_relaxed),
                 share = taken < all ? (all - taken) / shares : 0, most = share > least ? share : least;
    return wanted < most ? wanted : most;
}

size_t dcsr_i_mapping_share_of(const dcsr_context *context)
{
    return context->reserves_as_asked ? context->reserve_bytes : dcsr_i_mapping_share(context->reserve_bytes);
}

static dcsr_status reserve(dcsr_i_mapping *mapping, dcsr_context *context, const dcsr_i_mapping_kind *kind,
                           size_t length, size_t unit)
{
    *mapping =
        (dcsr_i_mapping){.context = context, .kind = kind, .length = length, .unit = unit, .small = SIZE_MAX};
    dcsr_status status = kind->reserve(mapping);
    if (status == DCSR_OK) dcsr_i_mapping_count((int64_t)mapping->reserved);
    return status;
}

static const dcsr_i_mapping_kind *kind_of(const dcsr_context *context)
{
    return context->cuda ? DCSR_I_IN_CUDA(dcsr_i_mapping_on_device) : &on_cpu;
}

dcsr_status dcsr_i_mapping_reserve(dcsr_i_mapping *mapping, dcsr_context *context, size_t length, size_t unit)
{
    return reserve(mapping, context, kind_of(context), length, unit);
}

dcsr_status dcsr_i_mapping_reserve_some(dcsr_i_mapping *mapping, dcsr_context *context, bool on_host,
                                        size_t length, size_t least, size_t unit)
{
    const dcsr_i_mapping_kind *kind = on_host ? &on_cpu : kind_of(context);
    dcsr_status status;
    while ((status = reserve(mapping, context, kind, length, unit)) != DCSR_OK && length / 2 >= least)
        length /= 2;
    return status;
}

void dcsr_i_mapping_release(dcsr_i_mapping *mapping)
{
    if (!mapping->base) return;
    dcsr_i_mapping_discard(mapping, 0, mapping->length);
    mapping->kind->unreserve(mapping);
    dcsr_i_mapping_count(-(int64_t)mapping->reserved);
    dcsr_i_free(mapping->context, DCSR_I_MATRIX, mapping->marks, mapping->mark_words, sizeof *mapping->marks);
    *mapping = (dcsr_i_mapping){0};
}

dcsr_status dcsr_i_mapping_populate(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes)
{
    if (!bytes) return DCSR_OK;
    uint64_t first = unit_at(mapping, begin), end = unit_at(mapping, begin + bytes - 1) + 1, absent = 0;
    DCSR_TRY(make_room_for_marks(mapping, end));
    for (uint64_t u = first; u < end; u++)
        if (!is_there(mapping, u)) absent += size_of(mapping, u);
    if (!absent) return DCSR_OK;
    DCSR_TRY(dcsr_i_charge(mapping->context, DCSR_I_MATRIX, absent));
    uint64_t stopped;
    dcsr_status status = add_absent(mapping, first, end, &stopped);
    if (status != DCSR_OK) {
        drop_if(mapping, false, first, stopped);
        dcsr_i_uncharge(mapping->context, DCSR_I_MATRIX, absent);
        return status;
    }
    mapping->bytes += mark(mapping, true, first, end);
    return DCSR_OK;
}

void dcsr_i_mapping_discard(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes)
{
    uint64_t first = unit_at(mapping, begin), end = unit_at(mapping, begin + bytes);
    if (begin_of(mapping, first) < begin) first++;
    if (end > mapping->mark_words * 64) end = mapping->mark_words * 64;
    /* Whole pieces alone: not the rest of one that begins before, nor the first part of one that goes on. */
    while (first < end && is_there(mapping, first) && !begins_piece(mapping, first)) first++;
    while (first < end && is_there(mapping, end) && !begins_piece(mapping, end)) end--;
    if (first >= end) return;
    drop_if(mapping, true, first, end);
    uint64_t dropped = mark(mapping, false, first, end);
    mapping->bytes -= dropped;
    dcsr_i_uncharge(mapping->context, DCSR_I_MATRIX, dropped);
}

void dcsr_i_mapping_forbid(const dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes)
{
    if (bytes && mapping->kind->of_host) ASAN_POISON_MEMORY_REGION(mapping->start + begin, bytes);
}

void dcsr_i_mapping_allow(const dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes)
{
    if (bytes && mapping->kind->of_host) ASAN_UNPOISON_MEMORY_REGION(mapping->start + begin, bytes);
}

uint64_t dcsr_i_mapping_bytes(const dcsr_i_mapping *mapping)
{
    return mapping->bytes + mapping->mark_words * sizeof *mapping->marks;
}
