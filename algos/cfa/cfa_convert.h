/* cfa_convert.h: how expressions become a program in continuation-passing style (internal).
 *
 * After Danvy's one-pass transformation: only what is not atomic gets a continuation, which is a lambda of one
 * parameter. Whatever is yet to be converted is a task: an expression, or the rest of one, with the continuation that
 * gets its value, and where the state that it begins with is to be noted. Tasks wait in a list, so that nothing recurs
 * and nesting may be as deep as memory allows.
 *
 *      cfa_atoms.c   names, lambdas, literals: what has an address without any state
 *      cfa_forms.c   everything else
 *      cfa_convert.c the list of tasks; and programs that are in that style already */
#ifndef DCSR_CFA_CONVERT_H
#define DCSR_CFA_CONVERT_H

#include "algos/cfa/cfa_program.h"

/* ---- Words ---- */

/* Forms, in the order in which they are interned, from symbol 1 on. */
#define WORDS(X)                                      \
    X(DEFINE, "define")                               \
    X(LAMBDA, "lambda")                               \
    X(LET, "let")                                     \
    X(LET_STAR, "let*")                               \
    X(LETREC, "letrec")                               \
    X(LETREC_STAR, "letrec*")                         \
    X(IF, "if")                                       \
    X(COND, "cond")                                   \
    X(AND, "and")                                     \
    X(OR, "or")                                       \
    X(WHEN, "when")                                   \
    X(UNLESS, "unless")                               \
    X(BEGIN, "begin")                                 \
    X(SET, "set!")                                    \
    X(QUOTE, "quote")                                 \
    X(ELSE, "else")                                   \
    X(ARROW, "=>")                                    \
    X(PRIM, "prim")                                   \
    X(SET_K, "set!/k")                                \
    X(HALT, "halt")                                   \
    X(CASE, "case")                                   \
    X(DO, "do")                                       \
    X(DELAY, "delay")                                 \
    X(CALL_CC, "call/cc")                             \
    X(CALL_WITH_CC, "call-with-current-continuation") \
    X(APPLY, "apply")                                 \
    X(DEFINE_SYNTAX, "define-syntax")                 \
    X(LET_SYNTAX, "let-syntax")                       \
    X(LET_VALUES, "let-values")                       \
    X(DEFINE_RECORD, "define-record-type")            \
    X(PARAMETERIZE, "parameterize")                   \
    X(DYNAMIC_WIND, "dynamic-wind")
#define X(name, text) IS_##name,
enum { NO_WORD, WORDS(X) FIRST_PRIMITIVE };
#undef X
enum { FIRST_UNKNOWN = IS_CASE }; /* from here on those that are refused */

/* ---- What is made ---- */

/* A name in sight: a variable, and what was in sight before. */
typedef struct scope {
    uint32_t outer, symbol, address;
} scope;

typedef enum part {
    EXPRESSION, /* node */
    SEQUENCE,   /* node and those after it */
    ANDS,       /* node and those after it, of an `and` */
    ORS,
    CLAUSES,  /* of a `cond`, from node on */
    BINDINGS, /* node and those after it are (name value), to be set in order; then the sequence `body` */
    BINDINGS_IN_TURN, /* the same, each of which is in sight behind it alone */
    RETURN,           /* `value`, an address, goes to the continuation */
    RESUME            /* a frame, whose operand `value` has just come */
} part;

typedef enum place { BODY, WHEN_TRUE, WHEN_FALSE, START } place;

typedef struct task {
    part what;
    uint32_t node, body, value, frame;
    uint32_t k; /* the address of the continuation */
    uint32_t scope;
    uint32_t inside; /* 1 + the lambda of the text around it */
    bool top;        /* a sequence of the whole program */
    bool begun;      /* a sequence whose variables are in sight */
    place where;     /* what is to know the state that it begins with */
    uint32_t of;     /* the value, the state */
} task;

/* A form whose operands are being evaluated, from left to right. */
typedef struct frame {
    enum { CALLS, LETS, NAMED_LET, PRIMITIVES, IFS, SETS, OR_ELSE, AND_THEN, CLAUSE } kind;
    dcsr_i_cfa_position at;
    /* Of a let its bindings, of a cond its clause, of a set! the name, of a named let the address of its lambda; else
       what goes on if the operand is true. */
    uint32_t node;
    uint32_t other;     /* if it is false, 0: nothing; of a named let the address of its variable */
    bool sequence;      /* each of the two is the first of several */
    uint32_t operand;   /* the node that is next; 0: none */
    uint32_t arguments; /* the addresses of operands, in `arguments` */
    uint32_t done, count;
    uint32_t primitive;
    task rest; /* with the continuation, scope and so on of the form */
} frame;

/* ---- cfa_atoms.c ---- */

