/* cfa_atoms.c: what has an address without any state: names, lambdas, literals (cfa_convert.h). */
#include "algos/cfa/cfa_convert.h"
#include <string.h>

#define X(name, text) text,
static const char *const words[] = {WORDS(X)};
#undef X
static const char *const constants[] = {"symbol", "list", "void", "#t", "#f", "integer"};

uint32_t dcsr_i_cfa_add_address(dcsr_cfa *cfa, dcsr_i_cfa_address address)
{
    dcsr_i_cfa_address *added = dcsr_i_cfa_append(cfa, &cfa->addresses, 1);
    if (added) *added = address;
    return (uint32_t)cfa->addresses.count - 1;
}

static uint32_t add_value(dcsr_cfa *cfa, dcsr_i_cfa_value value)
{
    dcsr_i_cfa_value *added = dcsr_i_cfa_append(cfa, &cfa->values, 1);
    const uint32_t number = (uint32_t)cfa->values.count - 1;
    value.address =
        dcsr_i_cfa_add_address(cfa, (dcsr_i_cfa_address){.is_value = true, .value = number, .at = value.at});
    if (added) *added = value;
    return number;
}

uint32_t dcsr_i_cfa_add_state(dcsr_cfa *cfa, dcsr_i_cfa_state state)
{
    dcsr_i_cfa_state *added = dcsr_i_cfa_append(cfa, &cfa->states, 1);
    if (added) *added = state;
    return (uint32_t)cfa->states.count - 1;
}

uint32_t dcsr_i_cfa_add_arguments(dcsr_cfa *cfa, uint32_t n)
{
    dcsr_i_cfa_append(cfa, &cfa->arguments, n);
    return (uint32_t)(cfa->arguments.count - n);
}

void dcsr_i_cfa_add_task(dcsr_cfa *cfa, task t)
{
    task *added = dcsr_i_cfa_append(cfa, &cfa->tasks, 1);
    if (added) *added = t;
}

uint32_t dcsr_i_cfa_add_scope(dcsr_cfa *cfa, uint32_t outer, uint32_t symbol, uint32_t address)
{
    scope *added = dcsr_i_cfa_append(cfa, &cfa->scopes, 1);
    if (added) *added = (scope){outer, symbol, address};
    symbol_of(cfa, symbol)->is_local = true; /* others need not be looked for in scopes */
    return (uint32_t)cfa->scopes.count - 1;
}

uint32_t dcsr_i_cfa_add_lambda(dcsr_cfa *cfa, dcsr_i_cfa_value lambda)
{
    lambda.kind = DCSR_I_CFA_LAMBDA;
    const uint32_t number = add_value(cfa, lambda);
    const uint32_t first = (uint32_t)cfa->addresses.count;
    for (uint32_t i = 0; i < lambda.count; i++)
        dcsr_i_cfa_add_address(cfa, (dcsr_i_cfa_address){.value = number + 1, .at = lambda.at});
    if (!cfa->status) value_of(cfa, number)->parameters = first;
    return number;
}

uint32_t dcsr_i_cfa_add_continuation(dcsr_cfa *cfa, task rest, dcsr_i_cfa_position at, uint32_t *parameter)
{
    const uint32_t lambda =
        dcsr_i_cfa_add_lambda(cfa, (dcsr_i_cfa_value){.at = at, .count = 1, .inside = rest.inside});
    if (cfa->status) return 0;
    rest.where = BODY;
    rest.of = lambda;
    *parameter = value_of(cfa, lambda)->parameters;
    dcsr_i_cfa_add_task(cfa, rest);
    return value_of(cfa, lambda)->address;
}

/* ---- Names ---- */

