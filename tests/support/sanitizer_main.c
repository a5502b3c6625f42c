/* sanitizer_main.c: runs Criterion's tests where Criterion's own runner cannot.
 *
 * Criterion starts each test in a process whose memory it arranges at fixed addresses, which ThreadSanitizer
 * refuses, and it has counted a test as passed before LeakSanitizer looks. This runner stands in for it in
 * the sanitizer builds: it finds the same tests in the same sections of the program, forks for each, and
 * takes the exit status, sanitizers' reports included, as the verdict. What tests call of Criterion is
 * defined here again, as far as they call it; the program's own definitions come before those of
 * libcriterion.
 *
 * usage: test_NAME [PART]     only tests whose "suite::name" has PART in it
 *
 * The program holds many files of tests. Called test_view it runs those of test_view.c; called test_all or
 * test_all_forked it runs all. */
#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT = 900, SKIPPED = 77 };

/* The linker marks the ends of the sections into which Test() and TestSuite() put pointers. */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[], *__stop_cr_sts[];
#pragma weak __start_cr_sts
#pragma weak __stop_cr_sts

/* In the process of a test. */
static struct criterion_test *test;
static struct criterion_suite *suite; /* NULL where the suite was not declared */
static jmp_buf after_test;
static bool failed, skipped;

void criterion_internal_test_setup(void)
{
    if (suite && suite->data->init) suite->data->init();
    if (test->data->init) test->data->init();
}

void criterion_internal_test_main(void (*function)(void))
{
    if (!setjmp(after_test)) function();
}

void criterion_internal_test_teardown(void)
{
    if (test->data->fini) test->data->fini();
    if (suite && suite->data->fini) suite->data->fini();
}

void criterion_send_assert(struct criterion_assert_stats *assertion)
{
    if (assertion->passed) return;
    fprintf(stderr, "[----] %s:%u: Assertion Failed: %s\n", assertion->file, assertion->line,
            assertion->message ? assertion->message : "");
}

void cri_asserts_passed_incr(void) {}

void criterion_continue_test(void)
{
    failed = true;
}

void criterion_abort_test(void)
{
    failed = true;
    longjmp(after_test, 1);
}

void criterion_skip_test(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    skipped = true;
    longjmp(after_test, 1);
}

void cr_log(enum criterion_severity severity, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (severity >= CR_LOG_WARNING) {
        fputs("[----] ", stderr);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
    }
    va_end(arguments);
}

static struct criterion_suite *find_suite(const char *name)
{
    for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++)
        if (!strcmp((*s)->name, name)) return *s;
    return NULL;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* The test in a process of its own; returns its status as waitpid() does, and the processor's time that it took. */
static int run(struct criterion_test *which, double *took)
{
    struct rusage used = {0};
    fflush(NULL);
    pid_t process = fork();
    if (process < 0) return -1;
    if (!process) {
        test = which;
        suite = find_suite(test->category);
        alarm(test->data->timeout > 0 ? (unsigned)test->data->timeout + 1 : TIMEOUT);
        test->test();
        fflush(NULL);
        if (failed || skipped) _exit(failed ? 1 : SKIPPED);
        exit(0); /* through the sanitizers, which may make it another status */
    }
    int status;
    if (wait4(process, &status, 0, &used) != process) status = -1;
    *took = seconds(used.ru_utime) + seconds(used.ru_stime);
    return status;
}

/* Whether the test is in a file of the name that the program is called by. */
static bool is_called(const struct criterion_test *which)
{
    const char *name = program_invocation_short_name, *file = basename(which->data->file_);
    const size_t length = strlen(name);
    return !strcmp(name, "test_all") || !strcmp(name, "test_all_forked") ||
           (!strncmp(file, name, length) && !strcmp(file + length, ".c"));
}

int main(int argc, char **argv)
{
    int passed = 0, failures = 0, crashed = 0;
    for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
        char name[256];
        snprintf(name, sizeof name, "%s::%s", (*t)->category, (*t)->name);
        if ((*t)->data->disabled || !is_called(*t) || (argc > 1 && !strstr(name, argv[1]))) continue;
        double took = 0;
        int status = run(*t, &took);
        int signal = status != -1 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        int code = status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        if (status != -1 && !signal && code == SKIPPED) {
            printf("[SKIP] %s\n", name);
        } else if (status != -1 && signal == (*t)->data->signal && code == (*t)->data->exit_code) {
            passed++;
            printf("[PASS] %s: (%.2fs)\n", name, took);
        } else if (signal) {
            failures++;
            crashed++;
            printf("[FAIL] %s: %s\n", name, strsignal(signal));
        } else {
            failures++;
            printf("[FAIL] %s: exit status %d\n", name, code);
        }
    }
    printf("[====] Synthesis: Tested: %d | Passing: %d | Failing: %d | Crashing: %d\n", passed + failures,
           passed, failures, crashed);
    return failures != 0;
}