static inline dcsr_i_cfa_node *node_of(const dcsr_cfa *cfa, uint32_t node)
{
    return DCSR_I_CFA_AT(cfa->nodes, dcsr_i_cfa_node, node);
}
static inline dcsr_i_cfa_symbol *symbol_of(const dcsr_cfa *cfa, uint32_t symbol)
{
    return DCSR_I_CFA_AT(cfa->symbols, dcsr_i_cfa_symbol, symbol);
}
static inline dcsr_i_cfa_value *value_of(const dcsr_cfa *cfa, uint32_t value)
{
    return DCSR_I_CFA_AT(cfa->values, dcsr_i_cfa_value, value);
}
static inline uint32_t next_of(const dcsr_cfa *cfa, uint32_t node)
{
    return node_of(cfa, node)->next;
}
static inline bool is_symbol(const dcsr_cfa *cfa, uint32_t node)
{
    return node && node_of(cfa, node)->kind == DCSR_I_CFA_SYMBOL;
}
static inline bool is_list(const dcsr_cfa *cfa, uint32_t node)
{
    return node && node_of(cfa, node)->kind == DCSR_I_CFA_LIST;
}
static inline uint32_t *argument(const dcsr_cfa *cfa, uint64_t i)
{
    return DCSR_I_CFA_AT(cfa->arguments, uint32_t, i);
}

uint32_t dcsr_i_cfa_add_state(dcsr_cfa *cfa, dcsr_i_cfa_state state);
uint32_t dcsr_i_cfa_add_address(dcsr_cfa *cfa, dcsr_i_cfa_address address);
void dcsr_i_cfa_add_task(dcsr_cfa *cfa, task t);
/* Room for n arguments, from the one that is returned on. */
uint32_t dcsr_i_cfa_add_arguments(dcsr_cfa *cfa, uint32_t n);
/* The name is in sight from now on, in the scope that is returned. */
uint32_t dcsr_i_cfa_add_scope(dcsr_cfa *cfa, uint32_t outer, uint32_t symbol, uint32_t address);
/* A lambda with lambda.count parameters. */
uint32_t dcsr_i_cfa_add_lambda(dcsr_cfa *cfa, dcsr_i_cfa_value lambda);
/* Parameter i of a lambda gets the name of a node, which is in sight in the scope that is returned. */
uint32_t dcsr_i_cfa_name_parameter(dcsr_cfa *cfa, uint32_t lambda, uint32_t i, uint32_t name, uint32_t outer);
/* A continuation that goes on with `rest`; what it gets is at *parameter. Its address. */
uint32_t dcsr_i_cfa_add_continuation(dcsr_cfa *cfa, task rest, dcsr_i_cfa_position at, uint32_t *parameter);
/* A lambda of the text: its parameters from node `name` on, its body from node `body` on. */
uint32_t dcsr_i_cfa_make_lambda(dcsr_cfa *cfa, const task *t, uint32_t node, uint32_t name, uint32_t body,
                                uint32_t symbol);

/* The address of what a name means; of a variable of the whole program if nothing else. */
uint32_t dcsr_i_cfa_look_up(dcsr_cfa *cfa, uint32_t in, uint32_t symbol, dcsr_i_cfa_position at);
/* The primitive that a symbol means here, or NULL. */
const dcsr_i_cfa_primitive *dcsr_i_cfa_primitive_in(const dcsr_cfa *cfa, uint32_t in, uint32_t symbol);
/* The word that a list begins with, if it means a form here. */
uint32_t dcsr_i_cfa_word_of(const dcsr_cfa *cfa, uint32_t in, uint32_t list);
/* Element i of a list, or 0; how many nodes there are from this one on. */
uint32_t dcsr_i_cfa_element(const dcsr_cfa *cfa, uint32_t list, unsigned i);
uint32_t dcsr_i_cfa_length_from(const dcsr_cfa *cfa, uint32_t node);
/* What is wrong at a node; 0. */
uint32_t dcsr_i_cfa_wrong_at(dcsr_cfa *cfa, uint32_t node, const char *what);

/* The whole program defines what the node names. */
void dcsr_i_cfa_note_defined(dcsr_cfa *cfa, uint32_t name);

/* Whether an expression has its value without any state; its address. A lambda gets the name `symbol`. */
bool dcsr_i_cfa_is_atom(dcsr_cfa *cfa, const task *t, uint32_t node, uint32_t symbol, uint32_t *address);

/* ---- cfa_forms.c ---- */

/* The state that an expression, or the rest of one, begins with. */
uint32_t dcsr_i_cfa_convert_task(dcsr_cfa *cfa, task t);
/* The name that a define defines: (define name e), (define (name parameter ...) body ...). 0: it is wrong. */
uint32_t dcsr_i_cfa_defined_name(dcsr_cfa *cfa, uint32_t form);

#endif
