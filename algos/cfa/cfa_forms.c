/* cfa_forms.c: forms become states (cfa_convert.h). */
#include "algos/cfa/cfa_convert.h"
#include <string.h>

/* ---- Frames: forms whose operands are being evaluated ---- */

static frame begin_frame(dcsr_cfa *cfa, const task *t, int kind, uint32_t operand, uint32_t count,
                         uint32_t more)
{
    return (frame){.kind = kind,
                   .at = node_of(cfa, t->node)->at,
                   .operand = operand,
                   .count = count,
                   .arguments = dcsr_i_cfa_add_arguments(cfa, count + more),
                   .rest = *t};
}

static uint32_t call(dcsr_cfa *cfa, const frame *f, uint32_t function, uint32_t arguments, uint32_t count)
{
    return dcsr_i_cfa_add_state(cfa, (dcsr_i_cfa_state){.at = f->at,
                                                        .kind = DCSR_I_CFA_CALL,
                                                        .is_written = f->kind == CALLS,
                                                        .function = function,
                                                        .arguments = arguments,
                                                        .count = count,
                                                        .inside = f->rest.inside});
}

/* A state of another kind, of what the frame has evaluated. */
static uint32_t state_of(dcsr_cfa *cfa, const frame *f, dcsr_i_cfa_kind kind, uint32_t function)
{
    return dcsr_i_cfa_add_state(cfa, (dcsr_i_cfa_state){.at = f->at,
                                                        .kind = kind,
                                                        .primitive = f->primitive,
                                                        .function = function,
                                                        .arguments = f->arguments,
                                                        .count = f->count,
                                                        .inside = f->rest.inside});
}

/* (let ((name e) ...) body ...) calls a lambda of these names. */
static uint32_t finish_let(dcsr_cfa *cfa, const frame *f)
{
    const task *t = &f->rest;
    const uint32_t lambda = dcsr_i_cfa_add_lambda(
        cfa, (dcsr_i_cfa_value){.at = f->at, .count = f->count + 1, .inside = t->inside});
    uint32_t in = t->scope, i = 0;
    if (cfa->status) return 0;
    for (uint32_t binding = f->node; i < f->count; binding = next_of(cfa, binding))
        in = dcsr_i_cfa_name_parameter(cfa, lambda, i++, node_of(cfa, binding)->first, in);
    task body = *t;
    body.what = SEQUENCE;
    body.node = t->body;
    body.k = value_of(cfa, lambda)->parameters + f->count;
    body.scope = in;
    body.where = BODY;
    body.of = lambda;
    dcsr_i_cfa_add_task(cfa, body);
    *argument(cfa, f->arguments + f->count) = t->k;
    return call(cfa, f, value_of(cfa, lambda)->address, f->arguments, f->count + 1);
}

/* The variable is set to the function, which then is called with the operands. */
static uint32_t finish_named_let(dcsr_cfa *cfa, const frame *f)
{
    const uint32_t lambda =
        dcsr_i_cfa_add_lambda(cfa, (dcsr_i_cfa_value){.at = f->at, .count = 1, .inside = f->rest.inside});
    *argument(cfa, f->arguments + f->count) = f->rest.k;
    const uint32_t body = call(cfa, f, f->other, f->arguments, f->count + 1),
                   set = f->arguments + f->count + 1;
    if (cfa->status) return 0;
    value_of(cfa, lambda)->body = body;
    *argument(cfa, set) = f->other;
    *argument(cfa, set + 1) = f->node;
    return dcsr_i_cfa_add_state(cfa, (dcsr_i_cfa_state){.at = f->at,
                                                        .kind = DCSR_I_CFA_SET,
                                                        .function = value_of(cfa, lambda)->address,
                                                        .arguments = set,
                                                        .count = 2,
                                                        .inside = f->rest.inside});
}

/* An `if` on the frame's operand; both branches are tasks. */
static uint32_t branch(dcsr_cfa *cfa, const frame *f, task when_true, task when_false)
{
    const uint32_t test = cfa->status ? 0 : *argument(cfa, f->arguments);
    const uint32_t state = state_of(cfa, f, DCSR_I_CFA_IF, test);
    when_true.where = WHEN_TRUE;
    when_false.where = WHEN_FALSE;
    when_true.of = when_false.of = state;
    dcsr_i_cfa_add_task(cfa, when_true);
    dcsr_i_cfa_add_task(cfa, when_false);
    return state;
}

