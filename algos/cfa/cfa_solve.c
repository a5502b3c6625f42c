/* cfa_solve.c: the solution, round by round.
 *
 *      frontier: states that are new, or of which an address has got a value
 *        | each brings addresses and values together; calls and continuations reach further states
 *        v
 *      batch of (address, value) ---> the store, a matrix ---> version v + 1
 *                                                                 |
 *      states that read these rows <--- rows that differ  <-- dcsr_view_diff()
 *
 * Fun, Arg and Var, the matrices of the formulation, have one entry in a row, and are kept as arrays of addresses. A
 * state that was there before brings only what is new together with all the rest. */
#include "algos/cfa/cfa_solution.h"
#include <dcsr/diff.h>
#include <dcsr/extend.h>
#include <string.h>

/* What has come to an address since the version before, in the lists of a diff. */
typedef struct delta {
    uint64_t begin, count;
} delta;

typedef struct solver {
    dcsr_cfa *cfa;
    dcsr_i_cfa_solution *solution;
    dcsr_i_cfa_array rows, cols;           /* of the batch */
    dcsr_i_cfa_array frontier;             /* states, and behind them those that are reached meanwhile */
    uint64_t old;                          /* so many of them were reached before */
    dcsr_i_cfa_array listed;               /* of each state: the round in which it was last put there */
    dcsr_i_cfa_array reader, first_reader; /* states by the addresses that they read */
    dcsr_i_cfa_array deltas;               /* of each address */
    dcsr_i_cfa_array functions, given;     /* rows of the store */
    const uint32_t *fresh;                 /* columns of the diff */
    uint32_t round;
    uint64_t inserted;
} solver;

enum { MOST_OF_BATCH = 1 << 20 };

static dcsr_i_cfa_state *state_at(const solver *s, uint32_t state)
{
    return DCSR_I_CFA_AT(s->cfa->states, dcsr_i_cfa_state, state);
}
static const dcsr_i_cfa_value *value_at(const solver *s, uint32_t value)
{
    return DCSR_I_CFA_AT(s->cfa->values, dcsr_i_cfa_value, value);
}
static uint32_t argument_at(const solver *s, const dcsr_i_cfa_state *state, uint32_t i)
{
    return *DCSR_I_CFA_AT(s->cfa->arguments, uint32_t, state->arguments + i);
}

/* ---- The batch ---- */

static void insert_batch(solver *s)
{
    if (!s->rows.count || s->cfa->status) return;
    s->cfa->status =
        dcsr_matrix_insert(s->solution->store, s->rows.count, s->rows.items, s->cols.items, NULL, NULL);
    s->inserted += s->rows.count;
    s->rows.count = s->cols.count = 0;
}

static void bring(solver *s, uint32_t address, uint32_t value)
{
    if (s->rows.count >= MOST_OF_BATCH) insert_batch(s);
    uint64_t *row = dcsr_i_cfa_append(s->cfa, &s->rows, 1), *col = dcsr_i_cfa_append(s->cfa, &s->cols, 1);
    if (!row || !col) return;
    *row = address;
    *col = value;
}

static void reach(solver *s, uint32_t state)
{
    char *is_reached = DCSR_I_CFA_AT(s->solution->is_reached, char, state);
    if (*is_reached) return;
    *is_reached = 1;
    s->solution->reached++;
    uint32_t *added = dcsr_i_cfa_append(s->cfa, &s->frontier, 1);
    if (added) *added = state;
}

/* ---- What a state brings together ---- */

const uint32_t *dcsr_i_cfa_row(dcsr_cfa *cfa, uint32_t address, dcsr_i_cfa_array *list, uint64_t *length)
{
    dcsr_view *view = cfa->solution->view;
    *length = 0;
    for (int attempt = 0; attempt < 2 && !cfa->status; attempt++) {
        cfa->status = dcsr_view_get_row(view, address, list->capacity, list->items, NULL, length);
        if (*length <= list->capacity) break;
        list->count = 0;
        dcsr_i_cfa_append(cfa, list, *length);
    }
    if (cfa->status) *length = 0;
    return list->items;
}

