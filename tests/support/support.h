/* support.h: what the tests share: seeded random numbers, an oracle, and comparing a view with it.
 *
 * The oracle is a matrix that is too simple to be wrong: each row is a list of (column, value), sorted by
 * column, and every rule of matrix.h is carried out on it literally, one entry after the other. A view is
 * right when it shows what an oracle holds that was given the same changes. */
#ifndef DCSR_TESTS_SUPPORT_H
#define DCSR_TESTS_SUPPORT_H

#include <stdatomic.h>
#include <dcsr/coo.h>
#include <dcsr/view.h>
#include <criterion/criterion.h>
#include <inttypes.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define TEST_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define TEST_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TEST_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define TEST_THREAD_SANITIZER 1
#endif
#ifndef TEST_ADDRESS_SANITIZER
#define TEST_ADDRESS_SANITIZER 0
#endif
#ifndef TEST_THREAD_SANITIZER
#define TEST_THREAD_SANITIZER 0
#endif

/* Whether devices are emulated: everything there takes about a hundred times as long. */
#ifdef DCSR_SIMT
#define TEST_EMULATOR 1
#else
#define TEST_EMULATOR 0
#endif

/* Whether the test is run there: it may be on the cpu. */
bool test_on_emulator(void);

/* Whether there can be a GPU. */
#ifdef DCSR_CUDA
#define TEST_CUDA 1
#else
#define TEST_CUDA 0
#endif

/* A number by how the test was built: as it stands, under AddressSanitizer, under ThreadSanitizer. */
#define TEST_VARIANT(plain, address, thread) \
    (TEST_THREAD_SANITIZER ? (thread) : TEST_ADDRESS_SANITIZER ? (address) : (plain))
/* The size of a test: the same, and less on the emulator, and where DCSR_TEST_SMALL is set. */
#define TEST_SIZE(plain, address, thread) test_size(TEST_VARIANT(plain, address, thread))
int test_size(int n);

/* What is told of a context; which device one gets where nobody asks for one. */
dcsr_context_info test_context_info(dcsr_context *context);
/* Which GPU device suites run on: DCSR_TEST_DEVICE_NUMBER, or 0. */
int test_device_number(void);
dcsr_device test_device_of_auto(void);

/* Asserts that a call returns the status; a failure shows the call and the library's sentence. */
#define TEST_STATUS(expected, expression)                                                           \
    do {                                                                                            \
        dcsr_status test_status_ = (expression);                                                    \
        cr_assert(test_status_ == (expected), "%s is \"%s\" (%s), not \"%s\"", #expression,         \
                  dcsr_status_name(test_status_), dcsr_thread_error(), dcsr_status_name(expected)); \
    } while (0)
#define TEST_OK(expression) TEST_STATUS(DCSR_OK, expression)

/* A list for a call on some indices, or on all of them if the array is NULL. */
#define TEST_LIST(indices, n) ((indices) ? &(dcsr_index_list){indices, n} : NULL)

