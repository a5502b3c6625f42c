/* dictionary.c: texts become ids, by a hash table, and ids texts. */
#include "dcsr/names/dictionary.h"
#include <string.h>
#include <sys/random.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Texts that are looked up together: while the memory of one is waited for, that of the others is on its way,
 * too. Slots of an empty table. Memory for offsets and bytes comes in such units. */
enum { GROUP = 32, FIRST_SLOTS = 1024, UNIT = 1 << 16 };
/* Texts that are looked up before one that waits to replace the table gets its turn. */
enum { MOST_AT_ONCE = 1024 };

/* ---- The table ---- */

static uint32_t hash_of(const dcsr_names *names, const dcsr_text *text)
{
    return (uint32_t)(XXH3_64bits_withSeed(text->bytes, text->length, names->seed) >> 32);
}

static uint64_t home_of(const dcsr_i_slots *table, uint32_t hash)
{
    return (uint64_t)hash * table->count >> 32;
}

static uint64_t slot_at(const dcsr_i_slots *table, uint64_t place)
{
    return atomic_load_explicit(&table->slot[place], memory_order_relaxed);
}

/* The next id below `count` that has the hash, from *place on, which is behind it then; DCSR_NAMES_NONE with
 * *place free where there is none. */
static uint64_t next_alike(const dcsr_i_slots *table, uint32_t hash, uint64_t count, uint64_t *place)
{
    for (uint64_t slot; (slot = slot_at(table, *place));) {
        uint64_t id = (uint32_t)slot - (uint64_t)1;
        *place = (*place + 1) & (table->count - 1);
        if (slot >> 32 == hash && id < count) return id;
    }
    return DCSR_NAMES_NONE;
}

static void put(dcsr_i_slots *table, uint64_t place, uint32_t hash, uint64_t id)
{
    atomic_store_explicit(&table->slot[place], (uint64_t)hash << 32 | (id + 1), memory_order_relaxed);
    table->used++;
}

/* Replaces the table by one of so many slots, with the ids below `count`. */
static dcsr_status replace_table(dcsr_names *names, uint64_t slots, uint64_t count)
{
    dcsr_i_slots old = names->table, new = {.count = slots};
    new.slot = dcsr_i_calloc(names->context, DCSR_I_MATRIX, slots, sizeof *new.slot);
    if (!new.slot) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < old.count; i++) {
        uint64_t slot = slot_at(&old, i), id = (uint32_t)slot - (uint64_t)1;
        if (!slot || id >= count) continue;
        uint64_t place = home_of(&new, (uint32_t)(slot >> 32));
        while (slot_at(&new, place)) place = (place + 1) & (slots - 1);
        put(&new, place, (uint32_t)(slot >> 32), id);
    }
    pthread_rwlock_wrlock(&names->replacing);
    names->table = new;
    pthread_rwlock_unlock(&names->replacing);
    dcsr_i_free(names->context, DCSR_I_MATRIX, old.slot, old.count, sizeof *old.slot);
    return DCSR_OK;
}

/* Makes room for n slots more. A table that is half empty but for what failed calls have left stays as large
 * as it is. */
static dcsr_status make_slots(dcsr_names *names, uint64_t n, uint64_t count)
{
    uint64_t slots = names->table.count;
    if ((names->table.used + n) * 4 <= slots * 3) return DCSR_OK;
    while ((count + n) * 2 > slots) slots *= 2;
    return replace_table(names, slots, count);
}

/* ---- Looking up ---- */

static bool is_text(const dcsr_names *names, uint64_t id, const dcsr_text *text)
{
    uint64_t begin = names->offset[id];
    return names->offset[id + 1] - begin == text->length &&
           !memcmp(names->bytes + begin, text->bytes, text->length);
}

/* Finds up to GROUP texts among the names below `count`. Each step has the memory of the next one fetched. */
static void find_group(const dcsr_names *names, uint64_t count, uint64_t n, const dcsr_text *texts,
                       uint32_t *hashes, uint64_t *ids)
{
    const dcsr_i_slots *table = &names->table;
    uint64_t places[GROUP];
    for (uint64_t i = 0; i < n; i++) {
        hashes[i] = hash_of(names, &texts[i]);
        places[i] = home_of(table, hashes[i]);
        __builtin_prefetch((const void *)&table->slot[places[i]]);
    }
    for (uint64_t i = 0; i < n; i++) {
        ids[i] = next_alike(table, hashes[i], count, &places[i]);
        if (ids[i] != DCSR_NAMES_NONE) __builtin_prefetch(&names->offset[ids[i]]);
    }
    for (uint64_t i = 0; i < n; i++)
        if (ids[i] != DCSR_NAMES_NONE) __builtin_prefetch(names->bytes + names->offset[ids[i]]);
    for (uint64_t i = 0; i < n; i++)
        while (ids[i] != DCSR_NAMES_NONE && !is_text(names, ids[i], &texts[i]))
            ids[i] = next_alike(table, hashes[i], count, &places[i]);
}

/* ---- Adding: with the lock `adding` ---- */

