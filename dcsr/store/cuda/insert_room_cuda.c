/* insert_room_cuda.c: the room that is taken for a batch before it is known what it needs: places, slots for pages, a
 * root, lists; as much as batches of its kind have needed of late. */
#include "dcsr/store/cuda/insert_cuda.h"

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

enum { SOME = 64 };

/* The slots that are free, or some more, up to `most`. */
static uint32_t likely_slots(const dcsr_i_cuda_insertion *b, const dcsr_i_cuda_slots *slots, uint64_t most)
{
    const uint32_t idle = dcsr_i_cuda_slots_idle(slots, b->matrix);
    return (uint32_t)least_of(most, idle > SOME ? idle : SOME);
}

/* As many as batches needed of late and a quarter more; `first` for each entry where there has been none. */
static uint64_t likely(const dcsr_i_cuda_insertion *b, double needed, double first)
{
    return (uint64_t)((double)b->device.most * (needed > 0 ? 1.25 * needed : first)) + SOME;
}

/* Takes slots for pages that are likely to be made, in place with one segment page each. There only such are made as
 * a version that is held sees, mostly in the first batches after it, and as are missing. */
static void expect_pages(const dcsr_i_cuda_insertion *b, dcsr_i_cuda_room_for *room)
{
    const dcsr_i_cuda_store *store = b->matrix->cuda;
    const double needed = store->seen[b->operation->kind == DCSR_I_REMOVE].pages;
    uint64_t pages = b->device.most_pages, levels = (uint64_t)b->matrix->segments_per_row;
    if (b->device.in_place) {
        pages = least_of(pages,
                         b->device.seen ? likely(b, needed, 1) : least_of(SOME, likely(b, needed, 0) - SOME));
        levels = 1;
    }
    room->pages = likely_slots(b, &store->row_pages, pages);
    room->segments = likely_slots(b, &store->segment_pages, pages * levels);
}

dcsr_i_cuda_room_for dcsr_i_cuda_likely_room(const dcsr_i_cuda_insertion *b)
{
    const dcsr_i_cuda_store *store = b->matrix->cuda;
    const dcsr_i_cuda_needs *seen = &store->seen[b->operation->kind == DCSR_I_REMOVE];
    const uint64_t rows = least_of(b->device.most_rows, DCSR_CUDA_MOST_CLAIMED);
    dcsr_i_cuda_room_for room = {.places = b->device.most};
    expect_pages(b, &room);
    if (b->device.bulk) return room;
    /* What is merged has no slack: all rows may move, and no more than that. */
    const uint64_t all = (b->base->stored + b->device.most) * (b->merges ? 1 : 2);
    room.places = least_of(likely(b, seen->places, 3), all);
    room.moving = least_of(rows, likely(b, seen->moving, 1));
    if (b->merges) room.tails = least_of(rows * DCSR_CUDA_LONGEST_TAIL, likely(b, seen->tails, 4));
    if (b->very_few) room.tails = least_of(room.tails, DCSR_CUDA_FEW_TAILS);
    return room;
}

/* The most of late, of which so much is left with each batch. */
static void note(double *seen, double left, uint64_t needed, uint64_t entries)
{
    const double now = (double)needed / (double)entries;
    *seen = now > left * *seen ? now : left * *seen;
}

void dcsr_i_cuda_note_needs(dcsr_i_cuda_insertion *b)
{
    dcsr_i_cuda_needs *seen = &b->matrix->cuda->seen[b->operation->kind == DCSR_I_REMOVE];
    note(&seen->places, 0.9, b->plan.places, b->device.most);
    note(&seen->moving, 0.9, b->plan.moving, b->device.most);
    note(&seen->tails, 0.9, b->plan.tails, b->device.most);
    note(&seen->pages, 0.5, b->plan.pages, b->device.most); /* many at first, and then few */
}

dcsr_i_cuda_room_for dcsr_i_cuda_needed_room(const dcsr_i_cuda_insertion *b)
{
    return (dcsr_i_cuda_room_for){.places = b->plan.places,
                                  .moving = b->plan.moving,
                                  .tails = b->plan.tails,
                                  .pages = b->plan.pages,
                                  .segments = b->plan.segments};
}

