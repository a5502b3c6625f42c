/* regroup_cuda.c: aggregates and T where strength has changed, on a device: memory, and the order of kernels.
 *
 * Of nodes of single rows alone: there a row tells its strong neighbours without any memory. All of it is rare: the
 * host reads along. */
#include "amg/cuda/follow_stages.h"
#include "dcsr/device/prim_cuda.h"

typedef dcsr_i_amg_cuda_follow follow;
typedef dcsr_i_amg_cuda_regrouping regrouping;

enum { MOST_ROUNDS = 16, ROUNDS = 2 };

static regrouping regrouping_of(const follow *f)
{
    const dcsr_i_amg_level *level = f->level;
    return (regrouping){.A = dcsr_i_amg_cuda_rows_of(&level->A.rows),
                        .R = dcsr_i_amg_cuda_rows_of(&level->R.rows),
                        .diagonal = level->diagonal.data,
                        .B = level->B.data,
                        .theta2 = level->theta * level->theta,
                        .aggregate = level->aggregate.data,
                        .T = level->T.data,
                        .coarse = level[1].B.data,
                        .log = dcsr_i_amg_cuda_log_of(f),
                        .moved = dcsr_i_amg_cuda_set_of(f, DCSR_I_MOVED),
                        .parts = dcsr_i_amg_cuda_set_of(f, DCSR_I_PARTS),
                        .members = dcsr_i_amg_cuda_set_of(f, DCSR_I_MEMBERS),
                        .vectors = dcsr_i_amg_cuda_set_of(f, DCSR_I_VECTORS)};
}

/* A counter that is used once more. */
static void clear(follow *f, int counter)
{
    dcsr_i_cuda_fill(f->h->stream, f->counters + counter, 0, sizeof *f->counters);
}

/* Nodes leave their aggregates; those that need one join others, in rounds. */
static dcsr_status move_nodes(follow *f)
{
    const uint64_t wanting = f->at[DCSR_I_MOVED], parts = f->at[DCSR_I_PARTS];
    regrouping g = regrouping_of(f);
    clear(f, DCSR_I_ROOM);
    dcsr_i_amg_cuda_add_lengths(f->h->stream, &g.parts, &g.R, f->counters + DCSR_I_ROOM, parts);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_read_counters(f));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_log_room(f, wanting + f->at[DCSR_I_ROOM]));
    g.log = dcsr_i_amg_cuda_log_of(f);
    dcsr_i_amg_cuda_dissolve(f->h->stream, &g, wanting, parts);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_read_counters(f));
    const uint64_t moved = f->at[DCSR_I_MOVED];
    uint32_t *joined = dcsr_i_amg_cuda_scratch(f, moved, sizeof *joined);
    if (!joined) return dcsr_i_no_memory();
    for (int round = 0; round < MOST_ROUNDS && moved; round += ROUNDS) {
        for (int r = 0; r < ROUNDS; r++)
            dcsr_i_amg_cuda_join(f->h->stream, &g, moved, joined, f->counters + DCSR_I_LEFT);
        DCSR_I_AMG_TRY(dcsr_i_amg_cuda_read_counters(f));
        if (!f->at[DCSR_I_LEFT]) return DCSR_OK;
    }
    if (moved) f->why = "rows became connected that no aggregate is near";
    return DCSR_OK;
}

/* T of the parts, whose members there are. */
static dcsr_status make_T(follow *f)
{
    dcsr_i_amg_hierarchy *h = f->h;
    const uint64_t parts = f->at[DCSR_I_PARTS], members = f->at[DCSR_I_MEMBERS];
    uint32_t *slot = dcsr_i_amg_cuda_scratch(f, f->level->aggregates, sizeof *slot);
    uint64_t *keys = slot ? dcsr_i_amg_cuda_scratch(f, members, sizeof *keys) : NULL,
             *spare = keys ? dcsr_i_amg_cuda_scratch(f, members, sizeof *keys) : NULL,
             *begin = spare ? dcsr_i_amg_cuda_scratch(f, parts + 1, sizeof *begin) : NULL;
    double *before = begin ? dcsr_i_amg_cuda_scratch(f, members, sizeof *before) : NULL,
           *factors = before ? dcsr_i_amg_cuda_scratch(f, parts, sizeof *factors) : NULL;
    if (!factors) return dcsr_i_no_memory();
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_log_room(f, members + parts));
    const regrouping g = regrouping_of(f);
    dcsr_i_amg_cuda_number(h->stream, g.parts.list, parts, slot);
    dcsr_i_amg_cuda_key_members(h->stream, &g, members, slot, keys);
    DCSR_I_AMG_TRY(
        dcsr_i_cuda_sort(h->stream, &keys, &spare, NULL, NULL, members, 0, 32 + dcsr_i_amg_cuda_bits(parts)));
    dcsr_i_cuda_find_begins(h->stream, keys, members, 32, parts, begin);
    const dcsr_i_amg_cuda_pieces pieces = {keys, begin, parts, 1, 1};
    dcsr_i_cuda_fill(h->stream, factors, 0, parts * sizeof *factors);
    dcsr_i_amg_cuda_restore(h->stream, &g, keys, members, before);
    dcsr_i_amg_cuda_factorise(h->stream, &pieces, g.T, factors);
    dcsr_i_amg_cuda_compare_vectors(h->stream, &g, &pieces, members, before, factors);
    return DCSR_OK;
}

static dcsr_status keep_vectors(follow *f)
{
    const uint64_t count = f->at[DCSR_I_VECTORS];
    if (!count) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&f->next_vectors, f->h, count, sizeof(uint32_t)));
    dcsr_i_cuda_copy(f->h->stream, f->next_vectors.data, dcsr_i_amg_cuda_set_of(f, DCSR_I_VECTORS).list,
                     count * sizeof(uint32_t));
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_cuda_regroup(follow *f, uint64_t *begin)
{
    const dcsr_i_amg_level *level = f->level;
    if (level->block > 1 || level->vectors > 1) {
        f->why = "aggregates of nodes of several rows do not hold together any more";
        return DCSR_OK;
    }
    if (f->at[DCSR_I_MOVED] || f->at[DCSR_I_PARTS]) DCSR_I_AMG_TRY(move_nodes(f));
    if (f->why) return DCSR_OK;
    const regrouping g = regrouping_of(f);
    dcsr_i_amg_cuda_list_members(f->h->stream, &g, f->vectors.data, f->vectors.count);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_read_counters(f));
    DCSR_I_AMG_TRY(make_T(f));
    const dcsr_i_amg_cuda_set looked = dcsr_i_amg_cuda_set_of(f, DCSR_I_LOOKED);
    dcsr_i_amg_cuda_add_columns(f->h->stream, &looked, &g.A, &g.moved, 1, 1, level->rows);
    dcsr_i_amg_cuda_add_list(f->h->stream, &looked, &g.moved, level->rows);
    clear(f, DCSR_I_ENTRIES);
    clear(f, DCSR_I_ROOM);
    dcsr_i_amg_cuda_place_nodes(f->h->stream, &looked, &g.A, 1, begin, f->counters + DCSR_I_ENTRIES,
                                level->rows);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_read_counters(f));
    return keep_vectors(f);
}
