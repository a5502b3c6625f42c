/* upload_cuda.c: bringing a large batch from the host to the device, within the call that gives it.
 *
 *      the caller's arrays     pinned memory             device
 *      [piece|piece|...]  -->  [slot][slot][slot] ... -->  keys, words
 *
 * Each thread packs the next piece that nobody has taken into the slot whose turn it is, and for each a kernel that
 * reads it is put onto one stream, where it runs while others are being packed. There are two slots for each thread: so
 * what goes through them stays in the caches of the cores, from which the device reads it, memory is read once, for the
 * caller's arrays, and no more pinned memory is needed for a larger batch.
 *
 * Only one thread at a time may use the stream. Launching a kernel takes some microseconds, and waking a thread that
 * sleeps until it may takes longer. So none waits: who finds the stream in use leaves its slot in a list to whoever
 * uses it. And who waits for a slot looks at what the kernel writes there: threads that asked the driver would keep
 * those that launch from it. */
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include <sched.h>

enum { SLOTS = 2 }; /* for each thread */

static const char bringing[] = "transferring a batch";

/* How often a thread looks before it asks the driver. In the emulator kernels run while somebody waits. */
#ifdef DCSR_SIMT
enum { LOOKS = 4 };
#else
enum { LOOKS = 10000 };
#endif

enum { TOLD_BYTES = 64 }; /* a line of the cache */

typedef struct slot {
    struct slot *next;    /* in the list of those that are packed */
    uint64_t piece;       /* that is in it */
    char *memory;         /* pinned: a word that the kernel writes, then the keys and values of a piece */
    _Atomic uint64_t put; /* all of its pieces below this have their kernel on the stream */
} slot;

typedef struct staging {
    dcsr_i_cuda_stream *stream;
    atomic_bool in_use;   /* the stream, by a thread */
    slot *_Atomic packed; /* a list of those whose kernels are to be put onto it */
    dcsr_i_operation *operation;
    const dcsr_i_entries *entries;
    uint64_t piece, pieces; /* entries of one; how many there are */
    _Atomic uint64_t next;  /* the piece that nobody has taken */
    uint64_t slot_count;
    int threads;
    size_t size;       /* of a value */
    uint32_t *arrived; /* on the device: see dcsr_i_cuda_tell; NULL where no slot is used twice */
    slot *slots;
} staging;

static size_t slot_bytes(const staging *s)
{
    return TOLD_BYTES + s->piece * (sizeof(uint64_t) + s->size);
}

/* ---- Pieces ---- */

static uint64_t first_of(const staging *s, uint64_t piece)
{
    return piece * s->piece;
}

static uint64_t end_of(const staging *s, uint64_t piece)
{
    return piece + 1 < s->pieces ? first_of(s, piece + 1) : s->operation->batch.n;
}

static uint64_t *told_in(const slot *from)
{
    return (uint64_t *)from->memory;
}

static uint64_t *keys_in(const slot *from)
{
    return (uint64_t *)(from->memory + TOLD_BYTES);
}

static char *values_in(const staging *s, const slot *from)
{
    return s->size ? (char *)(keys_in(from) + s->piece) : NULL;
}

/* What goes wrong is the device's, and is told by the wait that follows. */
static void unload(staging *s, const slot *from)
{
    const dcsr_i_arrival *to = &s->operation->batch.arrival;
    const uint64_t first = first_of(s, from->piece);
    const dcsr_i_cuda_packed packed = {keys_in(from), values_in(s, from), (uint32_t)s->size,
                                       end_of(s, from->piece) - first};
    const dcsr_i_cuda_tell tell = {s->arrived ? told_in(from) : NULL, from->piece + 1, s->arrived};
    dcsr_i_cuda_unload(s->stream, &packed, to->keys + first, s->size ? to->words + first : NULL, tell);
}

/* What is packed is put onto the stream by this thread, or by another that is about it: that one looks again once it
 * has let go of the stream, so nothing is left behind. */
static void put_kernels(staging *s)
{
    while (atomic_load(&s->packed) && !atomic_exchange(&s->in_use, true)) {
        for (slot *from = atomic_exchange(&s->packed, NULL), *next; from; from = next) {
            const uint64_t piece = from->piece; /* once the kernel is there it may be another's */
            next = from->next;
            unload(s, from);
            atomic_store(&from->put, piece + 1); /* then another may wait for it */
        }
        atomic_store(&s->in_use, false);
    }
}

static void hand_over(staging *s, slot *mine)
{
    mine->next = atomic_load(&s->packed);
    while (!atomic_compare_exchange_weak(&s->packed, &mine->next, mine)) {
    }
    put_kernels(s);
}

static bool is_told(const slot *mine, uint64_t piece)
{
    return __atomic_load_n(told_in(mine), __ATOMIC_ACQUIRE) > piece;
}

