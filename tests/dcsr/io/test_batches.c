/* test_batches.c: inputs in batches: the same entries as at once, in bounded memory, from any place on. */
#include <dcsr/reader.h>
#include "dcsr/base/alloc.h"
#include "dcsr/io/fields.h"
#include "tests/support/support.h"
#include "tests/support/support_files.h"
#include <math.h>
#include <string.h>

enum { EDGES = 20000 };

/* Edges with values, comments among them, and a last line without its end. */
static const char *write_edges(const char *name)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    for (int e = 0; e < EDGES; e++)
        fprintf(stream, "%s%d %d %d.5", e % 100 ? "\n" : "\n# c\n\n", e * 7 % 1000, e * 3 % 911, e);
    fclose(stream);
    const char *path = test_write_file(name, text, length);
    free(text);
    return path;
}

/* From a place on, compared with entries of the whole; *skip is which comes first. */
static void compare(dcsr_context *context, const char *path, const dcsr_coo *whole, uint64_t most,
                    const dcsr_input_place *place, uint64_t first, dcsr_input_place *middle, uint64_t *there)
{
    dcsr_input *input;
    dcsr_edge_batch batch;
    uint64_t n = first;
    TEST_OK(dcsr_input_open(&input, context, path));
    TEST_OK(dcsr_input_seek(input, place));
    do {
        TEST_OK(dcsr_input_read_batch(&batch, input, &(dcsr_batch_limits){.most = most}));
        cr_assert(batch.n <= most && n + batch.n <= whole->nnz && batch.type == whole->type);
        for (uint64_t e = 0; e < batch.n; e++)
            cr_assert(batch.row_indices[e] == whole->row_indices[n + e] &&
                      batch.col_indices[e] == whole->col_indices[n + e] &&
                      ((const double *)batch.values)[e] == ((const double *)whole->values)[n + e]);
        n += batch.n;
        if (middle && n <= EDGES / 2) *middle = batch.place, *there = n;
    } while (!batch.ended);
    cr_assert(n == whole->nnz);
    dcsr_input_close(input);
}

Test(batches, have_the_entries_of_the_whole_from_any_place_on)
{
    static const uint64_t sizes[] = {1, 7, 4096, 1 << 20};
    dcsr_context *context = test_context(2);
    const char *path = write_edges("e.el");
    dcsr_coo whole;
    TEST_OK(dcsr_coo_read(&whole, context, path, NULL));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        dcsr_input_place middle = {0};
        uint64_t there = 0;
        compare(context, path, &whole, sizes[s], &middle, 0, &middle, &there);
        cr_assert(there > 0 || sizes[s] > EDGES / 2);
        compare(context, path, &whole, 1000, &middle, there, NULL, NULL);
    }
    dcsr_coo_free(&whole);
    dcsr_context_destroy(context);
}

static dcsr_status number(void *user, uint64_t n, const dcsr_text *names, uint64_t *ids)
{
    for (uint64_t i = 0; i < n; i++) ids[i] = names[i].length + *(uint64_t *)user;
    return DCSR_OK;
}

/* What lines hold is told by the first of the text, not by the first behind the place; and quotes that are taken
 * off names do not make it another text. */
Test(batches, go_on_as_the_text_began)
{
    static const char *const texts[] = {"0 1\n2 three 4\n5 6\n", "0 1 7\n2 three\n5 6 8\n",
                                        "\"a \"\"b\"\"\" c\n\"\"\"\" three e f g\nab \"c d\""};
    dcsr_context *context = test_context(1);
    for (size_t t = 0; t < 3; t++) {
        const char *path = test_write_file("t", texts[t], strlen(texts[t]));
        uint64_t base = 0;
        const dcsr_line_format format = {.skip_bad = true, .number = t == 2 ? number : NULL, .user = &base};
        dcsr_edge_batch first, rest;
        dcsr_input *input;
        TEST_OK(dcsr_input_open_lines(&input, context, path, &format));
        TEST_OK(dcsr_input_read_batch(&first, input, &(dcsr_batch_limits){.most = 1}));
        const dcsr_input_place place = first.place;
        const dcsr_type type = first.type;
        cr_assert(first.n == 1 && !first.ended && place.position == strcspn(texts[t], "\n") + 1);
        dcsr_input_close(input);
        TEST_OK(dcsr_input_open_lines(&input, context, path, &format));
        TEST_OK(dcsr_input_seek(input, &place));
        TEST_OK(dcsr_input_read_batch(&rest, input, &(dcsr_batch_limits){.most = 10}));
        cr_assert(rest.n == 1 && rest.ended && rest.skipped == 1 && rest.type == type, "%llu of type %d",
                  (unsigned long long)rest.n, (int)rest.type);
        cr_assert(rest.row_indices[0] == (t == 2 ? 2 : 5) && rest.col_indices[0] == (t == 2 ? 3 : 6));
        cr_assert(!rest.values || *(const double *)rest.values == 8);
        dcsr_input_close(input);
    }
    dcsr_context_destroy(context);
}

