/* cfa_program.h: a Scheme program as text, as expressions, and in continuation-passing style (internal).
 *
 *      cfa_read.c     text -> nodes: atoms and lists, with their positions
 *      cfa_convert.c  nodes -> states, lambdas, addresses; cfa_primitives.c: the words that are not forms
 *      cfa_solve.c    the store, round by round
 *      cfa_report.c   the solution as text
 *
 * All are arrays that grow, and refer to one another by index; index 0 of nodes, scopes and symbols means none. */
#ifndef DCSR_CFA_PROGRAM_H
#define DCSR_CFA_PROGRAM_H

#include <dcsr/cfa.h>

/* ---- Arrays that grow ---- */

typedef struct dcsr_i_cfa_array {
    void *items;
    uint64_t count, capacity;
    size_t size; /* of an item */
} dcsr_i_cfa_array;

#define DCSR_I_CFA_AT(array, type, i) (&((type *)(array).items)[i])

/* Room for n more items, zeroed, which count from now on: the first of them. NULL: no memory, which cfa->status says
 * from then on. Pointers to items do not last beyond this. */
void *dcsr_i_cfa_append(dcsr_cfa *cfa, dcsr_i_cfa_array *array, uint64_t n);

/* ---- Text ---- */

typedef struct dcsr_i_cfa_position {
    uint32_t file, line, column;
} dcsr_i_cfa_position;

typedef enum dcsr_i_cfa_node_kind {
    DCSR_I_CFA_LIST,
    DCSR_I_CFA_SYMBOL,
    DCSR_I_CFA_TRUE,
    DCSR_I_CFA_FALSE,
    DCSR_I_CFA_LITERAL /* a number, a string, a character, what is quoted */
} dcsr_i_cfa_node_kind;

typedef struct dcsr_i_cfa_node {
    dcsr_i_cfa_position at;
    dcsr_i_cfa_node_kind kind;
    uint32_t symbol;      /* an interned text */
    uint32_t first, next; /* of a list; of the list that it is in */
} dcsr_i_cfa_node;

/* An interned text, which ends with a zero. */
typedef struct dcsr_i_cfa_symbol {
    uint64_t text; /* where it begins in `texts` */
    uint32_t length, hash;
    uint32_t global; /* 1 + the address of the variable of the whole program that has the name */
    bool is_defined; /* by a define, first in file `defined_by` */
    uint32_t defined_by;
    bool is_unbound;   /* it is in the list of those that nothing binds */
    uint32_t literal;  /* 1 + the value of the literal that is written so */
    uint32_t function; /* 1 + the value of the lambda that stands for the primitive of that name */
    bool is_local;     /* a scope has it */
    uint32_t mark;     /* for finding it twice */
} dcsr_i_cfa_symbol;

/* ---- The program ---- */

typedef enum dcsr_i_cfa_kind {
    DCSR_I_CFA_CALL,      /* of `function`, with arguments */
    DCSR_I_CFA_PRIMITIVE, /* with arguments; the result goes to the continuation `function` */
    DCSR_I_CFA_IF,        /* on `function` */
    DCSR_I_CFA_SET,       /* the variable arguments[0] to arguments[1], then the continuation `function` */
    DCSR_I_CFA_HALT
} dcsr_i_cfa_kind;

typedef struct dcsr_i_cfa_state {
    dcsr_i_cfa_position at;
    dcsr_i_cfa_kind kind;
    bool is_written;                /* a call that stands in the text, not a return to a continuation */
    uint32_t primitive;             /* its number */
    uint32_t function;              /* an address */
    uint32_t arguments, count;      /* where they begin in `arguments` */
    uint32_t when_true, when_false; /* states, of an if */
    uint32_t inside;                /* 1 + the value of the lambda whose body it is in; 0: of none */
} dcsr_i_cfa_state;

typedef enum dcsr_i_cfa_value_kind {
    DCSR_I_CFA_CONSTANT,
    DCSR_I_CFA_WRITTEN,
    DCSR_I_CFA_LAMBDA
} dcsr_i_cfa_value_kind;