/* Waits for all that is on the stream, if no other thread uses it and the piece's kernel is there. */
static bool ask_driver(staging *s, const slot *mine, uint64_t piece)
{
    if (atomic_load(&mine->put) <= piece || atomic_exchange(&s->in_use, true)) return false;
    dcsr_i_cuda_settle(s->stream, bringing);
    atomic_store(&s->in_use, false);
    put_kernels(s);
    return true;
}

/* Until the piece that was in the slot has been read; or never will be, where the device has failed. */
static void wait_for_slot(staging *s, const slot *mine, uint64_t piece)
{
    for (int looks = 0; !is_told(mine, piece); looks++) {
        if (looks >= LOOKS && ask_driver(s, mine, piece)) return;
        sched_yield();
    }
}

/* What one thread does; returns what was found in the entries. */
static unsigned stage_pieces(staging *s)
{
    unsigned found = 0;
    for (uint64_t p; (p = atomic_fetch_add(&s->next, 1)) < s->pieces;) {
        slot *mine = &s->slots[p % s->slot_count];
        if (p >= s->slot_count) wait_for_slot(s, mine, p - s->slot_count);
        mine->piece = p;
        found |= dcsr_i_entries_pack_slice(keys_in(mine), values_in(s, mine), &s->operation->batch,
                                           s->entries, first_of(s, p), end_of(s, p));
        hand_over(s, mine);
    }
    return found;
}

static unsigned stage_all(staging *s)
{
    const int threads = s->threads;
    unsigned found = 0;
#pragma omp parallel num_threads(threads) reduction(| : found) if (threads > 1)
    found |= stage_pieces(s);
    return found;
}

/* ---- What it needs ---- */

static dcsr_status make_slots(staging *s)
{
    dcsr_context *context = s->operation->context;
    s->slots = dcsr_i_calloc(context, DCSR_I_SCRATCH, s->slot_count, sizeof *s->slots);
    if (!s->slots) return dcsr_i_no_memory();
    for (uint64_t i = 0; i < s->slot_count; i++) {
        slot *made = &s->slots[i];
        made->memory = dcsr_i_alloc(context, DCSR_I_PINNED, 1, slot_bytes(s));
        if (!made->memory) return dcsr_i_no_memory();
        *told_in(made) = 0;
    }
    if (s->slot_count == s->pieces) return DCSR_OK;
    s->arrived = dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, 1, sizeof *s->arrived);
    if (!s->arrived) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(s->stream, s->arrived, 0, sizeof *s->arrived);
    return DCSR_OK;
}

static void drop_slots(staging *s)
{
    dcsr_context *context = s->operation->context;
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, s->arrived, 1, sizeof *s->arrived);
    for (uint64_t i = 0; s->slots && i < s->slot_count; i++)
        dcsr_i_free(context, DCSR_I_PINNED, s->slots[i].memory, 1, slot_bytes(s));
    dcsr_i_free(context, DCSR_I_SCRATCH, s->slots, s->slot_count, sizeof *s->slots);
}

/* Takes slots and puts the batch through them. */
static dcsr_status bring(staging *s, unsigned *found)
{
    DCSR_TRY(make_slots(s));
    *found = stage_all(s);
    return DCSR_OK;
}

/* Waits until all is there, and gives back what was taken for it. */
static dcsr_status finish(staging *s)
{
    dcsr_status status = dcsr_i_cuda_wait(s->stream, bringing);
    drop_slots(s);
    return status;
}

/* ---- The whole ---- */

static dcsr_status stage(dcsr_i_cuda_stream *stream, dcsr_i_operation *operation, const dcsr_i_entries *e,
                         int threads)
{
    DCSR_TRY(dcsr_i_cuda_take_arrival(stream, operation));
    const size_t size = operation->batch.value_size;
    const uint64_t piece = dcsr_i_entries_slice(e->n, threads, sizeof(uint64_t) + size),
                   pieces = (e->n + piece - 1) / piece, slots = SLOTS * (uint64_t)threads;
    staging s = {.stream = stream,
                 .operation = operation,
                 .entries = e,
                 .piece = piece,
                 .pieces = pieces,
                 .threads = threads,
                 .slot_count = slots < pieces ? slots : pieces,
                 .size = size};
    unsigned found = 0;
    dcsr_status status = bring(&s, &found), finished = finish(&s);
    if (status == DCSR_OK) status = finished;
    if (status == DCSR_OK && found & DCSR_I_OUTSIDE) status = dcsr_i_entries_fail(&operation->batch, e);
    operation->batch.ascending = !(found & DCSR_I_DESCENDS);
    if (status != DCSR_OK) dcsr_i_cuda_drop_arrival(stream, operation);
    return status;
}

dcsr_status dcsr_i_cuda_stage_entries(dcsr_i_operation *operation, const dcsr_i_entries *e, int threads)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(operation->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_expect_entries(operation, e->n);
    dcsr_status status = stage(stream, operation, e, threads);
    dcsr_i_stream_return(operation->context, stream);
    return status;
}
