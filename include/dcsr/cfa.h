/* cfa.h: control-flow analysis (0-CFA) of Scheme: which functions a call may reach, and what may flow into a variable.
 *
 *      text --read--> expressions --convert--> program in continuation-passing style --solve--> the store
 *
 * The store is a Boolean matrix, addresses x values: an entry says that the value may flow there. A round takes the
 * states that something new has reached. A call of f with arguments e_i adds, for each function that may be f,
 *
 *      store |= (address of the parameter i) x (values of e_i)          an outer product: one batch of insertions
 *
 * and reaches the function's body; what has changed is told by the difference of two versions (dcsr/diff.h). It ends
 * when nothing grows. All functions, contexts and list elements share one address for each name (monovariant).
 *
 *      dcsr_cfa *cfa = NULL;
 *      dcsr_cfa_result result;
 *      dcsr_cfa_create(&cfa, context);
 *      dcsr_cfa_add_file(cfa, "program.scm");
 *      dcsr_cfa_solve(cfa, &result);
 *      dcsr_cfa_write_calls(cfa, "calls.tsv");
 *      dcsr_cfa_destroy(cfa);
 *
 * The language: define, lambda, let, let*, letrec, letrec*, named let, if, cond, and, or, when, unless, begin, set!,
 * quote, and primitives (docs/CFA.md lists them), or a program that is in continuation-passing style already:
 * (prim op arg ... k), (set!/k x e k), (if e call call), (halt), and calls whose arguments are variables, constants
 * and lambdas. Two assumptions are made. A primitive returns constants that stand for its kind of result: what was
 * put into a list is not followed to where it is taken out. A variable that nothing binds is unknown: it may hold any
 * constant, and a function that does not call back and returns any constant.
 *
 * Threads: calls on one dcsr_cfa must follow one another.
 *
 * After Prabhu, Ramalingam, Might, Hall: EigenCFA (POPL 2011). */
#ifndef DCSR_CFA_H
#define DCSR_CFA_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_cfa dcsr_cfa;

/* An analysis of no program yet. *cfa is NULL on failure. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY,
 * CONTEXT_DESTROYED. */
DCSR_API dcsr_status dcsr_cfa_create(dcsr_cfa **cfa, dcsr_context *context);
/* NULL does nothing. */
DCSR_API void dcsr_cfa_destroy(dcsr_cfa *cfa);

/* Adds code behind what was added before, as if it stood behind it in one file, except that a variable that nothing
 * bound so far is still taken as unknown. `name` is for messages. A text is copied. After a failure the analysis has
 * what it had before.
 *
 * Errors: FORMAT ("NAME:LINE:COLUMN: what is wrong, what was expected"), IO, TOO_LARGE (2^30 bytes), OUT_OF_MEMORY.
 * Cost: O(length). Memory: some 30 bytes for each byte of code. */
DCSR_API dcsr_status dcsr_cfa_add_text(dcsr_cfa *cfa, const char *name, const char *text, size_t length);
DCSR_API dcsr_status dcsr_cfa_add_file(dcsr_cfa *cfa, const char *path);

typedef struct dcsr_cfa_result {
    uint64_t states, reachable; /* calls, primitive calls, ifs and set!s; those that may be run */
    uint64_t addresses;         /* rows of the store: variables and values */
    uint64_t values;            /* its columns: lambdas, literals, constants */
    uint64_t store_nnz;         /* its entries; each value is at its own address */
    uint64_t iterations;        /* rounds of this call */
    uint64_t inserted;          /* entries that were given to the store in this call */
    uint64_t unbound;           /* variables that nothing binds */
} dcsr_cfa_result;

/* Solves for all that was added; from the last solution on, if there is one. result may be NULL. After a failure a
 * further call goes on. Errors: OUT_OF_MEMORY, CONTEXT_DESTROYED, DEVICE.
 * Cost: O(pairs of values and addresses that states bring together), at most O(states * values). */
DCSR_API dcsr_status dcsr_cfa_solve(dcsr_cfa *cfa, dcsr_cfa_result *result);

/* Has calls of dcsr_cfa_solve() tell, by the thread that makes them, after each round: the number of rounds, of which
 * nobody knows how many there will be. NULL: nobody is told, as at first. Errors: INVALID_ARGUMENT (cfa is NULL). */
DCSR_API dcsr_status dcsr_cfa_set_progress(dcsr_cfa *cfa, dcsr_progress progress, void *user);

/* Unbound variable number `which`: its name, which the analysis lends, and where it stands first.
 * Errors: INDEX_OUT_OF_RANGE. */
DCSR_API dcsr_status dcsr_cfa_get_unbound(const dcsr_cfa *cfa, uint64_t which, const char **name,
                                          const char **file, uint64_t *line, uint64_t *column);

/* The solution as text, a line each, fields separated by tabs. The file is replaced when it is complete.
 *      calls: FILE:LINE:COLUMN, what is called there, and a function that it may be
 *      flows: a variable, and a value that may flow there
 *      dot:   the call graph for Graphviz, from function to function
 * Errors: INVALID_ARGUMENT (nothing is solved), IO, OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_cfa_write_calls(dcsr_cfa *cfa, const char *path);
DCSR_API dcsr_status dcsr_cfa_write_flows(dcsr_cfa *cfa, const char *path);
DCSR_API dcsr_status dcsr_cfa_write_dot(dcsr_cfa *cfa, const char *path);

#ifdef __cplusplus
}
#endif
#endif
