/* triples.c: lines of `row column value`, parsed in parallel. */
#include "dcsr/io/triples.h"
#include "dcsr/base/alloc.h"
#include "dcsr/io/parse.h"
#include "dcsr/base/threads.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_CHUNK = 1 << 10, MOST_CHUNK = 1 << 20, CHUNKS = 64, BYTES_PER_WORK = 8 };

struct dcsr_i_text_chunk {
    const char *begin, *end;
    uint64_t first_line, lines;
    uint64_t offset;  /* of its part of the arrays */
    uint64_t entries; /* parsed, before the error if there is one */
    uint64_t skipped; /* lines */
    uint64_t max_row, max_col;
    uint64_t error_line; /* 0: none */
    char reason[DCSR_I_REASON];
};

typedef dcsr_i_target target;

uint64_t dcsr_i_most_entries(const dcsr_i_lines *lines, uint64_t bytes)
{
    uint64_t shortest = 0; /* "1 1\n", "1\n" or "1 1 1\n" */
    if (lines->indexed) shortest += 4;
    if (lines->type != DCSR_PATTERN) shortest += 2;
    /* Rounded up: a last line that breaks off may have got as far as its column. */
    return (bytes + shortest - 1) / shortest;
}

/* -- One line -------------------------------------------------------------------------------------------- */

static bool is_comment(const dcsr_i_lines *lines, char c)
{
    if (lines->fields && lines->fields->verbatim) return false;
    return (c == '%' && !(lines->fields && lines->fields->named)) || (c == '#' && lines->edges);
}

/* Whether the number that ended at p ends there: blank, separator or end of line. */
static bool at_boundary(const dcsr_i_lines *lines, const char *p)
{
    return dcsr_i_is_blank(*p) || *p == '\n' || (*p == ',' && lines->edges);
}

/* Blanks, with one comma among them in an edge list. */
static const char *skip_separator(const dcsr_i_lines *lines, const char *p)
{
    p = dcsr_i_skip_blanks(p);
    if (*p == ',' && lines->edges) p = dcsr_i_skip_blanks(p + 1);
    return p;
}

#define COMPLAIN(chunk, ...) (snprintf((chunk)->reason, DCSR_I_REASON, __VA_ARGS__), (const char *)NULL)

/* Says why the word at p is no valid index. */
static const char *bad_index(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const char *p,
                             const char *what, uint64_t limit)
{
    char quoted[DCSR_I_QUOTED];
    uint64_t number;
    const char *digits = *p == '-' ? p + 1 : p, *end = dcsr_i_scan_unsigned(digits, &number);
    const char *word = dcsr_i_quote(quoted, p);
    if ((end == digits || !at_boundary(lines, end)) && lines->relation)
        return COMPLAIN(chunk,
                        "%s is no %s number: symbols must be numbered first, from 0 on, or read as names",
                        word, what);
    if (end == digits || !at_boundary(lines, end))
        return COMPLAIN(chunk, "expected a %s number, found %s", what, word);
    if (*p == '-') return COMPLAIN(chunk, "%s %s is negative; the first is %d", what, word, (int)lines->base);
    if (number < lines->base) return COMPLAIN(chunk, "%s 0, but %ss count from 1", what, what);
    if (!limit) return COMPLAIN(chunk, "%s %s, but there are no %ss %s", what, word, what, lines->bounded_by);
    return COMPLAIN(chunk, "%s %s is beyond the last one, which is %llu %s", what, word,
                    (unsigned long long)(limit - 1 + lines->base), lines->bounded_by);
}

/* An index at p, counted from 0; NULL when there is none. */
static inline const char *scan_index(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const char *p,
                                     const char *what, uint64_t limit, uint64_t *index)
{
    const char *end = dcsr_i_scan_unsigned(p, index);
    *index -= lines->base; /* 0 wraps around, and is beyond every limit */
    if (end == p || *index >= limit || !at_boundary(lines, end))
        return bad_index(chunk, lines, p, what, limit);
    return end;
}

static const char *bad_value(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const char *p,
                             dcsr_i_scanned scanned)
{
    char quoted[DCSR_I_QUOTED];
    const char *word = dcsr_i_quote(quoted, p);
    bool integer = lines->type == DCSR_INT64;
    if (scanned == DCSR_I_NO_ROOM)
        return COMPLAIN(chunk, "%s%s is too large for %s", word,
                        lines->triangle == DCSR_I_STRICTLY_LOWER ? ", or its negative for the mirrored entry,"
                                                                 : "",
                        integer ? "a 64-bit integer" : "a double");
    if (lines->edges && *p == '\n') return COMPLAIN(chunk, "no value, which the first entry of the file has");
    return COMPLAIN(chunk, "expected %s, found %s", integer ? "an integer" : "a number", word);
}