static const uint32_t *fresh_of(const solver *s, uint32_t address, uint64_t *length)
{
    const delta *d = DCSR_I_CFA_AT(s->deltas, delta, address);
    *length = d->count;
    return d->count ? s->fresh + d->begin : NULL;
}

/* The values at an address: all of them, for a state that is new, or those that are new there. */
static const uint32_t *values_for(solver *s, bool is_new, uint32_t address, dcsr_i_cfa_array *list,
                                  uint64_t *length)
{
    return is_new ? dcsr_i_cfa_row(s->cfa, address, list, length) : fresh_of(s, address, length);
}

/* Whether it is a function of so many parameters. */
static bool takes(const dcsr_i_cfa_value *value, uint32_t count)
{
    return value->kind == DCSR_I_CFA_LAMBDA && value->count == count;
}

static void bring_all(solver *s, const uint32_t *functions, uint64_t n, const dcsr_i_cfa_state *call,
                      uint32_t i, const uint32_t *values, uint64_t m)
{
    for (uint64_t f = 0; f < n; f++) {
        const dcsr_i_cfa_value *function = value_at(s, functions[f]);
        if (!takes(function, call->count)) continue;
        for (uint64_t v = 0; v < m; v++) bring(s, function->parameters + i, values[v]);
    }
}

/* Constants, one for each bit, go to the continuation of a state. */
static void pass_constants(solver *s, const dcsr_i_cfa_state *state, bool is_new, unsigned constants)
{
    uint64_t n;
    const uint32_t *continuations = values_for(s, is_new, state->function, &s->functions, &n);
    for (uint64_t f = 0; f < n && constants; f++) {
        const dcsr_i_cfa_value *continuation = value_at(s, continuations[f]);
        if (!takes(continuation, 1)) continue;
        for (uint32_t c = 0; c < DCSR_I_CFA_CONSTANTS; c++)
            if (constants >> c & 1) bring(s, continuation->parameters, c);
        reach(s, continuation->body);
    }
}

/* An unknown function may return any constant. */
static void pass_unknown(solver *s, const dcsr_i_cfa_state *call, const uint32_t *functions, uint64_t n)
{
    bool is_unknown = false;
    for (uint64_t f = 0; f < n; f++) is_unknown |= functions[f] + 1 == s->cfa->unknown;
    if (!is_unknown || !call->count) return;
    dcsr_i_cfa_state returns = *call;
    returns.function = argument_at(s, call, call->count - 1);
    pass_constants(s, &returns, true, (1u << DCSR_I_CFA_CONSTANTS) - 1);
}

static void pass_call(solver *s, const dcsr_i_cfa_state *call, bool is_new)
{
    uint64_t n, m;
    const uint32_t *functions = values_for(s, is_new, call->function, &s->functions, &n);
    for (uint64_t f = 0; f < n; f++)
        if (takes(value_at(s, functions[f]), call->count)) reach(s, value_at(s, functions[f])->body);
    for (uint32_t i = 0; n && i < call->count; i++) {
        const uint32_t *values = dcsr_i_cfa_row(s->cfa, argument_at(s, call, i), &s->given, &m);
        bring_all(s, functions, n, call, i, values, m);
    }
    if (!is_new) functions = dcsr_i_cfa_row(s->cfa, call->function, &s->functions, &n);
    for (uint32_t i = 0; i < call->count && !is_new; i++) {
        const uint32_t *values = fresh_of(s, argument_at(s, call, i), &m);
        if (m) bring_all(s, functions, n, call, i, values, m);
    }
    pass_unknown(s, call, functions, n);
}

static void pass_if(solver *s, const dcsr_i_cfa_state *state, bool is_new)
{
    uint64_t n;
    const uint32_t *values = values_for(s, is_new, state->function, &s->functions, &n);
    for (uint64_t v = 0; v < n; v++)
        reach(s, values[v] == DCSR_I_CFA_IS_FALSE ? state->when_false : state->when_true);
}

