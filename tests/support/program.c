/* program.c: running the program `dcsr` in tests. */
#include "tests/support/program.h"
#include <dirent.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/dcsr-cli-XXXXXX";
static char program[PATH_MAX];
static char inputs[PATH_MAX];

void program_begin(void)
{
    const char *named = getenv("DCSR_PROGRAM");
    cr_assert(realpath(named ? named : "build/dcsr", program),
              "there is no program %s; build it, or name it in DCSR_PROGRAM", named ? named : "build/dcsr");
    if (!realpath("../shared/data", inputs)) inputs[0] = '\0';
    cr_assert(mkdtemp(folder) && chdir(folder) == 0);
}

void program_end(void)
{
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert(chdir("/") == 0 && system(command) == 0);
}

char *program_read_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    if (!file) return NULL;
    size_t length = 0, room = 1 << 16;
    char *text = malloc(room + 1);
    for (size_t n; text && (n = fread(text + length, 1, room - length, file)) > 0;) {
        length += n;
        if (length == room) text = realloc(text, (room *= 2) + 1);
    }
    fclose(file);
    cr_assert(text);
    text[length] = '\0';
    return text;
}

void program_write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "wb");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

bool program_folder_holds(int n)
{
    DIR *directory = opendir(".");
    cr_assert(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) n--;
    }
    closedir(directory);
    return n == 0;
}

const char *program_real_inputs(void)
{
    if (inputs[0]) return inputs;
    cr_log_warn("skipped: the folder of real inputs, ../shared/data, is not there");
    cr_skip("no real inputs");
    return NULL;
}

static bool asks_for_json(const char *arguments)
{
    static const char option[] = "--json";
    const char *end = strstr(arguments, "-- "), *at = strstr(arguments, option);
    if (!at || strchr(arguments, '>') || (end && end < at)) return false;
    return at[strlen(option)] == ' ' || !at[strlen(option)];
}

program_result program_run(const char *format, ...)
{
    char *arguments = NULL, *command = NULL, out[] = "/tmp/dcsr-out-XXXXXX", err[] = "/tmp/dcsr-err-XXXXXX";
    va_list list;
    va_start(list, format);
    cr_assert(vasprintf(&arguments, format, list) >= 0);
    va_end(list);
    int out_descriptor = mkstemp(out), err_descriptor = mkstemp(err);
    cr_assert(out_descriptor >= 0 && err_descriptor >= 0);
    cr_assert(asprintf(&command, "exec >%s 2>%s </dev/null; exec '%s' %s", out, err, program, arguments) >=
              0);
    int ended = system(command);
    program_result result = {.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1000 + WTERMSIG(ended),
                             .out = program_read_file(out),
                             .err = program_read_file(err),
                             .wants_json = asks_for_json(arguments)};
    json_error_t error;
    result.json = json_loads(result.out, JSON_REJECT_DUPLICATES, &error);
    if (result.json && !json_is_object(result.json)) {
        json_decref(result.json);
        result.json = NULL;
    }
    close(out_descriptor);
    close(err_descriptor);
    unlink(out);
    unlink(err);
    free(command);
    free(arguments);
    return result;
}

pid_t program_start(const char *format, ...)
{
    char line[1000] = "exec \"$0\" ", shell[] = "sh", option[] = "-c";
    va_list arguments;
    pid_t process;
    va_start(arguments, format);
    vsnprintf(line + strlen(line), sizeof line - 50, format, arguments);
    va_end(arguments);
    strcat(line, " >out 2>err");
    char *argv[] = {shell, option, line, program, NULL};
    cr_assert(!posix_spawn(&process, "/bin/sh", NULL, NULL, argv, environ));
    return process;
}

int program_wait(pid_t process)
{
    int how;
    cr_assert(waitpid(process, &how, 0) == process);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 1000 + WTERMSIG(how);
}

void program_free(program_result *result)
{
    free(result->out);
    free(result->err);
    json_decref(result->json);
    *result = (program_result){0};
}

void program_expect_done(const program_result *result, const char *line)
{
    cr_assert(result->status == 0, "%s ended with %d: %s", line, result->status, result->err);
    cr_assert(!*result->err, "%s succeeded, but said on stderr: %s", line, result->err);
}

void program_expect_failure(const program_result *result, const char *line, int status, const char *words)
{
    const char *err = result->err, *newline = strchr(err, '\n');
    cr_assert(result->status == status, "%s ended with %d, not %d: %s", line, result->status, status, err);
    cr_assert(!strncmp(err, "dcsr: ", 6) && newline && !newline[1],
              "%s: stderr is not one line \"dcsr: ...\": %s", line, err);
    cr_assert(strstr(err, words), "%s: the message lacks \"%s\": %s", line, words, err);
    if (!result->wants_json) {
        cr_assert(!*result->out, "%s failed, but printed: %s", line, result->out);
        return;
    }
    cr_assert(strstr(err, program_error(result, "message")), "%s: %s is not %s", line, result->out, err);
    cr_assert(json_integer_value(json_object_get(json_object_get(result->json, "error"), "exit_status")) ==
              status);
}

static json_t *value_of(const program_result *result, const char *key)
{
    json_t *value = json_object_get(result->json, key);
    cr_assert(value, "the JSON object has no %s: %s", key, result->out);
    return value;
}

const char *program_error(const program_result *result, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(result->json, "error"), key));
    cr_assert(text, "the failure has no %s: %s", key, result->out);
    return text;
}

int64_t program_integer(const program_result *result, const char *key)
{
    json_t *value = value_of(result, key);
    cr_assert(json_is_integer(value), "%s is not an integer: %s", key, result->out);
    return json_integer_value(value);
}

double program_number(const program_result *result, const char *key)
{
    json_t *value = value_of(result, key);
    cr_assert(json_is_number(value), "%s is not a number: %s", key, result->out);
    return json_number_value(value);
}

const char *program_string(const program_result *result, const char *key)
{
    json_t *value = value_of(result, key);
    cr_assert(json_is_string(value), "%s is not a text: %s", key, result->out);
    return json_string_value(value);
}