/* Memory for the first `end` bytes of a mapping, of which there is some for *room. */
static dcsr_status make_room(dcsr_i_mapping *memory, uint64_t *room, uint64_t end)
{
    if (end <= *room) return DCSR_OK;
    uint64_t larger = dcsr_i_round_up(end, UNIT);
    if (larger > memory->length)
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "a dictionary has used up the %llu bytes of address space that are reserved for it; "
            "create the context with more reserve_bytes",
            (unsigned long long)memory->length);
    DCSR_TRY(dcsr_i_mapping_populate(memory, *room, larger - *room));
    *room = larger;
    return DCSR_OK;
}

/* Adds a text that is no name; *count becomes one more. */
static dcsr_status append(dcsr_names *names, uint64_t *count, const dcsr_text *text)
{
    uint64_t begin = names->offset[*count], end = begin + text->length;
    if (*count == DCSR_NAMES_MOST)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "a dictionary has 2^31 names at most; use several");
    DCSR_TRY(make_room(&names->byte_memory, &names->byte_room, end));
    DCSR_TRY(make_room(&names->offset_memory, &names->offset_room, (*count + 2) * sizeof *names->offset));
    memcpy(names->bytes + begin, text->bytes, text->length);
    names->offset[++*count] = end;
    return DCSR_OK;
}

static dcsr_status add_group(dcsr_names *names, uint64_t *count, uint64_t n, const dcsr_text *texts,
                             uint64_t *ids)
{
    uint32_t hashes[GROUP];
    DCSR_TRY(make_slots(names, n, *count));
    find_group(names, *count, n, texts, hashes, ids);
    for (uint64_t i = 0; i < n; i++) {
        if (ids[i] != DCSR_NAMES_NONE) continue;
        /* Once more, as a text before it may be the same. */
        uint64_t place = home_of(&names->table, hashes[i]), id;
        do id = next_alike(&names->table, hashes[i], *count, &place);
        while (id != DCSR_NAMES_NONE && !is_text(names, id, &texts[i]));
        if (id == DCSR_NAMES_NONE) {
            id = *count;
            DCSR_TRY(append(names, count, &texts[i]));
            put(&names->table, place, hashes[i], id);
        }
        ids[i] = id;
    }
    return DCSR_OK;
}

static dcsr_status add(dcsr_names *names, uint64_t n, const dcsr_text *texts, uint64_t *ids)
{
    uint64_t count = atomic_load(&names->count);
    for (uint64_t i = 0; i < n; i += GROUP)
        DCSR_TRY(add_group(names, &count, n - i < GROUP ? n - i : GROUP, texts + i, ids + i));
    atomic_store(&names->count, count);
    return DCSR_OK;
}

dcsr_status dcsr_i_names_append(dcsr_names *names, uint64_t n, const uint16_t *lengths, const char *bytes,
                                uint64_t *known)
{
    dcsr_text texts[GROUP];
    uint64_t ids[GROUP], count = atomic_load(&names->count), before = count;
    for (uint64_t i = 0; i < n;) {
        uint64_t k = 0;
        for (; k < GROUP && i < n; k++, bytes += lengths[i++]) texts[k] = (dcsr_text){bytes, lengths[i]};
        DCSR_TRY(add_group(names, &count, k, texts, ids));
    }
    atomic_store(&names->count, count);
    *known = n - (count - before);
    return DCSR_OK;
}

dcsr_status dcsr_i_names_expect(dcsr_names *names, uint64_t count)
{
    uint64_t now = atomic_load(&names->count), more = count > now ? count - now : 0;
    return make_slots(names, more + GROUP, now);
}

/* ---- What names.h says ---- */

static dcsr_status check(const char *call, const dcsr_names *names, uint64_t n, const void *texts,
                         const void *ids)
{
    if (!names) {
        dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the dictionary is NULL; create one first", call);
        return DCSR_ERROR_INVALID_ARGUMENT;
    }
    DCSR_TRY(dcsr_i_context_check(names->context));
    if (!n || (texts && ids)) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call, texts ? "ids" : "texts");
}

static dcsr_status check_texts(uint64_t n, const dcsr_text *texts)
{
    for (uint64_t i = 0; i < n; i++) {
        size_t length = texts[i].length;
        if (texts[i].bytes && length && length <= DCSR_NAMES_LONGEST) continue;
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_names_add: text %llu of %llu has %zu bytes%s; a name has 1 to %d; nothing was "
            "added",
            (unsigned long long)i, (unsigned long long)n, length, texts[i].bytes ? "" : ", which are NULL",
            DCSR_NAMES_LONGEST);
    }
    return DCSR_OK;
}

dcsr_status dcsr_names_add(dcsr_names *names, uint64_t n, const dcsr_text *texts, uint64_t *ids)
{
    DCSR_TRY(check("dcsr_names_add", names, n, texts, ids));
    if (names->refusal) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_names_add: %s", names->refusal);
    DCSR_TRY(check_texts(n, texts));
    pthread_mutex_lock(&names->adding);
    dcsr_status status = add(names, n, texts, ids);
    pthread_mutex_unlock(&names->adding);
    return status;
}