/* What goes to the continuation. */
static task returning(const frame *f, uint32_t address)
{
    task t = f->rest;
    t.what = RETURN;
    t.value = address;
    return t;
}

static task going_on(const frame *f, part how, uint32_t node)
{
    task t = f->rest;
    t.what = how;
    t.node = node;
    t.top = false;
    return t;
}

static uint32_t void_address(const dcsr_cfa *cfa)
{
    return value_of(cfa, DCSR_I_CFA_IS_VOID)->address;
}

/* What goes on where a form has nothing more: its value is void. */
static task or_void(const dcsr_cfa *cfa, const frame *f, part how, uint32_t node)
{
    return node ? going_on(f, how, node) : returning(f, void_address(cfa));
}

/* (test body ...) of a cond, with the test evaluated. */
static uint32_t finish_clause(dcsr_cfa *cfa, const frame *f)
{
    const uint32_t test = cfa->status ? 0 : *argument(cfa, f->arguments);
    const uint32_t body = dcsr_i_cfa_element(cfa, f->node, 1);
    if (is_symbol(cfa, body) && node_of(cfa, body)->symbol == IS_ARROW)
        return dcsr_i_cfa_wrong_at(cfa, body,
                                   "=> is not known here; write (let ((x test)) (if x (f x) ...))");
    return branch(cfa, f, body ? going_on(f, SEQUENCE, body) : returning(f, test),
                  or_void(cfa, f, CLAUSES, next_of(cfa, f->node)));
}

static uint32_t finish(dcsr_cfa *cfa, const frame *f)
{
    const uint32_t *first = cfa->status ? NULL : argument(cfa, f->arguments);
    if (!first) return 0;
    switch (f->kind) {
    case CALLS: {
        const uint32_t function = *first;
        *argument(cfa, f->arguments + f->count) = f->rest.k;
        return call(cfa, f, function, f->arguments + 1, f->count);
    }
    case LETS:
        return finish_let(cfa, f);
    case NAMED_LET:
        return finish_named_let(cfa, f);
    case PRIMITIVES:
        return state_of(cfa, f, DCSR_I_CFA_PRIMITIVE, f->rest.k);
    case SETS:
        return state_of(cfa, f, DCSR_I_CFA_SET, f->rest.k);
    case IFS:
        return branch(cfa, f, or_void(cfa, f, f->sequence ? SEQUENCE : EXPRESSION, f->node),
                      or_void(cfa, f, f->sequence ? SEQUENCE : EXPRESSION, f->other));
    case OR_ELSE:
        return branch(cfa, f, returning(f, *first), going_on(f, ORS, f->node));
    case AND_THEN:
        return branch(cfa, f, going_on(f, ANDS, f->node), returning(f, *first));
    case CLAUSE:
        return finish_clause(cfa, f);
    }
    return 0;
}

/* The expression that is the frame's next operand, and the name that its value gets. */
static uint32_t operand_of(const dcsr_cfa *cfa, const frame *f, uint32_t *symbol)
{
    *symbol = 0;
    if (f->kind != LETS && f->kind != NAMED_LET) return f->operand;
    const uint32_t name = node_of(cfa, f->operand)->first;
    *symbol = node_of(cfa, name)->symbol;
    return next_of(cfa, name);
}

/* Evaluates what is left of a frame's operands. Returns true with the state that the form is, or false with *t as the
 * first operand that is not atomic; the rest waits until its value comes. */
static bool go_on(dcsr_cfa *cfa, frame *f, task *t, uint32_t *state)
{
    for (; f->done < f->count && !cfa->status; f->done++) {
        uint32_t symbol, address;
        const uint32_t operand = operand_of(cfa, f, &symbol);
        const bool is_set = f->kind == SETS && f->done == 0; /* its variable is known */
        if (is_set) continue;
        const uint32_t following = next_of(cfa, f->operand);
        if (f->kind == SETS) symbol = f->node;
        if (!dcsr_i_cfa_is_atom(cfa, &f->rest, operand, symbol, &address)) {
            task rest = f->rest;
            f->operand = following;
            frame *kept = dcsr_i_cfa_append(cfa, &cfa->frames, 1);
            if (!kept) break;
            *kept = *f;
            rest.what = RESUME;
            rest.frame = (uint32_t)cfa->frames.count - 1;
            uint32_t parameter;
            const uint32_t k = dcsr_i_cfa_add_continuation(cfa, rest, node_of(cfa, operand)->at, &parameter);
            if (cfa->status) break;
            *argument(cfa, f->arguments + f->done) = parameter;
            DCSR_I_CFA_AT(cfa->frames, frame, rest.frame)->done++;
            *t = f->rest;
            t->what = EXPRESSION;
            t->node = operand;
            t->k = k;
            t->top = false;
            return false;
        }
        if (!cfa->status) *argument(cfa, f->arguments + f->done) = address;
        f->operand = following;
    }
    *state = finish(cfa, f);
    return true;
}