static void pass_set(solver *s, const dcsr_i_cfa_state *state, bool is_new)
{
    uint64_t n;
    const uint32_t *values = values_for(s, is_new, argument_at(s, state, 1), &s->given, &n);
    for (uint64_t v = 0; v < n; v++) bring(s, argument_at(s, state, 0), values[v]);
    pass_constants(s, state, is_new, 1u << DCSR_I_CFA_IS_VOID);
}

static void pass(solver *s, uint32_t number, bool is_new)
{
    const dcsr_i_cfa_state *state = state_at(s, number);
    switch (state->kind) {
    case DCSR_I_CFA_CALL:
        pass_call(s, state, is_new);
        break;
    case DCSR_I_CFA_PRIMITIVE:
        pass_constants(s, state, is_new, dcsr_i_cfa_primitive_at(state->primitive)->results);
        break;
    case DCSR_I_CFA_IF:
        pass_if(s, state, is_new);
        break;
    case DCSR_I_CFA_SET:
        pass_set(s, state, is_new);
        break;
    case DCSR_I_CFA_HALT:
        break;
    }
}

/* ---- Rounds ---- */

/* States by the addresses that they read: those of address a from first_reader[a] on. */
static void list_readers(solver *s)
{
    const uint64_t states = s->cfa->states.count, addresses = s->cfa->addresses.count;
    uint64_t *first = dcsr_i_cfa_append(s->cfa, &s->first_reader, addresses + 2), all = 0;
    if (!first) return;
    for (int writing = 0; writing < 2; writing++) {
        uint32_t *reader = writing ? dcsr_i_cfa_append(s->cfa, &s->reader, all) : NULL;
        if (writing && !reader) return;
        for (uint32_t n = 0; n < states; n++) {
            const dcsr_i_cfa_state *state = state_at(s, n);
            const bool halts = state->kind == DCSR_I_CFA_HALT;
            for (uint32_t i = 0; i <= state->count && !halts; i++) {
                const uint32_t address = i ? argument_at(s, state, i - 1) : state->function;
                if (writing)
                    reader[first[address + 1]++] = n;
                else
                    first[address + 2]++, all++;
            }
        }
        for (uint64_t a = 0; !writing && a < addresses; a++) first[a + 2] += first[a + 1];
    }
}

/* The states that read what has changed, if they are reached, come next. */
static void list_next(solver *s, const dcsr_diff_list *fresh)
{
    s->fresh = fresh->col_indices;
    for (uint64_t i = 0; i < fresh->nnz && !s->cfa->status; i++) {
        const uint32_t address = fresh->row_indices[i];
        delta *d = DCSR_I_CFA_AT(s->deltas, delta, address);
        if (d->count++) continue;
        d->begin = i;
        const uint64_t *first = DCSR_I_CFA_AT(s->first_reader, uint64_t, address);
        for (uint64_t r = first[0]; r < first[1]; r++) {
            const uint32_t state = *DCSR_I_CFA_AT(s->reader, uint32_t, r);
            uint32_t *listed = DCSR_I_CFA_AT(s->listed, uint32_t, state);
            if (!*DCSR_I_CFA_AT(s->solution->is_reached, char, state) || *listed == s->round) continue;
            *listed = s->round;
            uint32_t *added = dcsr_i_cfa_append(s->cfa, &s->frontier, 1);
            if (added) *added = state;
        }
    }
}

static void forget_deltas(solver *s, const dcsr_diff_list *fresh)
{
    for (uint64_t i = 0; i < fresh->nnz; i++)
        *DCSR_I_CFA_AT(s->deltas, delta, fresh->row_indices[i]) = (delta){0, 0};
}