uint32_t dcsr_i_cfa_look_up(dcsr_cfa *cfa, uint32_t in, uint32_t symbol, dcsr_i_cfa_position at)
{
    if (!symbol_of(cfa, symbol)->is_local) in = 0;
    for (; in; in = DCSR_I_CFA_AT(cfa->scopes, scope, in)->outer)
        if (DCSR_I_CFA_AT(cfa->scopes, scope, in)->symbol == symbol)
            return DCSR_I_CFA_AT(cfa->scopes, scope, in)->address;
    if (!symbol_of(cfa, symbol)->global) {
        const uint32_t address =
            dcsr_i_cfa_add_address(cfa, (dcsr_i_cfa_address){.symbol = symbol, .at = at});
        symbol_of(cfa, symbol)->global = address + 1;
    }
    return symbol_of(cfa, symbol)->global - 1;
}

static bool is_bound(const dcsr_cfa *cfa, uint32_t in, uint32_t symbol)
{
    if (!symbol_of(cfa, symbol)->is_local) in = 0;
    for (; in; in = DCSR_I_CFA_AT(cfa->scopes, scope, in)->outer)
        if (DCSR_I_CFA_AT(cfa->scopes, scope, in)->symbol == symbol) return true;
    return symbol_of(cfa, symbol)->is_defined;
}

const dcsr_i_cfa_primitive *dcsr_i_cfa_primitive_in(const dcsr_cfa *cfa, uint32_t in, uint32_t symbol)
{
    if (symbol < FIRST_PRIMITIVE || is_bound(cfa, in, symbol)) return NULL;
    return dcsr_i_cfa_primitive_at(symbol - FIRST_PRIMITIVE);
}

uint32_t dcsr_i_cfa_word_of(const dcsr_cfa *cfa, uint32_t in, uint32_t list)
{
    const uint32_t first = node_of(cfa, list)->first;
    if (node_of(cfa, list)->kind != DCSR_I_CFA_LIST || !first ||
        node_of(cfa, first)->kind != DCSR_I_CFA_SYMBOL)
        return NO_WORD;
    const uint32_t symbol = node_of(cfa, first)->symbol;
    return symbol < FIRST_PRIMITIVE && !is_bound(cfa, in, symbol) ? symbol : NO_WORD;
}

uint32_t dcsr_i_cfa_element(const dcsr_cfa *cfa, uint32_t list, unsigned i)
{
    uint32_t e = node_of(cfa, list)->first;
    while (e && i--) e = next_of(cfa, e);
    return e;
}
uint32_t dcsr_i_cfa_length_from(const dcsr_cfa *cfa, uint32_t node)
{
    uint32_t n = 0;
    for (; node; node = next_of(cfa, node)) n++;
    return n;
}
uint32_t dcsr_i_cfa_wrong_at(dcsr_cfa *cfa, uint32_t node, const char *what)
{
    dcsr_i_cfa_wrong(cfa, node_of(cfa, node)->at, "%s", what);
    return 0;
}

/* ---- Lambdas ---- */

uint32_t dcsr_i_cfa_name_parameter(dcsr_cfa *cfa, uint32_t lambda, uint32_t i, uint32_t name, uint32_t outer)
{
    if (cfa->status) return outer;
    const uint32_t address = value_of(cfa, lambda)->parameters + i, symbol = node_of(cfa, name)->symbol;
    DCSR_I_CFA_AT(cfa->addresses, dcsr_i_cfa_address, address)->symbol = symbol;
    DCSR_I_CFA_AT(cfa->addresses, dcsr_i_cfa_address, address)->at = node_of(cfa, name)->at;
    return dcsr_i_cfa_add_scope(cfa, outer, symbol, address);
}