/* ---- Forms ---- */

/* A form that ends with the state that it is, or goes on as *t. */
typedef struct step {
    bool ends;
    uint32_t state;
} step;

static step evaluate(dcsr_cfa *cfa, frame *f, task *t)
{
    step s = {true, 0};
    if (!cfa->status) s.ends = go_on(cfa, f, t, &s.state);
    return s;
}

static step refuse(dcsr_cfa *cfa, uint32_t node, const char *what)
{
    dcsr_i_cfa_wrong_at(cfa, node, what);
    return (step){true, 0};
}

static const step goes_on = {false, 0};

static step apply(dcsr_cfa *cfa, task *t)
{
    const uint32_t first = node_of(cfa, t->node)->first, count = dcsr_i_cfa_length_from(cfa, first);
    if (!count) return refuse(cfa, t->node, "() is no expression; expected (function argument ...)");
    frame f = begin_frame(cfa, t, CALLS, first, count, 1);
    return evaluate(cfa, &f, t);
}

static step apply_primitive(dcsr_cfa *cfa, task *t, uint32_t name, const dcsr_i_cfa_primitive *primitive)
{
    const uint32_t first = next_of(cfa, name), count = dcsr_i_cfa_length_from(cfa, first);
    if (count < primitive->least || (primitive->most != 255 && count > primitive->most)) {
        dcsr_i_cfa_wrong(cfa, node_of(cfa, t->node)->at, "%s has %u arguments here; expected %u%s",
                         primitive->name, count,
                         count < primitive->least ? primitive->least : primitive->most,
                         primitive->least == primitive->most ? ""
                         : count < primitive->least          ? " at least"
                                                             : " at most");
        return (step){true, 0};
    }
    frame f = begin_frame(cfa, t, PRIMITIVES, first, count, 0);
    f.primitive = node_of(cfa, name)->symbol - FIRST_PRIMITIVE;
    return evaluate(cfa, &f, t);
}

/* The variable `symbol` to the value of `operand`. */
static step set(dcsr_cfa *cfa, task *t, uint32_t address, uint32_t symbol, uint32_t operand)
{
    frame f = begin_frame(cfa, t, SETS, operand, 2, 0);
    f.node = symbol;
    if (!cfa->status) *argument(cfa, f.arguments) = address;
    return evaluate(cfa, &f, t);
}

static step set_form(dcsr_cfa *cfa, task *t)
{
    const uint32_t name = dcsr_i_cfa_element(cfa, t->node, 1), operand = dcsr_i_cfa_element(cfa, t->node, 2);
    if (!is_symbol(cfa, name) || !operand || next_of(cfa, operand))
        return refuse(cfa, t->node, "expected (set! name expression)");
    const dcsr_i_cfa_node is = *node_of(cfa, name);
    return set(cfa, t, dcsr_i_cfa_look_up(cfa, t->scope, is.symbol, is.at), is.symbol, operand);
}

static step if_form(dcsr_cfa *cfa, task *t, uint32_t word)
{
    const uint32_t test = dcsr_i_cfa_element(cfa, t->node, 1), then = test ? next_of(cfa, test) : 0;
    if (!then)
        return refuse(cfa, t->node,
                      word == IS_IF ? "expected (if test then else)" : "expected (when test body ...)");
    frame f = begin_frame(cfa, t, IFS, test, 1, 0);
    f.sequence = word != IS_IF;
    f.node = word == IS_UNLESS ? 0 : then;
    f.other = word == IS_UNLESS ? then : word == IS_IF ? next_of(cfa, then) : 0;
    if (word == IS_IF && f.other && next_of(cfa, f.other))
        return refuse(cfa, next_of(cfa, f.other), "an if has one more expression than it may; expected ')'");
    return evaluate(cfa, &f, t);
}