Test(batches, need_memory_for_a_batch_and_not_for_the_file)
{
    enum { SMALL = 12 << 20, LINE = 8 };
    uint64_t peaks[2];
    char *text = malloc(3 * (size_t)SMALL);
    for (size_t at = 0; at < 3 * (size_t)SMALL; at += LINE) memcpy(text + at, "123 456\n", LINE);
    for (int large = 0; large < 2; large++) {
        dcsr_context *context = test_context(2);
        dcsr_context_info info;
        dcsr_input *input;
        dcsr_edge_batch batch;
        uint64_t n = 0;
        const size_t length = large ? 3 * (size_t)SMALL : SMALL;
        TEST_OK(dcsr_input_open(&input, context, test_write_file("long.el", text, length)));
        do {
            TEST_OK(dcsr_input_read_batch(&batch, input, &(dcsr_batch_limits){.most = 1000}));
            n += batch.n;
        } while (!batch.ended);
        cr_assert(n == length / LINE);
        dcsr_input_close(input);
        TEST_OK(dcsr_context_get_info(context, &info));
        cr_assert(info.scratch_bytes == 0);
        peaks[large] = info.peak_bytes;
        dcsr_context_destroy(context);
    }
    free(text);
    cr_assert(peaks[1] <= peaks[0] + peaks[0] / 10, "%llu bytes for three times the text, %llu for it",
              (unsigned long long)peaks[1], (unsigned long long)peaks[0]);
}

/* Whatever fails, nothing stays behind. */
Test(batches, failing_allocations_are_reported)
{
    dcsr_context *context = test_context(1);
    static const char text[] = "t,from,to\n1,a,bb\n2,ccc,\"d \"\"d\"\n";
    const char *path = test_write_file("n.csv", text, sizeof text - 1);
    uint64_t base = 5;
    const dcsr_line_format format = {
        .row = 2, .col = 3, .time = 1, .separator = ',', .header = 1, .number = number, .user = &base};
    for (long n = 0;; n++) {
        dcsr_input *input = NULL;
        dcsr_edge_batch batch = {0};
        dcsr_context_info info;
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = dcsr_input_open_lines(&input, context, path, &format);
        if (!status) status = dcsr_input_read_batch(&batch, input, &(dcsr_batch_limits){.most = 10});
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        if (!status)
            cr_assert(batch.n == 2 && batch.row_indices[1] == 8 && batch.col_indices[1] == 9 &&
                      batch.times[1] == 2 && batch.ended);
        dcsr_input_close(input);
        TEST_OK(dcsr_context_get_info(context, &info));
        cr_assert(info.scratch_bytes == 0);
        if (!status) break;
    }
    dcsr_context_destroy(context);
}

Test(batches, wrong_calls_are_refused)
{
    dcsr_context *context = test_context(1);
    const char *path = test_write_file("x", "0 1\n", 4);
    dcsr_input *input;
    dcsr_edge_batch batch;
    const dcsr_batch_limits limits = {.most = 1};
#define OPENED(...) dcsr_input_open_lines(&input, context, path, &(dcsr_line_format){__VA_ARGS__})
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "columns are 1 to 255", OPENED(.row = 1, .col = 256));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "columns are 1 to 255", OPENED(.row = 1));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "is to be two things", OPENED(.value = 2));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "cannot separate", OPENED(.separator = '7'));
    TEST_OK(OPENED(.row = 1, .col = 2));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "at least one",
                 dcsr_input_read_batch(&batch, input, &(dcsr_batch_limits){0}));
    TEST_OK(dcsr_input_read_batch(&batch, input, &limits));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "begun already",
                 dcsr_input_seek(input, &(dcsr_input_place){.position = 1}));
    dcsr_coo coo;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "read already", dcsr_input_read(&coo, input, NULL));
    dcsr_input_close(input);
    dcsr_context_destroy(context);
}

Test(batches, times_are_seconds_or_calendar)
{
    static const struct {
        const char *text;
        double seconds; /* NAN: it is none */
    } times[] = {{"0", 0},
                 {"-1.5", -1.5},
                 {"1e3", 1000},
                 {"1970-01-01", 0},
                 {"1970-01-02T00:00:01Z", 86401},
                 {"2000-02-29 12:30", 951827400},
                 {"2026-01-31T23:59:59.25+01:00", 1769900399.25},
                 {"1969-12-31T23:59:59-00:30", 1799},
                 {"1600-03-01T00:00:00Z", -11670912000},
                 {"2026-02-29", NAN},
                 {"2026-13-01", NAN},
                 {"2026-01-01T", NAN},
                 {"2026-01-01T25:00", NAN},
                 {"2026-01-01T10:00x", NAN},
                 {"2026-01-01T10:00+2", NAN},
                 {"nan", NAN},
                 {"", NAN},
                 {"1x", NAN}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char line[60];
        double seconds = 0;
        const size_t length = strlen(times[i].text);
        snprintf(line, sizeof line, "%s\n", times[i].text);
        const bool is_time = dcsr_i_scan_time(line, line + length, &seconds);
        cr_assert(is_time == (times[i].seconds == times[i].seconds), "%s", times[i].text);
        cr_assert(!is_time || seconds == times[i].seconds, "%s is %.17g", times[i].text, seconds);
    }
}