uint32_t dcsr_i_cfa_make_lambda(dcsr_cfa *cfa, const task *t, uint32_t node, uint32_t name, uint32_t body,
                                uint32_t symbol)
{
    for (uint32_t n = name; n; n = next_of(cfa, n)) {
        if (!is_symbol(cfa, n)) return dcsr_i_cfa_wrong_at(cfa, n, "expected the name of a parameter");
        if (!strcmp(dcsr_i_cfa_text(cfa, node_of(cfa, n)->symbol), "."))
            return dcsr_i_cfa_wrong_at(
                cfa, n, "a function of any number of arguments is not known here; give it a list");
        uint32_t *mark = &symbol_of(cfa, node_of(cfa, n)->symbol)->mark;
        if (*mark == cfa->values.count)
            return dcsr_i_cfa_wrong_at(cfa, n, "two parameters have this name; expected another");
        *mark = (uint32_t)cfa->values.count;
    }
    if (!body) return dcsr_i_cfa_wrong_at(cfa, node, "expected an expression in the body");
    const dcsr_i_cfa_value lambda = {.at = node_of(cfa, node)->at,
                                     .symbol = symbol,
                                     .is_written = true,
                                     .count = dcsr_i_cfa_length_from(cfa, name) + !cfa->is_cps,
                                     .inside = t->inside};
    const uint32_t number = dcsr_i_cfa_add_lambda(cfa, lambda);
    if (cfa->status) return 0;
    const uint32_t k = value_of(cfa, number)->parameters + lambda.count - 1;
    uint32_t in = t->scope, i = 0;
    for (; name; name = next_of(cfa, name)) in = dcsr_i_cfa_name_parameter(cfa, number, i++, name, in);
    dcsr_i_cfa_add_task(cfa, (task){.what = cfa->is_cps ? EXPRESSION : SEQUENCE,
                                    .node = body,
                                    .k = k,
                                    .scope = in,
                                    .inside = number + 1,
                                    .where = BODY,
                                    .of = number});
    return number;
}

/* The function that a primitive is where it is not called: (lambda (x ... k) (prim op x ... k)). */
static uint32_t make_function(dcsr_cfa *cfa, uint32_t symbol, dcsr_i_cfa_position at)
{
    if (symbol_of(cfa, symbol)->function) return symbol_of(cfa, symbol)->function - 1;
    const dcsr_i_cfa_primitive *primitive = dcsr_i_cfa_primitive_at(symbol - FIRST_PRIMITIVE);
    const uint32_t count = primitive->most == 255 ? 2 : primitive->least;
    const uint32_t number = dcsr_i_cfa_add_lambda(
        cfa, (dcsr_i_cfa_value){.at = at, .symbol = symbol, .is_written = true, .count = count + 1});
    const uint32_t arguments = dcsr_i_cfa_add_arguments(cfa, count);
    if (cfa->status) return 0;
    const uint32_t first = value_of(cfa, number)->parameters;
    for (uint32_t i = 0; i < count; i++) *argument(cfa, arguments + i) = first + i;
    const uint32_t body = dcsr_i_cfa_add_state(cfa, (dcsr_i_cfa_state){.at = at,
                                                                       .kind = DCSR_I_CFA_PRIMITIVE,
                                                                       .primitive = symbol - FIRST_PRIMITIVE,
                                                                       .function = first + count,
                                                                       .arguments = arguments,
                                                                       .count = count,
                                                                       .inside = number + 1});
    value_of(cfa, number)->body = body;
    symbol_of(cfa, symbol)->function = number + 1;
    return number;
}

/* ---- Atoms ---- */

static uint32_t address_of_literal(dcsr_cfa *cfa, const dcsr_i_cfa_node *node)
{
    const uint32_t symbol = node->symbol;
    if (!symbol_of(cfa, symbol)->literal) {
        const uint32_t value =
            add_value(cfa, (dcsr_i_cfa_value){.kind = DCSR_I_CFA_WRITTEN, .at = node->at, .symbol = symbol});
        symbol_of(cfa, symbol)->literal = value + 1;
    }
    return value_of(cfa, symbol_of(cfa, symbol)->literal - 1)->address;
}