/* `and`, `or`, whose expressions are from node t->node on. */
static step any_of(dcsr_cfa *cfa, task *t, bool ands)
{
    if (!next_of(cfa, t->node)) {
        t->what = EXPRESSION;
        return goes_on;
    }
    frame f = begin_frame(cfa, t, ands ? AND_THEN : OR_ELSE, t->node, 1, 0);
    f.node = next_of(cfa, t->node);
    return evaluate(cfa, &f, t);
}

static step clauses(dcsr_cfa *cfa, task *t)
{
    const uint32_t clause = t->node, test = is_list(cfa, clause) ? node_of(cfa, clause)->first : 0;
    if (!test) return refuse(cfa, clause, "expected (test body ...) or (else body ...)");
    if (is_symbol(cfa, test) && node_of(cfa, test)->symbol == IS_ELSE) {
        if (!next_of(cfa, test) || next_of(cfa, clause))
            return refuse(cfa, clause, "expected (else body ...), and no clause after it");
        t->what = SEQUENCE;
        t->node = next_of(cfa, test);
        return goes_on;
    }
    frame f = begin_frame(cfa, t, CLAUSE, test, 1, 0);
    f.node = clause;
    return evaluate(cfa, &f, t);
}

/* ---- Forms that bind ---- */

/* Whether a list is of bindings (name e). */
static bool are_bindings(dcsr_cfa *cfa, uint32_t form, uint32_t list, uint32_t body)
{
    if (!is_list(cfa, list) || !body) {
        dcsr_i_cfa_wrong_at(cfa, form, "expected (let ((name expression) ...) body ...)");
        return false;
    }
    for (uint32_t b = node_of(cfa, list)->first; b; b = next_of(cfa, b))
        if (!is_list(cfa, b) || dcsr_i_cfa_length_from(cfa, node_of(cfa, b)->first) != 2 ||
            !is_symbol(cfa, node_of(cfa, b)->first)) {
            dcsr_i_cfa_wrong_at(cfa, b, "expected (name expression)");
            return false;
        }
    return true;
}

/* A variable that is in sight from now on. */
static void bind(dcsr_cfa *cfa, task *t, uint32_t name)
{
    const dcsr_i_cfa_node is = *node_of(cfa, name);
    const uint32_t address = dcsr_i_cfa_add_address(
        cfa, (dcsr_i_cfa_address){.value = t->inside, .symbol = is.symbol, .at = is.at});
    t->scope = dcsr_i_cfa_add_scope(cfa, t->scope, is.symbol, address);
}

/* (let name ((x e) ...) body ...): a function that calls itself. */
static step named_let(dcsr_cfa *cfa, task *t)
{
    const uint32_t name = dcsr_i_cfa_element(cfa, t->node, 1), list = next_of(cfa, name),
                   body = list ? next_of(cfa, list) : 0;
    if (!are_bindings(cfa, t->node, list, body)) return (step){true, 0};
    const uint32_t first = node_of(cfa, list)->first, count = dcsr_i_cfa_length_from(cfa, first);
    task call = *t;
    bind(cfa, t, name);
    /* Its parameters: the names of the bindings, as a list. */
    uint32_t names = 0, last = 0;
    for (uint32_t b = first; b; b = next_of(cfa, b)) {
        dcsr_i_cfa_node *copy = dcsr_i_cfa_append(cfa, &cfa->nodes, 1);
        if (!copy) return (step){true, 0};
        const uint32_t number = (uint32_t)cfa->nodes.count - 1;
        *copy = *node_of(cfa, node_of(cfa, b)->first);
        copy->next = 0;
        if (last)
            node_of(cfa, last)->next = number;
        else
            names = number;
        last = number;
    }
    const uint32_t symbol = node_of(cfa, name)->symbol,
                   lambda = dcsr_i_cfa_make_lambda(cfa, t, t->node, names, body, symbol);
    if (cfa->status) return (step){true, 0};
    const uint32_t address = DCSR_I_CFA_AT(cfa->scopes, scope, t->scope)->address;
    /* The variable is set to it; then the function is called with the values of the bindings, which do not see it. */
    frame f = begin_frame(cfa, &call, NAMED_LET, first, count, 3);
    f.node = value_of(cfa, lambda)->address;
    f.other = address;
    return evaluate(cfa, &f, t);
}

