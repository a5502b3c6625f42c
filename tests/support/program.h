/* program.h: runs the program `dcsr` as its users do and looks at what it printed.
 *
 * The program is the one that DCSR_PROGRAM names, build/dcsr otherwise. Each test has a folder of its own for
 * files, which is removed after it. */
#ifndef DCSR_TESTS_PROGRAM_H
#define DCSR_TESTS_PROGRAM_H

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct program_result {
    int status; /* exit status; 1000 + number of the signal that ended it */
    char *out, *err;
    json_t *json;    /* what was printed, when it is one JSON object and nothing else */
    bool wants_json; /* --json was among the arguments, and stdout not sent elsewhere */
} program_result;

/* For TestSuite(..., .init = program_begin, .fini = program_end). */
void program_begin(void);
void program_end(void);

/* Runs `dcsr ARGUMENTS` through the shell, in the folder of the test; so arguments may be quoted, and
 * redirected. */
__attribute__((format(printf, 1, 2))) program_result program_run(const char *format, ...);
void program_free(program_result *result);

/* Starts `dcsr ARGUMENTS` by a shell that it replaces, with its output in the files `out` and `err` of the folder;
 * waits for it: its exit status, or 1000 + the signal that ended it. */
__attribute__((format(printf, 1, 2))) pid_t program_start(const char *format, ...);
int program_wait(pid_t process);

/* Puts a file into the folder. */
void program_write_file(const char *name, const char *text);
/* The content of a file there, as a string; NULL when it is not there. */
char *program_read_file(const char *name);
/* Whether the folder holds exactly n entries. */
bool program_folder_holds(int n);

/* The folder of real inputs beside the checkout as an absolute path; NULL, with a line that says so, when
 * there is none. */
const char *program_real_inputs(void);

/* Asserts the exit status, that a success says nothing on stderr, and that a failure says exactly one line,
 * "dcsr: ...", which has the words in it, and nothing on stdout, but with --json an object that has the same
 * sentence in `error`. */
void program_expect_done(const program_result *result, const char *line);
void program_expect_failure(const program_result *result, const char *line, int status, const char *words);

/* Runs it and asserts that; the first gives the JSON object, to be freed with program_free(). */
#define PROGRAM_JSON(result, ...)                                                              \
    do {                                                                                       \
        (result) = program_run(__VA_ARGS__);                                                   \
        program_expect_done(&(result), #__VA_ARGS__);                                          \
        cr_assert((result).json, "%s printed no JSON object: %s", #__VA_ARGS__, (result).out); \
    } while (0)
#define PROGRAM_FAILS(exit_status, words, ...)                                      \
    do {                                                                            \
        program_result program_result_ = program_run(__VA_ARGS__);                  \
        program_expect_failure(&program_result_, #__VA_ARGS__, exit_status, words); \
        program_free(&program_result_);                                             \
    } while (0)

/* A number of the JSON object; asserts that it is there, and for the first that it is an integer. */
int64_t program_integer(const program_result *result, const char *key);
double program_number(const program_result *result, const char *key);
const char *program_string(const program_result *result, const char *key);
/* A text that the object `error` of a failure has. */
const char *program_error(const program_result *result, const char *key);
#define PROGRAM_INTEGER(result, key, expected)                                                          \
    do {                                                                                                \
        int64_t program_value_ = program_integer(result, key), program_expected_ = (int64_t)(expected); \
        cr_assert(program_value_ == program_expected_, "%s is %lld, not %lld", key,                     \
                  (long long)program_value_, (long long)program_expected_);                             \
    } while (0)

#endif