static inline const char *scan_value(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const char *p,
                                     void *values, uint64_t at)
{
    const char *end = p;
    dcsr_i_scanned scanned = lines->type == DCSR_INT64 ? dcsr_i_scan_int64(&end, (int64_t *)values + at)
                                                       : dcsr_i_scan_double(&end, (double *)values + at);
    if (scanned == DCSR_I_NUMBER && !at_boundary(lines, end)) scanned = DCSR_I_NO_NUMBER;
    bool negated = lines->triangle == DCSR_I_STRICTLY_LOWER && lines->type == DCSR_INT64;
    if (scanned == DCSR_I_NUMBER && negated && ((int64_t *)values)[at] == INT64_MIN) scanned = DCSR_I_NO_ROOM;
    return scanned == DCSR_I_NUMBER ? end : bad_value(chunk, lines, p, scanned);
}

static const char *check_triangle(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const char *p,
                                  uint64_t row, uint64_t col)
{
    bool strict = lines->triangle == DCSR_I_STRICTLY_LOWER;
    if (row > col || (row == col && !strict)) return p;
    return COMPLAIN(
        chunk,
        "entry (%llu, %llu) is %s the diagonal; a %s file lists only what is below it (write the entry "
        "mirrored, or call the file general)",
        (unsigned long long)(row + lines->base), (unsigned long long)(col + lines->base),
        row == col ? "on" : "above", strict ? "skew-symmetric" : "symmetric");
}

static inline void put_indices(dcsr_i_text_chunk *chunk, const target *to, uint64_t at, uint64_t row,
                               uint64_t col)
{
    to->row[at] = row;
    to->col[at] = col;
    if (row > chunk->max_row) chunk->max_row = row;
    if (col > chunk->max_col) chunk->max_col = col;
}

static const char *check_index(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const char *end,
                               const char *what, uint64_t index, uint64_t limit)
{
    if (index < limit) return end;
    return COMPLAIN(chunk, "%s %llu is beyond the last one, which is %llu %s", what,
                    (unsigned long long)index, (unsigned long long)(limit - 1), lines->bounded_by);
}

/* The same of a line with fields. */
static const char *parse_fields(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const char *p,
                                const target *to, uint64_t at)
{
    dcsr_i_line_fields line;
    const char *end = dcsr_i_fields_parse(lines->fields, p, &line, chunk->reason);
    if (end && lines->fields->named) {
        to->names[2 * at] = line.names[0];
        to->names[2 * at + 1] = line.names[1];
    } else if (end) {
        end = check_index(chunk, lines, end, "row", line.row, lines->rows);
        if (end) end = check_index(chunk, lines, end, "column", line.col, lines->cols);
        if (end) put_indices(chunk, to, at, line.row, line.col);
    }
    if (lines->type != DCSR_PATTERN) ((double *)to->values)[at] = line.value;
    if (lines->fields->timed) to->times[at] = line.time;
    return end;
}

/* The entry at p, which is not a blank, into place `at`; returns the end of the line, or NULL with the reason
 * set. */
static inline const char *parse_entry(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const char *p,
                                      const target *to, uint64_t at)
{
    if (lines->indexed) {
        uint64_t row, col;
        if (!(p = scan_index(chunk, lines, p, "row", lines->rows, &row))) return NULL;
        p = skip_separator(lines, p);
        if (!(p = scan_index(chunk, lines, p, "column", lines->cols, &col))) return NULL;
        if (lines->triangle != DCSR_I_WHOLE && !(p = check_triangle(chunk, lines, p, row, col))) return NULL;
        put_indices(chunk, to, at, row, col);
        if (lines->type != DCSR_PATTERN) p = skip_separator(lines, p);
    }
    if (lines->type != DCSR_PATTERN && !(p = scan_value(chunk, lines, p, to->values, at))) return NULL;
    p = dcsr_i_skip_blanks(p);
    if (*p == '\n') return p;
    char quoted[DCSR_I_QUOTED];
    const char *word = dcsr_i_quote(quoted, p);
    if (lines->edges && lines->type == DCSR_PATTERN && !lines->relation)
        return COMPLAIN(chunk, "%s after the column, but the first entry of the file has no value", word);
    return COMPLAIN(chunk, "%s after the end of the entry", word);
}

/* A line of a relation that is no edge, from p on: the number of its columns says more than the first of them
 * that is wrong. */