static step let_form(dcsr_cfa *cfa, task *t)
{
    const uint32_t list = dcsr_i_cfa_element(cfa, t->node, 1), body = list ? next_of(cfa, list) : 0;
    if (is_symbol(cfa, list)) return named_let(cfa, t);
    if (!are_bindings(cfa, t->node, list, body)) return (step){true, 0};
    const uint32_t first = node_of(cfa, list)->first;
    frame f = begin_frame(cfa, t, LETS, first, dcsr_i_cfa_length_from(cfa, first), 1);
    f.node = first;
    f.rest.body = body;
    return evaluate(cfa, &f, t);
}

/* let*, letrec, letrec*: each variable is set in turn; those of a letrec are all in sight from the beginning. */
static step bind_in_turn(dcsr_cfa *cfa, task *t, uint32_t word)
{
    const uint32_t list = dcsr_i_cfa_element(cfa, t->node, 1), body = list ? next_of(cfa, list) : 0;
    if (!are_bindings(cfa, t->node, list, body)) return (step){true, 0};
    const uint32_t first = node_of(cfa, list)->first;
    for (uint32_t b = first; b && word != IS_LET_STAR; b = next_of(cfa, b))
        bind(cfa, t, node_of(cfa, b)->first);
    t->what = word == IS_LET_STAR ? BINDINGS_IN_TURN : BINDINGS;
    t->node = first;
    t->body = body;
    return goes_on;
}

/* The next of these bindings. */
static step next_binding(dcsr_cfa *cfa, task *t)
{
    const uint32_t binding = t->node;
    if (!binding) {
        t->what = SEQUENCE;
        t->node = t->body;
        return goes_on;
    }
    const dcsr_i_cfa_node name = *node_of(cfa, node_of(cfa, binding)->first);
    const uint32_t operand = next_of(cfa, node_of(cfa, binding)->first);
    task rest = *t, value = *t;
    rest.node = next_of(cfa, binding);
    if (t->what == BINDINGS_IN_TURN) bind(cfa, &rest, node_of(cfa, binding)->first);
    uint32_t parameter;
    const uint32_t address = dcsr_i_cfa_look_up(cfa, rest.scope, name.symbol, name.at);
    value.k = dcsr_i_cfa_add_continuation(cfa, rest, name.at, &parameter);
    value.top = false;
    *t = value;
    return cfa->status ? (step){true, 0} : set(cfa, t, address, name.symbol, operand);
}

/* ---- Sequences ---- */

/* The name that a define defines: (define name e), (define (name parameter ...) body ...). 0: it is wrong. */
uint32_t dcsr_i_cfa_defined_name(dcsr_cfa *cfa, uint32_t form)
{
    const uint32_t head = dcsr_i_cfa_element(cfa, form, 1),
                   name = is_list(cfa, head) ? node_of(cfa, head)->first : head;
    if (is_symbol(cfa, name)) return name;
    return dcsr_i_cfa_wrong_at(cfa, form,
                               "expected (define name expression) or (define (name parameter ...) body ...)");
}

static step define(dcsr_cfa *cfa, task *t, uint32_t form)
{
    const uint32_t name = dcsr_i_cfa_defined_name(cfa, form),
                   head = name ? dcsr_i_cfa_element(cfa, form, 1) : 0;
    if (!name) return (step){true, 0};
    const dcsr_i_cfa_node is = *node_of(cfa, name);
    if (t->top) dcsr_i_cfa_note_defined(cfa, name);
    const uint32_t address = dcsr_i_cfa_look_up(cfa, t->scope, is.symbol, is.at), body = next_of(cfa, head);
    if (head == name) {
        if (!body || next_of(cfa, body)) return refuse(cfa, form, "expected (define name expression)");
        return set(cfa, t, address, is.symbol, body);
    }
    const uint32_t lambda = dcsr_i_cfa_make_lambda(cfa, t, form, next_of(cfa, name), body, is.symbol);
    frame f = begin_frame(cfa, t, SETS, 0, 2, 0);
    if (cfa->status) return (step){true, 0};
    *argument(cfa, f.arguments) = address;
    *argument(cfa, f.arguments + 1) = value_of(cfa, lambda)->address;
    return (step){true, finish(cfa, &f)};
}

/* The variables that the forms of a body define are in sight in all of it. */
static void begin_body(dcsr_cfa *cfa, task *t)
{
    for (uint32_t form = t->node; form && !cfa->status; form = next_of(cfa, form))
        if (dcsr_i_cfa_word_of(cfa, t->scope, form) == IS_DEFINE) {
            const uint32_t name = dcsr_i_cfa_defined_name(cfa, form);
            if (name) bind(cfa, t, name);
        }
    t->begun = true;
}