static dcsr_status next_version(solver *s, dcsr_view **view)
{
    insert_batch(s);
    if (!s->cfa->status) s->cfa->status = dcsr_matrix_wait(s->solution->store);
    if (!s->cfa->status) s->cfa->status = dcsr_view_create(view, s->solution->store, DCSR_LAYOUT_SEGMENTS, 0);
    return s->cfa->status;
}

/* One round: the batch becomes a version; what that has brought is passed on. Returns whether there was any. */
static bool take_round(solver *s)
{
    dcsr_view *view = NULL;
    dcsr_diff *diff = NULL;
    dcsr_diff_entries entries;
    if (next_version(s, &view)) return false;
    s->cfa->status = dcsr_view_diff(&diff, s->solution->view, view);
    if (!s->cfa->status) s->cfa->status = dcsr_diff_get_entries(diff, &entries);
    dcsr_view_destroy(s->solution->view);
    s->solution->view = view;
    if (!s->cfa->status) {
        s->round++;
        list_next(s, &entries.inserted);
        s->old = s->frontier.count;
        for (uint64_t i = 0; i < s->frontier.count && !s->cfa->status; i++)
            pass(s, *DCSR_I_CFA_AT(s->frontier, uint32_t, i), i >= s->old);
        forget_deltas(s, &entries.inserted);
    }
    const bool any = s->frontier.count != 0;
    s->frontier.count = 0;
    dcsr_diff_destroy(diff);
    return any && !s->cfa->status;
}

/* ---- To begin with ---- */

static void open_store(solver *s)
{
    dcsr_cfa *cfa = s->cfa;
    dcsr_i_cfa_solution *solution = s->solution;
    const uint64_t rows = cfa->addresses.count, cols = cfa->values.count;
    if (cfa->status) return;
    if (!solution->store)
        cfa->status = dcsr_matrix_create(&solution->store, cfa->context, DCSR_PATTERN, rows, cols, NULL);
    else
        cfa->status = dcsr_matrix_resize(solution->store, rows, cols, NULL);
    if (!cfa->status && !solution->view) next_version(s, &solution->view);
}

/* Each value is at its own address; what links say; variables that nothing binds may be any constant. */
static void bring_first(solver *s)
{
    dcsr_cfa *cfa = s->cfa;
    for (uint64_t v = s->solution->values; v < cfa->values.count; v++)
        bring(s, value_at(s, (uint32_t)v)->address, (uint32_t)v);
    for (uint64_t l = s->solution->links; l < cfa->links.count; l++) {
        const dcsr_i_cfa_link *link = DCSR_I_CFA_AT(cfa->links, dcsr_i_cfa_link, l);
        bring(s, link->address, link->value);
    }
    for (uint64_t u = 0; u < cfa->unbound.count; u++) {
        const uint32_t symbol = *DCSR_I_CFA_AT(cfa->unbound, uint32_t, u);
        const uint32_t address = DCSR_I_CFA_AT(cfa->symbols, dcsr_i_cfa_symbol, symbol)->global - 1;
        for (uint32_t c = 0; c < DCSR_I_CFA_CONSTANTS; c++) bring(s, address, c);
        bring(s, address, cfa->unknown - 1);
    }
}

static void list_unbound(dcsr_cfa *cfa)
{
    for (uint32_t n = 1; n < cfa->symbols.count; n++) {
        dcsr_i_cfa_symbol *symbol = DCSR_I_CFA_AT(cfa->symbols, dcsr_i_cfa_symbol, n);
        if (!symbol->global || symbol->is_defined || symbol->is_unbound) continue;
        uint32_t *added = dcsr_i_cfa_append(cfa, &cfa->unbound, 1);
        if (!added) return;
        *added = n;
        symbol->is_unbound = true;
        if (!cfa->unknown) cfa->unknown = dcsr_i_cfa_add_constant(cfa, "unknown") + 1;
    }
}