dcsr_status dcsr_names_find(dcsr_names *names, uint64_t n, const dcsr_text *texts, uint64_t *ids)
{
    DCSR_TRY(check("dcsr_names_find", names, n, texts, ids));
    const uint64_t count = atomic_load(&names->count);
    uint32_t hashes[GROUP];
    for (uint64_t i = 0; i < n;) {
        uint64_t end = n - i < MOST_AT_ONCE ? n : i + MOST_AT_ONCE;
        pthread_rwlock_rdlock(&names->replacing);
        for (; i < end; i += GROUP)
            find_group(names, count, end - i < GROUP ? end - i : GROUP, texts + i, hashes, ids + i);
        pthread_rwlock_unlock(&names->replacing);
        i = end;
    }
    return DCSR_OK;
}

dcsr_status dcsr_names_get(dcsr_names *names, uint64_t n, const uint64_t *ids, dcsr_text *texts)
{
    enum { AHEAD = 16 };
    DCSR_TRY(check("dcsr_names_get", names, n, texts, ids));
    const uint64_t count = atomic_load(&names->count), *offset = names->offset;
    for (uint64_t i = 0; i < n; i++) {
        if (i + AHEAD < n && ids[i + AHEAD] < count) __builtin_prefetch(&offset[ids[i + AHEAD]]);
        if (ids[i] >= count)
            return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                               "dcsr_names_get: id %llu, number %llu of %llu, has no name: there are %llu",
                               (unsigned long long)ids[i], (unsigned long long)i, (unsigned long long)n,
                               (unsigned long long)count);
        uint64_t begin = offset[ids[i]];
        texts[i] = (dcsr_text){names->bytes + begin, offset[ids[i] + 1] - begin};
    }
    return DCSR_OK;
}

dcsr_status dcsr_names_get_count(dcsr_names *names, uint64_t *count)
{
    DCSR_TRY(check("dcsr_names_get_count", names, 0, NULL, NULL));
    if (!count) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_names_get_count: count is NULL");
    *count = atomic_load(&names->count);
    return DCSR_OK;
}

/* ---- Life ---- */

static uint64_t make_seed(const dcsr_names *names)
{
    uint64_t seed;
    return getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed ? seed : (uintptr_t)names;
}

/* Address space for as much as there can be, or some, and memory for the first offset and slots. */
static dcsr_status furnish(dcsr_names *names)
{
    enum { FEW = 1 << 24 }; /* bytes */
    const size_t most = dcsr_i_mapping_share_of(names->context),
                 offsets = (DCSR_NAMES_MOST + 1) * sizeof *names->offset;
    DCSR_TRY(dcsr_i_mapping_reserve_some(&names->byte_memory, names->context, true, most, FEW, UNIT));
    DCSR_TRY(dcsr_i_mapping_reserve_some(&names->offset_memory, names->context, true,
                                         offsets < most / 2 ? offsets : most / 2, FEW, UNIT));
    names->bytes = names->byte_memory.start;
    names->offset = (uint64_t *)names->offset_memory.start;
    DCSR_TRY(make_room(&names->offset_memory, &names->offset_room, sizeof *names->offset));
    return replace_table(names, FIRST_SLOTS, 0);
}

dcsr_status dcsr_names_create(dcsr_names **names, dcsr_context *context)
{
    if (!names) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_names_create: names is NULL");
    *names = NULL;
    DCSR_TRY(dcsr_i_context_check(context));
    dcsr_names *created = dcsr_i_calloc(context, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->context = context;
    created->seed = make_seed(created);
    atomic_init(&created->callers, 1);
    atomic_init(&created->references, 1);
    pthread_mutex_init(&created->adding, NULL);
    /* So that those that find, one after the other, cannot keep one that adds waiting. */
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&created->replacing, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    dcsr_i_context_retain(context);
    dcsr_status status = furnish(created);
    if (status == DCSR_OK)
        *names = created;
    else
        dcsr_names_destroy(created);
    return status;
}

void dcsr_i_names_retain(dcsr_names *names)
{
    atomic_fetch_add(&names->callers, 1);
    atomic_fetch_add(&names->references, 1);
}

void dcsr_i_names_release(dcsr_names *names)
{
    if (atomic_fetch_sub(&names->references, 1) != 1) return;
    dcsr_context *context = names->context;
    dcsr_i_free(context, DCSR_I_MATRIX, names->table.slot, names->table.count, sizeof *names->table.slot);
    dcsr_i_mapping_release(&names->offset_memory);
    dcsr_i_mapping_release(&names->byte_memory);
    pthread_rwlock_destroy(&names->replacing);
    pthread_mutex_destroy(&names->adding);
    dcsr_i_free(context, DCSR_I_MATRIX, names, 1, sizeof *names);
    dcsr_i_context_release(context);
}

void dcsr_names_destroy(dcsr_names *names)
{
    if (!names) return;
    if (atomic_fetch_sub(&names->callers, 1) == 1 && names->abandoned) names->abandoned(names->keeper, names);
    dcsr_i_names_release(names);
}
