/* cfa_convert.c: expressions become a program (cfa_convert.h), also where they are in continuation-passing style. */
#include "algos/cfa/cfa_convert.h"

/* ---- In continuation-passing style already ---- */

/* The addresses of `count` atoms from a node on. */
static uint32_t atoms_from(dcsr_cfa *cfa, const task *t, uint32_t node, uint32_t count)
{
    const uint32_t first = dcsr_i_cfa_add_arguments(cfa, count);
    for (uint32_t i = 0; i < count && !cfa->status; i++, node = next_of(cfa, node)) {
        uint32_t address = 0;
        if (!dcsr_i_cfa_is_atom(cfa, t, node, 0, &address))
            dcsr_i_cfa_wrong_at(cfa, node, "expected a variable, a constant or a lambda in this style");
        else if (!cfa->status)
            *argument(cfa, first + i) = address;
    }
    return first;
}

static uint32_t call_as_written(dcsr_cfa *cfa, const task *t, dcsr_i_cfa_kind kind, uint32_t first,
                                uint32_t count)
{
    dcsr_i_cfa_state state = {
        .at = node_of(cfa, t->node)->at, .kind = kind, .is_written = true, .inside = t->inside};
    if (kind == DCSR_I_CFA_PRIMITIVE) {
        const dcsr_i_cfa_primitive *primitive =
            is_symbol(cfa, first) ? dcsr_i_cfa_primitive_in(cfa, t->scope, node_of(cfa, first)->symbol)
                                  : NULL;
        if (!primitive || count < 2)
            return dcsr_i_cfa_wrong_at(cfa, t->node, "expected (prim operator argument ... continuation)");
        state.primitive = node_of(cfa, first)->symbol - FIRST_PRIMITIVE;
        first = next_of(cfa, first);
        count--;
    }
    const uint32_t atoms = atoms_from(cfa, t, first, count);
    if (cfa->status) return 0;
    /* A call names its function first, what has a continuation names that last. */
    state.function = *argument(cfa, kind == DCSR_I_CFA_CALL ? atoms : atoms + count - 1);
    state.arguments = atoms + (kind == DCSR_I_CFA_CALL);
    state.count = count - 1;
    return dcsr_i_cfa_add_state(cfa, state);
}

static uint32_t convert_cps(dcsr_cfa *cfa, const task *t)
{
    const uint32_t word = dcsr_i_cfa_word_of(cfa, t->scope, t->node), first = node_of(cfa, t->node)->first;
    const uint32_t count = dcsr_i_cfa_length_from(cfa, first);
    if (next_of(cfa, t->node) && t->where == BODY)
        return dcsr_i_cfa_wrong_at(cfa, next_of(cfa, t->node), "a body is one call here; expected ')'");
    if (!is_list(cfa, t->node) || !count)
        return dcsr_i_cfa_wrong_at(cfa, t->node, "expected a call, prim, set!/k, if or halt");
    if (word == IS_HALT)
        return dcsr_i_cfa_add_state(cfa, (dcsr_i_cfa_state){.at = node_of(cfa, t->node)->at,
                                                            .kind = DCSR_I_CFA_HALT,
                                                            .inside = t->inside});
    if (word == IS_PRIM) return call_as_written(cfa, t, DCSR_I_CFA_PRIMITIVE, next_of(cfa, first), count - 1);
    if (word == IS_SET_K) {
        if (count != 4 || !is_symbol(cfa, next_of(cfa, first)))
            return dcsr_i_cfa_wrong_at(cfa, t->node, "expected (set!/k name expression continuation)");
        return call_as_written(cfa, t, DCSR_I_CFA_SET, next_of(cfa, first), 3);
    }
    if (word == IS_IF) {
        if (count != 4) return dcsr_i_cfa_wrong_at(cfa, t->node, "expected (if expression call call)");
        const uint32_t atoms = atoms_from(cfa, t, next_of(cfa, first), 1);
        if (cfa->status) return 0;
        const uint32_t state = dcsr_i_cfa_add_state(cfa, (dcsr_i_cfa_state){.at = node_of(cfa, t->node)->at,
                                                                            .kind = DCSR_I_CFA_IF,
                                                                            .function = *argument(cfa, atoms),
                                                                            .inside = t->inside});
        task yes = *t, no = *t;
        yes.where = WHEN_TRUE;
        no.where = WHEN_FALSE;
        yes.of = no.of = state;
        yes.node = next_of(cfa, next_of(cfa, first));
        no.node = next_of(cfa, yes.node);
        dcsr_i_cfa_add_task(cfa, yes);
        dcsr_i_cfa_add_task(cfa, no);
        return state;
    }
    if (word && word != IS_LAMBDA)
        return dcsr_i_cfa_wrong_at(cfa, t->node,
                                   "this form is not of the style of the others; expected a call");
    return call_as_written(cfa, t, DCSR_I_CFA_CALL, first, count);
}