/* States that are looked at in the first round as if they were new. */
static void reach_first(solver *s)
{
    dcsr_i_cfa_solution *solution = s->solution;
    for (uint32_t n = 0; solution->again && n < s->cfa->states.count; n++) {
        uint32_t *added =
            *DCSR_I_CFA_AT(solution->is_reached, char, n) ? dcsr_i_cfa_append(s->cfa, &s->frontier, 1) : NULL;
        if (added) *added = n;
    }
    reach(s, s->cfa->first);
    for (uint64_t i = 0; i < s->frontier.count && !s->cfa->status; i++)
        pass(s, *DCSR_I_CFA_AT(s->frontier, uint32_t, i), true);
    s->frontier.count = 0;
}

static void prepare(solver *s)
{
    dcsr_cfa *cfa = s->cfa;
    list_unbound(cfa);
    dcsr_i_cfa_array *reached = &s->solution->is_reached;
    if (reached->count < cfa->states.count)
        dcsr_i_cfa_append(cfa, reached, cfa->states.count - reached->count);
    dcsr_i_cfa_append(cfa, &s->listed, cfa->states.count);
    dcsr_i_cfa_append(cfa, &s->deltas, cfa->addresses.count);
    list_readers(s);
    open_store(s);
}

void dcsr_i_cfa_forget(dcsr_cfa *cfa)
{
    dcsr_i_cfa_solution *solution = cfa->solution;
    if (!solution) return;
    dcsr_view_destroy(solution->view);
    dcsr_matrix_destroy(solution->store);
    dcsr_context_free(cfa->context, solution->is_reached.items, solution->is_reached.capacity, 1);
    dcsr_context_free(cfa->context, solution, 1, sizeof *solution);
    cfa->solution = NULL;
}

static void close_solver(solver *s)
{
    dcsr_i_cfa_array *const arrays[] = {&s->rows,         &s->cols,   &s->frontier,  &s->listed, &s->reader,
                                        &s->first_reader, &s->deltas, &s->functions, &s->given};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
        dcsr_context_free(s->cfa->context, arrays[a]->items, arrays[a]->capacity, arrays[a]->size);
}

static dcsr_status report(const solver *s, dcsr_cfa_result *result)
{
    const dcsr_cfa *cfa = s->cfa;
    *result = (dcsr_cfa_result){.states = cfa->states.count,
                                .reachable = s->solution->reached,
                                .addresses = cfa->addresses.count,
                                .values = cfa->values.count,
                                .iterations = s->round,
                                .inserted = s->inserted,
                                .unbound = cfa->unbound.count};
    return dcsr_matrix_get_nnz(s->solution->store, &result->store_nnz);
}

dcsr_status dcsr_cfa_solve(dcsr_cfa *cfa, dcsr_cfa_result *result)
{
    if (!cfa) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_cfa_solve: cfa is NULL");
    if (!cfa->is_begun)
        return dcsr_thread_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_cfa_solve: no expression has been added, so there is nothing to analyse");
    if (!cfa->solution) {
        cfa->solution = dcsr_context_allocate(cfa->context, 1, sizeof *cfa->solution);
        if (!cfa->solution) return dcsr_thread_status();
        cfa->solution->is_reached.size = 1;
    }
    solver s = {.cfa = cfa, .solution = cfa->solution};
    s.rows.size = s.cols.size = s.first_reader.size = sizeof(uint64_t);
    s.frontier.size = s.listed.size = s.reader.size = s.functions.size = s.given.size = sizeof(uint32_t);
    s.deltas.size = sizeof(delta);
    prepare(&s);
    if (!cfa->status) {
        bring_first(&s);
        reach_first(&s);
        s.solution->again = true; /* should it end half-way */
        while (take_round(&s))
            if (cfa->progress) cfa->progress(cfa->user, s.round, 0);
    }
    dcsr_status status = cfa->status;
    cfa->status = DCSR_OK;
    if (!status) {
        s.solution->values = cfa->values.count;
        s.solution->links = cfa->links.count;
        s.solution->again = false;
        if (result) status = report(&s, result);
    }
    close_solver(&s);
    return status;
}