/* For rows that move. */
static dcsr_status take_moves(dcsr_i_cuda_insertion *b)
{
    dcsr_i_cuda_batch *device = &b->device;
    dcsr_i_cuda_moves *moves = &device->moves;
    const uint64_t moving = device->room.moving;
    if (!moving || b->very_few) return DCSR_OK;
    const size_t of_row = sizeof(dcsr_i_cuda_mover) + 3 * sizeof(uint64_t), of_tail = sizeof(uint32_t);
    DCSR_TRY(dcsr_i_cuda_scratch_expect(&b->scratch, moving * of_row + device->room.tails * of_tail, 5));
    moves->list = b->merges ? NULL : dcsr_i_cuda_insertion_take(b, moving, sizeof *moves->list);
    moves->to = dcsr_i_cuda_insertion_take(b, moving, sizeof *moves->to);
    moves->offsets = dcsr_i_cuda_insertion_take(b, moving + 1, sizeof *moves->offsets);
    if ((!moves->list && !b->merges) || !moves->to || !moves->offsets) return dcsr_i_no_memory();
    if (b->merges) {
        device->tails = dcsr_i_cuda_insertion_take(b, device->room.tails, sizeof *device->tails);
        device->movers = dcsr_i_cuda_insertion_take(b, moving, sizeof *device->movers);
        if (!device->tails || !device->movers) return dcsr_i_no_memory();
    }
    return DCSR_OK;
}

/* What is told, behind it what is freed of each block, and slots. */
uint32_t *dcsr_i_cuda_freed_of(const dcsr_i_cuda_insertion *b)
{
    return (uint32_t *)((char *)b->told + dcsr_i_cuda_report_size(b->device.room.pages));
}

static size_t freed_size(const dcsr_i_cuda_insertion *b)
{
    return b->device.room.moving ? b->device.moves.blocks * sizeof(uint32_t) : 0;
}

static dcsr_status take_landing(dcsr_i_cuda_insertion *b, uint32_t **slots)
{
    const dcsr_i_cuda_room_for *room = &b->device.room;
    const size_t told = dcsr_i_cuda_report_size(room->pages) + freed_size(b);
    b->told = dcsr_i_cuda_landing(b->stream, told + ((size_t)room->pages + room->segments) * sizeof **slots);
    if (!b->told) return dcsr_i_no_memory();
    *slots = (uint32_t *)((char *)b->told + told);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_take_room(dcsr_i_cuda_insertion *b, const dcsr_i_cuda_room_for *room, bool likely)
{
    enum { FURTHER = 1 << 16 };
    dcsr_i_arena *arena = &b->matrix->arena;
    const uint64_t version = b->base->version + 1, places = room->places;
    b->device.room = *room;
    DCSR_TRY(dcsr_i_arena_take_some(arena, places, likely ? 2 * places + FURTHER : places, version,
                                    &b->device.begin, &b->device.room.places));
    uint32_t *slots;
    dcsr_status status = take_moves(b);
    if (status == DCSR_OK && !b->very_few && room->pages) {
        b->device.copied = dcsr_i_cuda_insertion_take(b, room->pages, sizeof *b->device.copied);
        if (!b->device.copied) status = dcsr_i_no_memory();
    }
    if (status == DCSR_OK) status = take_landing(b, &slots);
    b->build.in_place = b->device.in_place;
    b->build.held = b->device.seen != 0;
    if (status == DCSR_OK)
        status = dcsr_i_cuda_build_ahead(&b->build, room->pages, room->segments, slots, version,
                                         room->moving ? b->device.moves.blocks : 0);
    if (status != DCSR_OK) dcsr_i_arena_untake(arena, b->device.begin, b->device.room.places, 0);
    return status;
}

void dcsr_i_cuda_give_room(dcsr_i_cuda_insertion *b)
{
    dcsr_i_cuda_build_undo(&b->build);
    dcsr_i_arena_untake(&b->matrix->arena, b->device.begin, b->device.room.places, 0);
}