/* Asserts that a call fails with the status and that the sentence kept for it has the given words in it. */
#define TEST_REFUSED(expected, words, expression)                                                 \
    do {                                                                                          \
        TEST_STATUS(expected, expression);                                                        \
        cr_assert(test_says(words), "the message \"%s\" of %s lacks \"%s\"", dcsr_thread_error(), \
                  #expression, words);                                                            \
    } while (0)
bool test_says(const char *words);

/* Random numbers (splitmix64): the same sequence for the same seed everywhere. */
typedef struct test_random {
    uint64_t state;
} test_random;

uint64_t test_random_next(test_random *random);
/* A number below n (n > 0). */
uint64_t test_random_below(test_random *random, uint64_t n);
/* True once in n times. */
bool test_random_once_in(test_random *random, uint64_t n);

/* The seeds of a random test: seed(i) for i below rounds. DCSR_TEST_SEED=n makes it that one seed;
 * DCSR_TEST_ROUNDS=n changes how many. */
typedef struct test_seeds {
    uint64_t first;
    uint64_t rounds;
} test_seeds;
test_seeds test_seeds_from_environment(uint64_t rounds);
/* Names the seed that runs now: should the process crash, it is printed. */
void test_seed_begins(uint64_t seed);
/* Of a sequence of steps that is drawn from a seed, both of which *s has: says where it fails. */
#define TEST_STEP(s, condition, ...) TEST_STEP_(s, condition, __VA_ARGS__, "")
#define TEST_STEP_(s, condition, format, ...)                                                       \
    cr_assert(condition, "DCSR_TEST_SEED=%" PRIu64 ", step %u: " format "%s", (s)->seed, (s)->step, \
              __VA_ARGS__)
#define TEST_STEP_OK(s, call) TEST_STEP(s, (call) == DCSR_OK, "%s: %s", #call, dcsr_thread_error())

/* One stored entry of the oracle. */
typedef struct oracle_entry {
    uint32_t column;
    uint32_t position; /* used while sorting */
    uint64_t value;    /* the bytes of the value, the rest zero */
} oracle_entry;

typedef struct oracle_row {
    oracle_entry *entry;
    size_t length, capacity;
} oracle_row;

typedef struct oracle {
    dcsr_type type;
    dcsr_policy policy;
    uint64_t rows, cols;
    oracle_row *row;
} oracle;

void oracle_create(oracle *model, dcsr_type type, dcsr_policy policy, uint64_t rows, uint64_t cols);
void oracle_copy(oracle *copy, const oracle *model);
void oracle_destroy(oracle *model);
void oracle_insert(oracle *model, size_t n, const uint64_t *rows, const uint64_t *cols, const void *values);
void oracle_remove(oracle *model, size_t n, const uint64_t *rows, const uint64_t *cols);
void oracle_resize(oracle *model, uint64_t rows, uint64_t cols);
uint64_t oracle_nnz(const oracle *model);
/* Whether (row, col) is stored; if so *value gets its bytes. */
bool oracle_get(const oracle *model, uint64_t row, uint64_t col, uint64_t *value);
/* The bytes of values[i] in a number, the rest zero; 0 for a pattern. */
uint64_t oracle_value(dcsr_type type, const void *values, uint64_t i);
/* What stands where `old` stood and `new` is inserted. */
uint64_t oracle_combine(dcsr_type type, dcsr_policy policy, uint64_t old, uint64_t new);

enum { TEST_WHY = 300 };

/* Whether a view made with `flags` shows exactly what the oracle holds, through every function that reads it;
 * if not, `why` says where they differ. May be called from any thread. */
bool test_view_matches(dcsr_view *view, const oracle *model, unsigned flags, char why[TEST_WHY]);

/* Whether the matrix's last published version is what the oracle holds: views of both layouts, with all
 * flags, and dcsr_matrix_get_nnz(). */
bool test_matrix_matches(dcsr_matrix *matrix, const oracle *model, char why[TEST_WHY]);
#define TEST_MATCHES(matrix, model)                                                \
    do {                                                                           \
        char test_why_[TEST_WHY];                                                  \
        cr_assert(test_matrix_matches(matrix, model, test_why_), "%s", test_why_); \
    } while (0)

/* For cases by hand: values are given as doubles, whatever the type of the matrix. */
typedef struct test_entry {
    uint64_t row, col;
    double value;
} test_entry;

/* A context on the device that `auto` is, with `threads` threads; a matrix with a policy and defragmentation
 * off. They assert that it worked. */
dcsr_context *test_context(int threads);
dcsr_matrix *test_matrix(dcsr_context *context, dcsr_type type, uint64_t rows, uint64_t cols,
                         dcsr_policy policy);

bool test_on_device(dcsr_context *context); /* whether that is a GPU */

/* In how many pieces a row is, which is not empty where first is not NULL: *first then is the place of its
 * first column, on the device for a view there. */
int test_pieces(dcsr_view *view, uint64_t row, const uint32_t **first);

/* Whether all that was taken from the context has been given back; if not, `why` says what was not. */
bool test_context_is_as_new(dcsr_context *context, char why[TEST_WHY]);
/* Asserts that and destroys the context. */
void test_close(dcsr_context *context);

/* Inserts or removes the entries as one batch and waits for it. TEST_INSERT(matrix, {row, col, value}, ...)
 */
void test_insert(dcsr_matrix *matrix, size_t n, const test_entry *entries);
void test_remove(dcsr_matrix *matrix, size_t n, const test_entry *entries);
#define TEST_ENTRIES(...)                                                    \
    sizeof((test_entry[]){__VA_ARGS__}) / sizeof(test_entry), (test_entry[]) \
    {                                                                        \
        __VA_ARGS__                                                          \
    }
#define TEST_INSERT(matrix, ...) test_insert(matrix, TEST_ENTRIES(__VA_ARGS__))
#define TEST_REMOVE(matrix, ...) test_remove(matrix, TEST_ENTRIES(__VA_ARGS__))

/* Whether the view, or a sorted view of the matrix, shows exactly these entries, given by ascending row and
 * column. */
bool test_view_shows(dcsr_view *view, size_t n, const test_entry *entries, char why[TEST_WHY]);
bool test_matrix_shows(dcsr_matrix *matrix, size_t n, const test_entry *entries, char why[TEST_WHY]);
#define TEST_SHOWS(matrix, ...)    TEST_SHOWS_(test_matrix_shows, matrix, TEST_ENTRIES(__VA_ARGS__))
#define TEST_VIEW_SHOWS(view, ...) TEST_SHOWS_(test_view_shows, view, TEST_ENTRIES(__VA_ARGS__))
#define TEST_SHOWS_NOTHING(matrix) TEST_SHOWS_(test_matrix_shows, matrix, 0, NULL)
#define TEST_SHOWS_(function, object, ...)                                    \
    do {                                                                      \
        char test_why_[TEST_WHY];                                             \
        cr_assert(function(object, __VA_ARGS__, test_why_), "%s", test_why_); \
    } while (0)

/* Converts a double to the type and back. */
void test_encode(dcsr_type type, double number, void *value);
double test_decode(dcsr_type type, const void *value);

dcsr_matrix_info test_info(dcsr_matrix *matrix);
/* Waits until the worker has nothing left to do, not even what it has put off: dcsr_matrix_wait() ends earlier. */
void test_settle(dcsr_matrix *matrix);
/* Waits until the matrix has less than so many bytes: a worker that is idle gives memory back when it likes. */
void test_wait_for_bytes(dcsr_matrix *matrix, uint64_t below);
dcsr_view_info test_view_info(dcsr_view *view);
/* A view, asserted to have worked. */
dcsr_view *test_view(dcsr_matrix *matrix, dcsr_layout layout, unsigned flags);

/* malloc() and friends that end the test when there is no memory. */
void *test_allocate(size_t count, size_t size);
void *test_copy(const void *block, size_t bytes);

/* A thread that inserts random batches, each waited for, into a square corner of a matrix while others read
 * it. */
typedef struct test_writer {
    dcsr_matrix *matrix;
    uint64_t size; /* of the corner */
    size_t entries, batches;
    bool values; /* fp64 ones; else the matrix is pattern-only */
    atomic_bool done;
} test_writer;
/* What the thread runs; argument is its test_writer. */
void *test_write_batches(void *argument);

#endif