static uint32_t address_of_name(dcsr_cfa *cfa, const task *t, const dcsr_i_cfa_node *node)
{
    const dcsr_i_cfa_position at = node->at;
    const uint32_t symbol = node->symbol;
    if (symbol < FIRST_PRIMITIVE && !is_bound(cfa, t->scope, symbol)) {
        dcsr_i_cfa_wrong(cfa, at, "%s is not a value; expected an expression", dcsr_i_cfa_text(cfa, symbol));
        return 0;
    }
    if (dcsr_i_cfa_primitive_in(cfa, t->scope, symbol))
        return value_of(cfa, make_function(cfa, symbol, at))->address;
    return dcsr_i_cfa_look_up(cfa, t->scope, symbol, at);
}

bool dcsr_i_cfa_is_atom(dcsr_cfa *cfa, const task *t, uint32_t node, uint32_t symbol, uint32_t *address)
{
    const dcsr_i_cfa_node is = *node_of(cfa, node);
    *address = 0;
    switch (is.kind) {
    case DCSR_I_CFA_SYMBOL:
        *address = address_of_name(cfa, t, &is);
        return true;
    case DCSR_I_CFA_TRUE:
    case DCSR_I_CFA_FALSE:
        *address =
            value_of(cfa, is.kind == DCSR_I_CFA_TRUE ? DCSR_I_CFA_IS_TRUE : DCSR_I_CFA_IS_FALSE)->address;
        return true;
    case DCSR_I_CFA_LITERAL:
        *address = address_of_literal(cfa, &is);
        return true;
    case DCSR_I_CFA_LIST:
        break;
    }
    if (dcsr_i_cfa_word_of(cfa, t->scope, node) != IS_LAMBDA) return false;
    const uint32_t names = dcsr_i_cfa_element(cfa, node, 1);
    if (!is_list(cfa, names)) {
        dcsr_i_cfa_wrong_at(cfa, names ? names : node,
                            "expected a list of parameters, as in (lambda (x y) ...)");
        return true;
    }
    const uint32_t lambda =
        dcsr_i_cfa_make_lambda(cfa, t, node, node_of(cfa, names)->first, next_of(cfa, names), symbol);
    if (!cfa->status) *address = value_of(cfa, lambda)->address;
    return true;
}

void dcsr_i_cfa_note_defined(dcsr_cfa *cfa, uint32_t name)
{
    dcsr_i_cfa_symbol *symbol = symbol_of(cfa, node_of(cfa, name)->symbol);
    if (!symbol->is_defined) symbol->defined_by = node_of(cfa, name)->at.file;
    symbol->is_defined = true;
}

/* ---- To begin with ---- */

void dcsr_i_cfa_set_sizes(dcsr_cfa *cfa)
{
    cfa->scopes.size = sizeof(scope);
    cfa->frames.size = sizeof(frame);
    cfa->tasks.size = sizeof(task);
}

uint32_t dcsr_i_cfa_add_constant(dcsr_cfa *cfa, const char *text)
{
    const uint32_t symbol = dcsr_i_cfa_intern(cfa, text, strlen(text));
    return add_value(cfa, (dcsr_i_cfa_value){.kind = DCSR_I_CFA_CONSTANT, .symbol = symbol});
}

dcsr_status dcsr_i_cfa_begin(dcsr_cfa *cfa)
{
    const dcsr_i_cfa_primitive *primitive;
    dcsr_i_cfa_append(cfa, &cfa->symbols, 1);
    dcsr_i_cfa_append(cfa, &cfa->texts, 1);
    dcsr_i_cfa_append(cfa, &cfa->nodes, 1);
    dcsr_i_cfa_append(cfa, &cfa->scopes, 1);
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        dcsr_i_cfa_intern(cfa, words[w], strlen(words[w]));
    for (uint32_t p = 0; (primitive = dcsr_i_cfa_primitive_at(p)); p++)
        dcsr_i_cfa_intern(cfa, primitive->name, strlen(primitive->name));
    for (int c = 0; c < DCSR_I_CFA_CONSTANTS; c++) dcsr_i_cfa_add_constant(cfa, constants[c]);
    return cfa->status;
}