static void count_columns(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const char *p)
{
    int columns = 0;
    for (; *p != '\n'; columns++) p = skip_separator(lines, dcsr_i_word_end(p));
    if (columns == 2) return;
    snprintf(chunk->reason, DCSR_I_REASON,
             "a relation of %d column%s; an edge has two: write those two to a file of their own", columns,
             columns == 1 ? "" : "s");
}

/* -- One chunk ------------------------------------------------------------------------------------------- */

static const char *next_line(const char *p)
{
    return (const char *)rawmemchr(p, '\n') + 1;
}

/* The next line from p that holds an entry; `end` when there is none. Counts the lines passed. */
static inline const char *next_entry(const dcsr_i_lines *lines, const char *p, const char *end,
                                     uint64_t *line)
{
    for (; p < end; ++*line) {
        const char *first = dcsr_i_skip_blanks(p);
        if (*first != '\n' && !is_comment(lines, *first)) return lines->fields ? p : first;
        p = next_line(first);
    }
    return p;
}

static void parse_chunk(dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, const target *to)
{
    uint64_t line = chunk->first_line, at = chunk->offset;
    const char *p = next_entry(lines, chunk->begin, chunk->end, &line);
    while (p < chunk->end) {
        const char *entry = p;
        p = (lines->fields ? parse_fields : parse_entry)(chunk, lines, p, to, at);
        if (p) {
            if (to->ends)
                to->ends[at] = (dcsr_i_place){lines->position + (uint64_t)(p + 1 - lines->text), line};
            at++;
        } else if (lines->skip_bad) {
            chunk->skipped++;
            p = next_line(entry) - 1;
        } else {
            if (lines->relation) count_columns(chunk, lines, entry);
            chunk->error_line = line;
            break;
        }
        line++;
        p = next_entry(lines, p + 1, chunk->end, &line);
    }
    chunk->entries = at - chunk->offset;
}

/* The line of entry number n (from 0) of the chunk. */
static uint64_t line_of_entry(const dcsr_i_text_chunk *chunk, const dcsr_i_lines *lines, uint64_t n)
{
    uint64_t line = chunk->first_line;
    const char *p = next_entry(lines, chunk->begin, chunk->end, &line);
    for (; n; n--) {
        line++;
        p = next_entry(lines, next_line(p), chunk->end, &line);
    }
    return line;
}

static uint64_t count_lines(const char *p, const char *end)
{
    uint64_t lines = 0;
    for (; p < end; p++) lines += *p == '\n';
    return lines;
}

/* -- All chunks ------------------------------------------------------------------------------------------ */

dcsr_status dcsr_i_chunks_split(dcsr_i_chunks *chunks, dcsr_context *context, const dcsr_i_lines *lines)
{
    assert(lines->text == lines->end || lines->end[-1] == '\n');
    uint64_t bytes = (uint64_t)(lines->end - lines->text), target_bytes = bytes / CHUNKS;
    if (target_bytes < LEAST_CHUNK) target_bytes = LEAST_CHUNK;
    if (target_bytes > MOST_CHUNK) target_bytes = MOST_CHUNK;
    uint64_t most = bytes / target_bytes + 1;
    memset(chunks, 0, sizeof *chunks);
    dcsr_i_text_chunk *chunk = dcsr_i_calloc(context, DCSR_I_SCRATCH, most, sizeof *chunk);
    if (!chunk) return DCSR_ERROR_OUT_OF_MEMORY;

    /* Chunk i goes from the first line that begins at or after byte i x target to the same for i + 1; a line
     * longer than the target leaves chunks empty. */
    int threads = dcsr_i_threads(context, bytes / BYTES_PER_WORK);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (uint64_t i = 0; i < most; i++) {
        const char *begin = lines->text + i * target_bytes;
        if (i && begin < lines->end && begin[-1] != '\n') begin = next_line(begin);
        chunk[i].begin = begin < lines->end ? begin : lines->end;
    }
    for (uint64_t i = 0; i < most; i++) chunk[i].end = i + 1 < most ? chunk[i + 1].begin : lines->end;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (uint64_t i = 0; i < most; i++) chunk[i].lines = count_lines(chunk[i].begin, chunk[i].end);

    uint64_t line = lines->first_line, offset = 0;
    for (uint64_t i = 0; i < most; i++) {
        chunk[i].first_line = line;
        chunk[i].offset = offset;
        uint64_t room = dcsr_i_most_entries(lines, (uint64_t)(chunk[i].end - chunk[i].begin));
        offset += chunk[i].lines < room ? chunk[i].lines : room;
        line += chunk[i].lines;
    }
    *chunks = (dcsr_i_chunks){.context = context, .chunk = chunk, .count = most, .capacity = offset};
    return DCSR_OK;
}