typedef struct dcsr_i_cfa_value {
    dcsr_i_cfa_value_kind kind;
    dcsr_i_cfa_position at;     /* of a lambda */
    uint32_t address;           /* its own */
    uint32_t symbol;            /* its text; of a lambda the name that it is given, or 0 */
    bool is_written;            /* a lambda of the text, not a continuation */
    uint32_t parameters, count; /* the address of the first; they follow one another */
    uint32_t body;              /* a state */
    uint32_t inside;            /* 1 + the lambda around it */
} dcsr_i_cfa_value;

/* The first values, in this order. */
enum {
    DCSR_I_CFA_IS_SYMBOL,
    DCSR_I_CFA_IS_LIST,
    DCSR_I_CFA_IS_VOID,
    DCSR_I_CFA_IS_TRUE,
    DCSR_I_CFA_IS_FALSE,
    DCSR_I_CFA_IS_INTEGER,
    DCSR_I_CFA_CONSTANTS
};

/* What an address is of. */
typedef struct dcsr_i_cfa_address {
    bool is_value;
    uint32_t value;  /* that it is of; of a parameter 1 + the lambda's; 0: of the whole program */
    uint32_t symbol; /* the name of a variable; 0: none was written */
    dcsr_i_cfa_position at;
} dcsr_i_cfa_address;

/* A value that flows to an address to begin with. */
typedef struct dcsr_i_cfa_link {
    uint32_t address, value;
} dcsr_i_cfa_link;

/* A primitive. `results` has a bit for each constant that it may return; without any it does not go on. */
typedef struct dcsr_i_cfa_primitive {
    const char *name;
    uint8_t least, most; /* arguments; 255: any number */
    uint8_t results;
} dcsr_i_cfa_primitive;
/* Number 0, 1, ...; NULL beyond the last. */
const dcsr_i_cfa_primitive *dcsr_i_cfa_primitive_at(uint32_t number);

struct dcsr_cfa {
    dcsr_context *context;
    dcsr_status status;                            /* of what is being added: the first failure */
    dcsr_i_cfa_array files;                        /* symbols: their names */
    dcsr_i_cfa_array texts, symbols, slots;        /* slots: a hash table of symbols */
    dcsr_i_cfa_array nodes, scopes, frames, tasks; /* while code is added */
    dcsr_i_cfa_array states, arguments, values, addresses;
    dcsr_i_cfa_array links;
    dcsr_i_cfa_array unbound; /* symbols */
    bool is_begun, is_cps;
    dcsr_progress progress; /* of rounds */
    void *user;
    uint32_t first;   /* state, once it is begun */
    uint32_t unknown; /* 1 + the value of what nothing binds, once there is such a thing */
    uint32_t end;     /* the address of the continuation that what was added last ends with */
    struct dcsr_i_cfa_solution *solution; /* NULL: none */
};

/* Interns the words of the language, which have the first numbers, and makes the constants. */
dcsr_status dcsr_i_cfa_begin(dcsr_cfa *cfa);
/* Another constant, by its text; its value. */
uint32_t dcsr_i_cfa_add_constant(dcsr_cfa *cfa, const char *text);
/* The text of a symbol. */
const char *dcsr_i_cfa_text(const dcsr_cfa *cfa, uint32_t symbol);
uint32_t dcsr_i_cfa_intern(dcsr_cfa *cfa, const char *text, uint64_t length);
/* Keeps what is wrong as cfa->status, and its sentence. */
dcsr_status dcsr_i_cfa_wrong(dcsr_cfa *cfa, dcsr_i_cfa_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For cfa_atoms.c and cfa_forms.c: the sizes of what they alone know. */
void dcsr_i_cfa_set_sizes(dcsr_cfa *cfa);
/* The expressions of a text: *first is the first, linked by `next`. */
dcsr_status dcsr_i_cfa_read(dcsr_cfa *cfa, uint32_t file, const char *text, size_t length, uint32_t *first);
/* Adds states, values and addresses for them. */
dcsr_status dcsr_i_cfa_convert(dcsr_cfa *cfa, uint32_t first);

#endif