static step sequence(dcsr_cfa *cfa, task *t)
{
    if (!t->begun && !t->top) begin_body(cfa, t);
    const uint32_t form = t->node;
    const bool defines = dcsr_i_cfa_word_of(cfa, t->scope, form) == IS_DEFINE;
    if (next_of(cfa, form) && !cfa->status) {
        task rest = *t;
        rest.node = next_of(cfa, form);
        uint32_t parameter;
        t->k = dcsr_i_cfa_add_continuation(cfa, rest, node_of(cfa, form)->at, &parameter);
    }
    if (cfa->status) return (step){true, 0};
    if (defines) return define(cfa, t, form);
    t->what = EXPRESSION;
    return goes_on;
}

/* ---- All forms ---- */

static step form_of(dcsr_cfa *cfa, task *t, uint32_t word)
{
    const uint32_t first = dcsr_i_cfa_element(cfa, t->node, 1);
    switch (word) {
    case IS_LET:
        return let_form(cfa, t);
    case IS_LET_STAR:
    case IS_LETREC:
    case IS_LETREC_STAR:
        return bind_in_turn(cfa, t, word);
    case IS_IF:
    case IS_WHEN:
    case IS_UNLESS:
        return if_form(cfa, t, word);
    case IS_SET:
        return set_form(cfa, t);
    case IS_DEFINE:
        return refuse(
            cfa, t->node,
            "a define stands at the beginning of a body, or outside of all; expected an expression");
    case IS_COND:
    case IS_AND:
    case IS_OR:
    case IS_BEGIN:
        t->what = word == IS_COND ? CLAUSES : word == IS_AND ? ANDS : word == IS_OR ? ORS : SEQUENCE;
        if (first) {
            t->node = first;
            t->begun = true;
            return goes_on;
        }
        if (word == IS_COND || word == IS_BEGIN) return refuse(cfa, t->node, "expected an expression in it");
        t->what = RETURN;
        t->value = value_of(cfa, word == IS_AND ? DCSR_I_CFA_IS_TRUE : DCSR_I_CFA_IS_FALSE)->address;
        return goes_on;
    default:
        dcsr_i_cfa_wrong(cfa, node_of(cfa, t->node)->at, "%s is not known here; docs/CFA.md lists the forms",
                         dcsr_i_cfa_text(cfa, word));
        return (step){true, 0};
    }
}

static step expression(dcsr_cfa *cfa, task *t)
{
    uint32_t address;
    if (dcsr_i_cfa_is_atom(cfa, t, t->node, 0, &address)) {
        t->what = RETURN;
        t->value = address;
        return goes_on;
    }
    const uint32_t word = dcsr_i_cfa_word_of(cfa, t->scope, t->node), first = node_of(cfa, t->node)->first;
    if (word) return form_of(cfa, t, word);
    const dcsr_i_cfa_primitive *primitive =
        is_symbol(cfa, first) ? dcsr_i_cfa_primitive_in(cfa, t->scope, node_of(cfa, first)->symbol) : NULL;
    return primitive ? apply_primitive(cfa, t, first, primitive) : apply(cfa, t);
}

/* ---- Tasks ---- */

static step take_step(dcsr_cfa *cfa, task *t)
{
    switch (t->what) {
    case EXPRESSION:
        return expression(cfa, t);
    case SEQUENCE:
        return sequence(cfa, t);
    case ANDS:
    case ORS:
        return any_of(cfa, t, t->what == ANDS);
    case CLAUSES:
        return clauses(cfa, t);
    case BINDINGS:
    case BINDINGS_IN_TURN:
        return next_binding(cfa, t);
    case RESUME: {
        frame f = *DCSR_I_CFA_AT(cfa->frames, frame, t->frame);
        return evaluate(cfa, &f, t);
    }
    case RETURN:
        break;
    }
    frame f = {.at = node_of(cfa, t->node)->at,
               .arguments = dcsr_i_cfa_add_arguments(cfa, 1),
               .rest = *t,
               .kind = SETS};
    if (!cfa->status) *argument(cfa, f.arguments) = t->value;
    return (step){true, call(cfa, &f, t->k, f.arguments, 1)};
}

uint32_t dcsr_i_cfa_convert_task(dcsr_cfa *cfa, task t)
{
    step s = goes_on;
    while (!s.ends && !cfa->status) s = take_step(cfa, &t);
    return s.state;
}
