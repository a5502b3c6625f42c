/* maintenance.c: changes that leave the entries as they are - resolving and bringing together rows - and when they
 * are worth it. The work itself is the engine's. */
#include "dcsr/store/maintained_transpose.h"

/* Rewrites the rows of a kind, with slack, as a change. */
static dcsr_status rewrite(dcsr_matrix *matrix, dcsr_i_rows_kind kind)
{
    dcsr_i_selection selection = {.kind = kind, .column_limit = DCSR_MAX_COLS, .slack = true};
    dcsr_i_rewritten result;
    const dcsr_i_table *base = matrix->versions.current;
    DCSR_TRY(matrix->engine->rewrite(&result, matrix, base, base->version + 1, &selection));
    if (!result.table) return DCSR_OK;
    dcsr_i_twin_stays(matrix);
    dcsr_i_publish(matrix, result.table, result.limbo);
    return DCSR_OK;
}

dcsr_status dcsr_i_apply_resolve(dcsr_matrix *matrix)
{
    DCSR_TRY(rewrite(matrix, DCSR_I_UNRESOLVED_ROWS));
    atomic_store(&matrix->due.resolve_reads, 0);
    atomic_store(&matrix->due.unsettled_deletions, 0);
    return DCSR_OK;
}

dcsr_status dcsr_i_apply_defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope)
{
    if (scope == DCSR_DEFRAGMENT_WHOLE) {
        /* Lengths must be final before they can be summed. */
        DCSR_TRY(dcsr_i_apply_resolve(matrix));
        DCSR_TRY(matrix->engine->tighten(matrix));
    } else {
        DCSR_TRY(rewrite(matrix, DCSR_I_UNRESOLVED_OR_SPLIT_ROWS));
    }
    atomic_store(&matrix->due.extra_reads, 0);
    atomic_fetch_add(&matrix->counts.defragmentations, 1);
    return DCSR_OK;
}

/* ---- When it is worth it ----
 *
 * Costs are counted in entries read in passing. Walking a further segment of a row costs a jump to another
 * place and a loop that starts anew; moving an entry reads and writes it. When what readers have paid for
 * jumps has reached what moving costs, moving pays from then on; paying as much again at most is the price of
 * not knowing the future. */
enum { JUMP_COST = 12, MOVE_COST = 4 };

/* Space may be taken by slack, deleted entries and what moved rows left in blocks still in use: up to this
 * many times what is stored, beyond a small matrix's worth. */
enum { MOST_SPACE = 3, SMALL_SPACE = 1 << 18 };

/* Of what is stored, one in this many may be a tombstone. */
enum { TOMBSTONE_SHARE = 4 };

void dcsr_i_was_read(dcsr_matrix *matrix, const dcsr_i_table *table)
{
    if (!table->extra_segments) return;
    uint64_t reads =
        atomic_fetch_add(&matrix->due.extra_reads, table->extra_segments) + table->extra_segments;
    if (reads * JUMP_COST < table->stored * MOVE_COST) return;
    /* With few rows fragmented only those are moved. */
    dcsr_i_request_maintenance(matrix, DCSR_I_DEFRAGMENT,
                               table->extra_segments * 8 < table->rows ? DCSR_DEFRAGMENT_SELECTED
                                                                       : DCSR_DEFRAGMENT_WHOLE);
}

void dcsr_i_was_resolved(dcsr_matrix *matrix, uint64_t entries)
{
    /* The second view that has to do the same work is one too many: the store should. */
    if (atomic_fetch_add(&matrix->due.resolve_reads, entries) >= entries)
        dcsr_i_request_maintenance(matrix, DCSR_I_RESOLVE, DCSR_DEFRAGMENT_SELECTED);
}

void dcsr_i_changed(dcsr_matrix *matrix, uint64_t deletions)
{
    uint64_t stored = matrix->versions.current->stored, held = dcsr_i_arena_held(&matrix->arena);
    deletions += atomic_fetch_add(&matrix->due.unsettled_deletions, deletions);
    if (held > MOST_SPACE * stored + SMALL_SPACE)
        dcsr_i_request_maintenance(matrix, DCSR_I_DEFRAGMENT, DCSR_DEFRAGMENT_WHOLE);
    else if (deletions > SMALL_SPACE / 16 && deletions > stored / TOMBSTONE_SHARE)
        dcsr_i_request_maintenance(matrix, DCSR_I_RESOLVE, DCSR_DEFRAGMENT_SELECTED);
}
