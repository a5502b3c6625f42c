/* same_generation.c: the classic Datalog program, by two rules for relations that grow:
 *
 *      sg(x, y)   <- edge(p, x), edge(p, y), x != y     to begin with
 *      up(x, b)   <- parent(x, a) sg(a, b)              parent is edge, transposed
 *      sg(x, y)   <- up(x, b) edge(b, y)
 *
 * When there are many pairs, and memory for all that there can be as bits, these are faster from there on. */
#include "algos/closure/generations.h"

enum { EDGE, PARENT, UP, SG, SYMBOLS };
/* Of all possible pairs, one in so many, of both sg and up, is many. */
enum { MANY = 32 };

static dcsr_status siblings(dcsr_i_relations *r, const dcsr_i_edge_rows *rows)
{
    for (uint64_t p = 0; p < rows->rows; p++)
        for (uint64_t a = rows->offsets[p]; a < rows->offsets[p + 1]; a++) {
            const uint32_t x = rows->cols[a];
            DCSR_I_WORK_TRY(dcsr_i_relations_add(r, EDGE, 0, p, x));
            DCSR_I_WORK_TRY(dcsr_i_relations_add(r, PARENT, 0, x, p));
            for (uint64_t b = rows->offsets[p]; b < rows->offsets[p + 1]; b++)
                if (rows->cols[b] != x) DCSR_I_WORK_TRY(dcsr_i_relations_add(r, SG, 0, x, rows->cols[b]));
        }
    return DCSR_OK;
}

static dcsr_status grow(dcsr_matrix **pairs, dcsr_closure_result *made, dcsr_i_work *work, dcsr_view *A)
{
    dcsr_i_edge_rows rows;
    dcsr_i_symbol symbols[SYMBOLS] = {{0}};
    dcsr_i_rule rules[] = {{.made = UP, .first = PARENT, .second = SG},
                           {.made = SG, .first = UP, .second = EDGE}};
    dcsr_i_relations r = {.symbol = symbols, .symbols = SYMBOLS, .rule = rules, .rules = 2, .told = SG};
    DCSR_I_WORK_TRY(dcsr_i_edge_rows_read(&rows, work, A));
    DCSR_I_WORK_TRY(dcsr_i_relations_begin(&r, work, rows.rows, 0));
    DCSR_I_WORK_TRY(siblings(&r, &rows));
    if (dcsr_i_work_has(work, 2 * dcsr_i_generations_bytes(rows.rows)))
        r.enough = rows.rows * rows.rows / MANY + 1;
    DCSR_I_WORK_TRY(dcsr_i_relations_grow(&r));
    made->iterations = r.rounds;
    if (r.enough && r.pairs >= r.enough) return dcsr_i_generations_dense(pairs, made, &rows, &r, SG);
    made->pairs = symbols[SG].pairs;
    return pairs ? dcsr_i_relations_to_matrix(pairs, &r, SG) : DCSR_OK;
}

dcsr_status dcsr_same_generation(dcsr_matrix **pairs, dcsr_closure_result *result, dcsr_view *A,
                                 const dcsr_closure_options *options)
{
    static const char call[] = "dcsr_same_generation";
    dcsr_view_shape shape;
    dcsr_i_work work;
    dcsr_closure_result made = {0};
    if (pairs) *pairs = NULL;
    if (!pairs && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: both pairs and result are NULL", call);
    DCSR_I_WORK_TRY(dcsr_i_square_shape(&shape, call, A));
    dcsr_i_work_begin(&work, call, shape.context, options ? options->memory_limit : 0);
    if (options) work.progress = options->progress, work.user = options->user;
    const dcsr_status status = grow(pairs, &made, &work, A);
    made.bytes = work.peak;
    dcsr_i_work_end(&work);
    if (!status && result) *result = made;
    return status;
}