/* The first thing wrong in the order of the file. */
static dcsr_status first_error(const dcsr_i_chunks *chunks, const dcsr_i_lines *lines)
{
    uint64_t entries = 0, line = lines->first_line;
    for (uint64_t i = 0; i < chunks->count; i++) {
        const dcsr_i_text_chunk *chunk = &chunks->chunk[i];
        if (chunk->entries > lines->announced - entries)
            return dcsr_i_fail_at(lines->name, line_of_entry(chunk, lines, lines->announced - entries),
                                  "more entries than the %llu announced",
                                  (unsigned long long)lines->announced);
        if (chunk->error_line) return dcsr_i_fail_at(lines->name, chunk->error_line, "%s", chunk->reason);
        entries += chunk->entries;
        line += chunk->lines;
    }
    if (lines->announced != UINT64_MAX && entries < lines->announced)
        return dcsr_i_fail_at(lines->name, line - 1, "the file ends after %llu of the %llu entries announced",
                              (unsigned long long)entries, (unsigned long long)lines->announced);
    return DCSR_OK;
}

static void close_gap(const target *to, uint64_t filled, const dcsr_i_text_chunk *chunk, size_t value_size)
{
    const uint64_t from = chunk->offset, n = chunk->entries;
    if (from == filled || !n) return;
#define CLOSE(array, size) \
    if (array) memmove((char *)(array) + filled * (size), (char *)(array) + from * (size), n * (size))
    CLOSE(to->row, sizeof *to->row);
    CLOSE(to->col, sizeof *to->col);
    CLOSE(to->times, sizeof *to->times);
    CLOSE(to->ends, sizeof *to->ends);
    CLOSE(to->names, 2 * sizeof *to->names);
    if (value_size) CLOSE(to->values, value_size);
#undef CLOSE
}

/* Up to the first error. */
static void close_gaps(dcsr_i_chunks *chunks, const dcsr_i_lines *lines, const target *to)
{
    uint64_t filled = 0;
    bool good = true;
    for (uint64_t i = 0; i < chunks->count && good; i++) {
        const dcsr_i_text_chunk *chunk = &chunks->chunk[i];
        close_gap(to, filled, chunk, dcsr_type_size(lines->type));
        filled += chunk->entries;
        chunks->skipped += chunk->skipped;
        if (chunk->max_row > chunks->max_row) chunks->max_row = chunk->max_row;
        if (chunk->max_col > chunks->max_col) chunks->max_col = chunk->max_col;
        good = !chunk->error_line;
    }
    chunks->entries = filled;
}

dcsr_status dcsr_i_chunks_parse(dcsr_i_chunks *chunks, const dcsr_i_lines *lines, const dcsr_i_target *to)
{
    int threads = dcsr_i_threads(chunks->context, (uint64_t)(lines->end - lines->text) / BYTES_PER_WORK);
    _Atomic uint64_t first_bad = UINT64_MAX; /* chunks after one that failed need not be parsed */
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (uint64_t i = 0; i < chunks->count; i++) {
        dcsr_i_text_chunk *chunk = &chunks->chunk[i];
        uint64_t bad = atomic_load_explicit(&first_bad, memory_order_relaxed);
        if (bad < i) continue;
        parse_chunk(chunk, lines, to);
        while (chunk->error_line && i < bad && !atomic_compare_exchange_weak(&first_bad, &bad, i)) {
        }
    }
    close_gaps(chunks, lines, to);
    return first_error(chunks, lines);
}

void dcsr_i_chunks_free(dcsr_i_chunks *chunks)
{
    dcsr_i_free(chunks->context, DCSR_I_SCRATCH, chunks->chunk, chunks->count, sizeof *chunks->chunk);
    memset(chunks, 0, sizeof *chunks);
}

int dcsr_i_edge_values(const char *text, const char *end)
{
    static const dcsr_i_lines edges = {.edges = true};
    uint64_t line = 0;
    const char *p = next_entry(&edges, text, end, &line);
    if (p == end) return -1;
    for (int column = 0; column < 2; column++) p = skip_separator(&edges, dcsr_i_word_end(p));
    return *p != '\n';
}

const char *dcsr_i_first_entry(const dcsr_i_lines *lines)
{
    uint64_t line = 0;
    const char *p = next_entry(lines, lines->text, lines->end, &line);
    return p == lines->end ? NULL : p;
}