/* ---- Tasks ---- */

static void run(dcsr_cfa *cfa, task t)
{
    const uint32_t state = cfa->is_cps ? convert_cps(cfa, &t) : dcsr_i_cfa_convert_task(cfa, t);
    if (cfa->status) return;
    if (t.where == BODY)
        value_of(cfa, t.of)->body = state;
    else if (t.where == START)
        cfa->first = state;
    else if (t.where == WHEN_TRUE)
        DCSR_I_CFA_AT(cfa->states, dcsr_i_cfa_state, t.of)->when_true = state;
    else
        DCSR_I_CFA_AT(cfa->states, dcsr_i_cfa_state, t.of)->when_false = state;
}

/* Whether a list among the nodes from one on begins with a word of the other style. */
static bool finds_cps(const dcsr_cfa *cfa, uint32_t from)
{
    for (uint32_t n = from; n < cfa->nodes.count; n++) {
        const uint32_t word = dcsr_i_cfa_word_of(cfa, 0, n);
        if (word == IS_PRIM || word == IS_SET_K || word == IS_HALT) return true;
    }
    return false;
}

/* What the whole program defines is known in all of it. */
static void note_defines(dcsr_cfa *cfa, uint32_t form)
{
    for (; form && !cfa->status; form = next_of(cfa, form))
        if (dcsr_i_cfa_word_of(cfa, 0, form) == IS_DEFINE) {
            const uint32_t name = dcsr_i_cfa_defined_name(cfa, form);
            if (name) dcsr_i_cfa_note_defined(cfa, name);
        }
}

dcsr_status dcsr_i_cfa_convert(dcsr_cfa *cfa, uint32_t first)
{
    if (!first) return DCSR_OK; /* nothing but comments */
    const bool is_cps = finds_cps(cfa, first);
    task t = {.what = is_cps ? EXPRESSION : SEQUENCE, .node = first, .top = !is_cps, .where = START};
    if (cfa->is_begun && (is_cps || cfa->is_cps)) {
        dcsr_i_cfa_wrong_at(
            cfa, first,
            "a program in continuation-passing style is one call, and complete; nothing can be added");
        return cfa->status;
    }
    if (is_cps && next_of(cfa, first)) {
        dcsr_i_cfa_wrong_at(cfa, next_of(cfa, first),
                            "a program in continuation-passing style is one call; expected the end");
        return cfa->status;
    }
    cfa->is_cps = is_cps;
    if (!is_cps) note_defines(cfa, first);
    const uint32_t end = cfa->end;
    if (!is_cps)
        t.k = cfa->end = dcsr_i_cfa_add_address(cfa, (dcsr_i_cfa_address){.at = node_of(cfa, first)->at});
    if (cfa->is_begun) {
        uint32_t parameter;
        const uint32_t k = dcsr_i_cfa_add_continuation(cfa, t, node_of(cfa, first)->at, &parameter);
        dcsr_i_cfa_link *link = dcsr_i_cfa_append(cfa, &cfa->links, 1);
        if (link) *link = (dcsr_i_cfa_link){end, DCSR_I_CFA_AT(cfa->addresses, dcsr_i_cfa_address, k)->value};
    } else {
        dcsr_i_cfa_add_task(cfa, t);
    }
    while (cfa->tasks.count && !cfa->status) {
        task next = *DCSR_I_CFA_AT(cfa->tasks, task, cfa->tasks.count - 1);
        cfa->tasks.count--;
        run(cfa, next);
    }
    if (!cfa->status) cfa->is_begun = true;
    return cfa->status;
}
