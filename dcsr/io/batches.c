/* batches.c: an input in batches: text is read until there are some MiB of it, or until it is time; what of it
 * is whole lines is parsed in parallel, and dropped; entries wait until they are enough for a batch. */
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/base/runtime.h"
#include "dcsr/base/threads.h"
#include "dcsr/io/input.h"
#include "dcsr/io/parse.h"
#include <math.h>
#include <string.h>
#include <xxhash.h>

/* A mark: what lines hold (2 bits), the number of the line, a checksum. */
enum { TEXT = 4 << 20, MOST_LINE = 64 << 20, CHECK_BITS = 24, LINE_BITS = 38, BANNER = 14 };
enum {
    UNTOLD,
    EDGES,
    VALUES
}; /* what lines hold that are not described; marks of older stores do not tell */

static double now(void)
{
    return 1e-9 * (double)dcsr_i_nanoseconds();
}

/* ---- Places ---- */

static uint64_t checksum(const dcsr_i_batches *b, uint64_t position)
{
    const size_t n = position < b->beginning_length ? (size_t)position : b->beginning_length;
    return XXH3_64bits(b->beginning, n) & (((uint64_t)1 << CHECK_BITS) - 1);
}

static dcsr_input_place place_of(const dcsr_i_batches *b, dcsr_i_place at)
{
    const uint64_t held = !b->typed ? UNTOLD : b->type ? VALUES : EDGES;
    return (dcsr_input_place){at.position, held << (CHECK_BITS + LINE_BITS) | at.line << CHECK_BITS |
                                               checksum(b, at.position)};
}

/* Of a place that was sought. */
static dcsr_status other_text(const dcsr_input *input)
{
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                       "%s: this is not the text of which %llu bytes were read before: it %s; begin anew",
                       input->name, (unsigned long long)input->batches.seek,
                       input->batches.finished ? "is shorter" : "begins otherwise");
}

/* Keeps what of the first bytes of the text belongs to the beginning; before they are parsed, as a name in
 * quotes is then written anew where it stands. */
static void keep_beginning(dcsr_input *input, size_t bytes)
{
    dcsr_i_batches *b = &input->batches;
    const uint64_t end = b->text.position + bytes;
    const size_t kept = b->beginning_length, wanted = end < DCSR_I_BEGINNING ? (size_t)end : DCSR_I_BEGINNING;
    if (wanted <= kept) return;
    memcpy(b->beginning + kept, input->file.text.data + (kept - b->text.position), wanted - kept);
    b->beginning_length = wanted;
}

/* The first bytes of text are passed, and `lines` of it with them. */
static void pass(dcsr_input *input, size_t bytes, uint64_t lines)
{
    dcsr_i_batches *b = &input->batches;
    keep_beginning(input, bytes);
    b->text.position += bytes;
    b->text.line += lines;
    dcsr_i_text_drop(&input->file.text, bytes);
}

/* Lines that are not described have two columns, or three with a value. */
static void set_type(dcsr_input *input, dcsr_type type)
{
    input->batches.typed = true;
    input->batches.type = type;
    if (!input->automatic || !type) return;
    input->fields.role[3] = DCSR_I_VALUE;
    input->fields.last = 3;
}

/* Goes on as the mark of the place that was sought tells, whatever line comes next. */
static void take_mark(dcsr_input *input)
{
    dcsr_i_batches *b = &input->batches;
    const uint64_t held = b->seek_mark >> (CHECK_BITS + LINE_BITS);
    b->text.line = b->seek_mark >> CHECK_BITS & (((uint64_t)1 << LINE_BITS) - 1);
    if (held != UNTOLD && (input->plain || input->automatic))
        set_type(input, held == EDGES ? DCSR_PATTERN : DCSR_FP64);
}

/* Passes text up to the place that was sought; true while more of it has to come. */
static dcsr_status pass_to_place(dcsr_input *input, bool *more)
{
    dcsr_i_batches *b = &input->batches;
    const uint64_t left = b->seek - b->text.position;
    const size_t there = input->file.text.length, bytes = there < left ? there : (size_t)left;
    pass(input, bytes, 0);
    *more = bytes < left;
    b->finished = *more && input->file.ended;
    if (b->finished) return other_text(input);
    if (*more) return DCSR_OK;
    if (checksum(b, b->seek) != (b->seek_mark & (((uint64_t)1 << CHECK_BITS) - 1))) return other_text(input);
    take_mark(input);
    b->given = b->text;
    b->seek = 0;
    return DCSR_OK;
}

/* Of a plain file the text before the place is not read, but for the beginning, which is compared. */
static dcsr_status jump(dcsr_input *input)
{
    dcsr_i_batches *b = &input->batches;
    dcsr_i_textfile *file = &input->file;
    const dcsr_i_text *text = &file->text;
    file->deadline = now(); /* one that is followed is not waited for */
    while (text->length < DCSR_I_BEGINNING && !file->ended && !file->paused && file->changed == DCSR_I_SAME)
        DCSR_TRY(dcsr_i_textfile_more(file));
    if (file->packing) return DCSR_OK;
    if (text->length < b->seek) {
        if (text->length >= DCSR_I_BEGINNING) pass(input, DCSR_I_BEGINNING, 0);
        b->finished = !b->text.position || !dcsr_i_textfile_seek(file, b->seek);
        if (b->finished) return other_text(input);
        b->text.position = b->seek;
    }
    bool more;
    return pass_to_place(input, &more);
}

dcsr_status dcsr_input_seek(dcsr_input *input, const dcsr_input_place *place)
{
    if (!input || !place)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_input_seek: input or place is NULL");
    dcsr_i_batches *b = &input->batches;
    DCSR_TRY(dcsr_i_context_check(input->file.text.context));
    if (input->read || b->begun)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: reading has begun already; seek before that",
                           input->name);
    if (!place->position) return DCSR_OK;
    b->seek = place->position;
    b->seek_mark = place->mark;
    b->header = 0;
    return input->file.stream ? DCSR_OK : jump(input);
}

/* ---- Entries that wait ---- */

static size_t entry_bytes(const dcsr_input *input)
{
    const dcsr_i_target *none = NULL;
    return sizeof *none->row + sizeof *none->col + sizeof *none->ends + dcsr_type_size(input->batches.type) +
           (input->fields.timed ? sizeof *none->times : 0);
}

/* The arrays in one block, for so many entries. */
static dcsr_i_target arrays_in(const dcsr_input *input, char *block, uint64_t capacity)
{
    dcsr_i_target arrays = {.row = (uint64_t *)block};
    arrays.col = arrays.row + capacity;
    arrays.ends = (dcsr_i_place *)(arrays.col + capacity);
    double *next = (double *)(arrays.ends + capacity);
    if (input->fields.timed) arrays.times = next, next += capacity;
    if (input->batches.type) arrays.values = next;
    return arrays;
}

/* From entry `from` on; there may be fewer arrays than these. */
static dcsr_i_target arrays_from(const dcsr_i_target *arrays, uint64_t from)
{
    return (dcsr_i_target){.row = arrays->row + from,
                           .col = arrays->col + from,
                           .ends = arrays->ends + from,
                           .times = arrays->times ? arrays->times + from : NULL,
                           .values = arrays->values ? (double *)arrays->values + from : NULL};
}

static void move(const dcsr_i_target *to, const dcsr_i_target *from, uint64_t n)
{
    if (!n) return;
    memmove(to->row, from->row, n * sizeof *to->row);
    memmove(to->col, from->col, n * sizeof *to->col);
    memmove(to->ends, from->ends, n * sizeof *to->ends);
    if (to->times) memmove(to->times, from->times, n * sizeof *to->times);
    if (to->values) memmove(to->values, from->values, n * sizeof(double));
}

/* Moves those that are left to the front, and makes room for so many more behind them. */
static dcsr_status make_room(dcsr_input *input, uint64_t more)
{
    dcsr_context *context = input->file.text.context;
    dcsr_i_waiting *w = &input->batches.waiting;
    const uint64_t left = w->count - w->first, wanted = left + more;
    const dcsr_i_target old = w->capacity ? arrays_from(&w->arrays, w->first) : (dcsr_i_target){0};
    if (wanted > w->capacity) {
        const uint64_t capacity = wanted > 2 * w->capacity ? wanted : 2 * w->capacity;
        char *block = dcsr_i_alloc(context, DCSR_I_SCRATCH, capacity, entry_bytes(input));
        if (!block) return DCSR_ERROR_OUT_OF_MEMORY;
        dcsr_i_target arrays = arrays_in(input, block, capacity);
        move(&arrays, &old, left);
        dcsr_i_free(context, DCSR_I_SCRATCH, w->arrays.row, w->capacity, entry_bytes(input));
        w->arrays = arrays;
        w->capacity = capacity;
    } else if (w->first) {
        move(&w->arrays, &old, left);
    }
    w->first = 0;
    w->count = left;
    return DCSR_OK;
}

void dcsr_i_batches_free(dcsr_input *input)
{
    dcsr_i_batches *b = &input->batches;
    dcsr_context *context = input->file.text.context;
    dcsr_i_free(context, DCSR_I_SCRATCH, b->waiting.arrays.row, b->waiting.capacity, entry_bytes(input));
    if (b->whole) dcsr_coo_free(&b->coo);
}

/* ---- Parsing ---- */

/* What is wrong comes behind the entries that wait. */
static dcsr_status postpone(dcsr_i_batches *b, dcsr_status failure)
{
    if (!failure) return DCSR_OK;
    b->failure = failure;
    b->finished = true;
    strcpy(b->reason, dcsr_i_error_text());
    return DCSR_OK;
}

/* Names become numbers, in the order of the text. */
static dcsr_status number_names(dcsr_input *input, const dcsr_i_lines *lines, const dcsr_i_target *to,
                                uint64_t n, const dcsr_text *names)
{
    dcsr_context *context = input->file.text.context;
    if (!n) return DCSR_OK;
    uint64_t *ids = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, 2 * sizeof *ids);
    if (!ids) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = input->format.number(input->format.user, 2 * n, names, ids);
    for (uint64_t e = 0; e < n && status == DCSR_OK; e++) {
        to->row[e] = ids[2 * e];
        to->col[e] = ids[2 * e + 1];
        if (to->row[e] >= lines->rows || to->col[e] >= lines->cols)
            status = dcsr_i_fail_at(input->name, to->ends[e].line, "there are more names than vertices %s",
                                    lines->bounded_by);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, ids, n, 2 * sizeof *ids);
    return status;
}

/* The first entry that is older than one before it ends the text, where that is an error; *n becomes the number
 * before it. */
static dcsr_status check_times(dcsr_input *input, const dcsr_i_target *to, uint64_t *n)
{
    dcsr_i_batches *b = &input->batches;
    if (!input->format.ascending_times || !input->fields.timed) return DCSR_OK;
    for (uint64_t e = 0; e < *n; e++) {
        if (to->times[e] < b->newest) {
            *n = e;
            return postpone(b, dcsr_i_fail_at(input->name, to->ends[e].line,
                                              "its time is %.9g s before that of an earlier line",
                                              b->newest - to->times[e]));
        }
        b->newest = to->times[e];
    }
    return DCSR_OK;
}

static dcsr_status parse_lines(dcsr_input *input, const dcsr_i_lines *lines)
{
    dcsr_i_batches *b = &input->batches;
    dcsr_context *context = input->file.text.context;
    dcsr_i_chunks chunks;
    dcsr_text *names = NULL;
    DCSR_TRY(dcsr_i_chunks_split(&chunks, context, lines));
    const uint64_t room = chunks.capacity;
    dcsr_status status = make_room(input, room);
    if (status == DCSR_OK && input->fields.named) {
        names = dcsr_i_alloc(context, DCSR_I_SCRATCH, room, 2 * sizeof *names);
        if (!names) status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (status == DCSR_OK) {
        dcsr_i_target to = arrays_from(&b->waiting.arrays, b->waiting.count);
        to.names = names;
        status = postpone(b, dcsr_i_chunks_parse(&chunks, lines, &to));
        uint64_t n = chunks.entries;
        b->skipped += chunks.skipped;
        if (status == DCSR_OK) status = check_times(input, &to, &n);
        if (status == DCSR_OK && names) status = number_names(input, lines, &to, n, names);
        if (status == DCSR_OK) b->waiting.count += n;
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, names, room, 2 * sizeof *names);
    dcsr_i_chunks_free(&chunks);
    return status;
}

/* Passes lines of the header as far as the text has them. */
static void pass_header(dcsr_input *input)
{
    dcsr_i_batches *b = &input->batches;
    const char *p = input->file.text.data, *end = p + input->file.text.length;
    uint64_t lines = 0;
    for (; lines < b->header && p < end; lines++) {
        const char *line = memchr(p, '\n', (size_t)(end - p));
        if (!line) break;
        p = line + 1;
    }
    b->header -= lines;
    pass(input, (size_t)(p - input->file.text.data), lines);
}

/* Whether the columns are known; else there is no entry in this text. */
static bool find_columns(dcsr_input *input, const char *end)
{
    dcsr_i_batches *b = &input->batches;
    dcsr_type type;
    if (!b->typed && dcsr_i_input_type(&type, input, input->file.text.data, end)) set_type(input, type);
    return b->typed;
}

static uint64_t count_lines(const char *p, const char *end)
{
    uint64_t lines = 0;
    for (; p < end; p++) lines += *p == '\n';
    return lines;
}

/* A line that nobody has ended. */
static dcsr_status refuse_rest(dcsr_input *input, size_t whole)
{
    dcsr_i_batches *b = &input->batches;
    const char *text = input->file.text.data;
    const uint64_t line = b->text.line + 1 + count_lines(text, text + whole);
    b->skipped += input->format.skip_bad;
    if (input->format.skip_bad) return DCSR_OK;
    return dcsr_i_fail_at(input->name, line,
                          input->file.ended
                              ? "the input stops within this line; its writer must end it with a newline"
                              : "this line is longer than 64 MiB; is this a text?");
}

/* The length of the text that is whole lines. */
static size_t whole_lines(const dcsr_i_text *text, bool without_last)
{
    size_t length = text->length;
    if (without_last && length) length--;
    const char *last = length ? memrchr(text->data, '\n', length) : NULL;
    return last ? (size_t)(last + 1 - text->data) : 0;
}

/* Parses what is there of whole lines, and drops it. */
static dcsr_status parse_text(dcsr_input *input)
{
    dcsr_i_batches *b = &input->batches;
    const dcsr_i_text *text = &input->file.text;
    pass_header(input);
    const size_t whole = whole_lines(text, input->file.broken_off);
    const bool rest = input->file.ended ? input->file.broken_off : text->length - whole > MOST_LINE;
    keep_beginning(input, whole);
    if (whole && find_columns(input, text->data + whole)) {
        dcsr_i_packing packing;
        dcsr_i_lines lines = {.name = input->name,
                              .text = text->data,
                              .end = text->data + whole,
                              .first_line = b->text.line + 1,
                              .indexed = true,
                              .edges = true,
                              .relation =
                                  input->plain && dcsr_i_format_of(input->name, &packing) == DCSR_I_RELATION,
                              .type = b->type,
                              .announced = UINT64_MAX,
                              .fields = input->plain ? NULL : &input->fields,
                              .skip_bad = input->format.skip_bad,
                              .position = b->text.position};
        DCSR_TRY(dcsr_i_edge_bounds(&lines, b->rows, b->cols));
        DCSR_TRY(parse_lines(input, &lines));
    }
    if (rest && !b->failure) DCSR_TRY(postpone(b, refuse_rest(input, whole)));
    pass(input, whole, count_lines(text->data, text->data + whole));
    if (rest) pass(input, text->length, input->file.ended);
    return DCSR_OK;
}

/* ---- Reading ---- */

/* The file that is followed has become another one. What is left is a line of the old one. */
static dcsr_status change_file(dcsr_input *input)
{
    dcsr_i_batches *b = &input->batches;
    dcsr_i_textfile *file = &input->file;
    const bool rotated = file->changed == DCSR_I_ROTATED;
    if (rotated) DCSR_TRY(dcsr_i_text_end_line(&file->text));
    if (rotated) DCSR_TRY(parse_text(input));
    dcsr_i_text_drop(&file->text, file->text.length);
    b->event = rotated ? DCSR_INPUT_ROTATED : DCSR_INPUT_TRUNCATED;
    b->text = (dcsr_i_place){0};
    b->beginning_length = 0;
    b->header = input->format.header;
    return dcsr_i_textfile_renew(file);
}

/* Whether the text is Matrix Market; *known is false while it is too short to tell. */
static bool looks_like_market(const dcsr_input *input, bool *known)
{
    const dcsr_i_text *text = &input->file.text;
    const bool later = input->described || input->batches.text.position;
    const bool enough = text->length >= BANNER || (text->length && memchr(text->data, '\n', text->length));
    const dcsr_i_file_input lines = {text->context, input->name, text->data, text->data + text->length};
    *known = enough || input->file.ended || later;
    return enough && !later && dcsr_i_is_market(&lines);
}

static dcsr_status read_whole(dcsr_input *input)
{
    dcsr_i_batches *b = &input->batches;
    if (input->file.broken_off) DCSR_TRY(refuse_rest(input, whole_lines(&input->file.text, true)));
    DCSR_TRY(dcsr_i_read_text(&b->coo, &input->file.text, input->name, NULL));
    b->whole = b->finished = true;
    b->typed = true;
    b->type = b->coo.type;
    dcsr_i_text_free(&input->file.text);
    return DCSR_OK;
}

/* Waits for text until the first time, which is *paused when none came, and then for text enough to parse until
 * the second. */
static dcsr_status read_text(dcsr_input *input, double first, double second, bool *paused)
{
    dcsr_i_textfile *file = &input->file;
    bool known = true, seeking = false;
    if (file->begun && !file->packing) DCSR_TRY(dcsr_i_text_reserve(&file->text, 2 * TEXT));
    file->deadline = first;
    for (*paused = true;; file->deadline = second) {
        const size_t before = file->text.length;
        if (!file->ended) DCSR_TRY(dcsr_i_textfile_more(file));
        const bool came = file->ended || file->text.length != before;
        *paused = *paused && !came;
        if (input->format.follow && file->packing)
            return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                               "%s: a compressed file cannot be followed; follow what it is made from",
                               input->name);
        if (input->batches.seek) DCSR_TRY(pass_to_place(input, &seeking));
        const bool market = looks_like_market(input, &known);
        if (market && file->ended) return read_whole(input);
        const bool enough = file->text.length >= TEXT && !market;
        if (!came || file->ended || (enough && !seeking && known) || (second && now() >= second))
            return DCSR_OK;
    }
}

/* What is there of a text that cannot be read further comes before the error. */
static dcsr_status end_early(dcsr_input *input, dcsr_status failure)
{
    char reason[DCSR_I_ERROR_BYTES];
    if (!input->file.begun || (failure != DCSR_ERROR_FORMAT && failure != DCSR_ERROR_IO)) return failure;
    strcpy(reason, dcsr_i_error_text());
    DCSR_TRY(parse_text(input));
    return input->batches.failure ? DCSR_OK : postpone(&input->batches, dcsr_i_fail(failure, "%s", reason));
}

/* Adds to the entries that wait. */
static dcsr_status fill(dcsr_input *input, double give_up, double due, bool *paused)
{
    dcsr_i_batches *b = &input->batches;
    bool known;
    const bool waiting = b->waiting.count > b->waiting.first;
    const double soonest = !give_up || (due && due < give_up) ? due : give_up;
    dcsr_status status = read_text(input, waiting ? soonest : give_up, soonest, paused);
    const bool market = looks_like_market(input, &known);
    if (status) return market || b->seek ? status : end_early(input, status);
    if (b->whole || b->seek || market || !known) return DCSR_OK;
    DCSR_TRY(parse_text(input));
    if (input->file.drained) {
        DCSR_TRY(change_file(input));
        *paused = false;
    }
    b->finished = b->finished || input->file.ended;
    return DCSR_OK;
}

/* ---- Batches ---- */

/* The size that a matrix needs: as edge_list.c has it. */
static void measure(dcsr_edge_batch *batch, const dcsr_i_batches *b)
{
    uint64_t rows = 0, cols = 0;
    for (uint64_t e = 0; e < batch->n; e++) {
        if (batch->row_indices[e] >= rows) rows = batch->row_indices[e] + 1;
        if (batch->col_indices[e] >= cols) cols = batch->col_indices[e] + 1;
    }
    if (!b->rows && !b->cols) rows = cols = rows > cols ? rows : cols;
    batch->rows = b->rows ? b->rows : rows;
    batch->cols = b->cols ? b->cols : cols;
}

static void take_whole(dcsr_edge_batch *batch, dcsr_i_batches *b)
{
    const dcsr_coo *coo = &b->coo;
    const uint64_t first = b->waiting.first;
    batch->row_indices = coo->row_indices + first;
    batch->col_indices = coo->col_indices + first;
    if (b->type) batch->values = (const char *)coo->values + first * dcsr_type_size(b->type);
    batch->rows = coo->rows;
    batch->cols = coo->cols;
}

static void take_waiting(dcsr_edge_batch *batch, dcsr_i_batches *b)
{
    const dcsr_i_waiting *w = &b->waiting;
    if (batch->n) {
        const dcsr_i_target from = arrays_from(&w->arrays, w->first);
        batch->row_indices = from.row;
        batch->col_indices = from.col;
        batch->times = from.times;
        batch->values = from.values;
        b->given = from.ends[batch->n - 1];
    }
    measure(batch, b);
    if (b->finished && !b->failure && w->first + batch->n == w->count)
        b->given = b->text; /* comments and all */
}

/* How many of the entries that wait are not beyond a position. */
static uint64_t entries_until(const dcsr_i_waiting *w, uint64_t position)
{
    uint64_t low = w->first, high = w->count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (w->arrays.ends[middle].position <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low - w->first;
}

static void hand_out(dcsr_edge_batch *batch, dcsr_input *input, uint64_t left, uint64_t most)
{
    dcsr_i_batches *b = &input->batches;
    *batch = (dcsr_edge_batch){.n = left < most ? left : most, .type = b->type, .skipped = b->skipped};
    if (b->whole)
        take_whole(batch, b);
    else
        take_waiting(batch, b);
    b->waiting.first += batch->n;
    batch->place = place_of(b, b->given);
    if (!left) batch->event = b->event, b->event = DCSR_INPUT_NOTHING;
    batch->ended = b->finished && !b->failure && batch->n == left;
    if (batch->ended) batch->report = (dcsr_read_report){input->file.ignored, input->file.ignored_from};
    b->last = now();
}

static dcsr_status check_call(const dcsr_edge_batch *batch, const dcsr_input *input,
                              const dcsr_batch_limits *limits)
{
    if (!batch || !input || !limits)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_input_read_batch: batch, input or limits is NULL");
    DCSR_TRY(dcsr_i_context_check(input->file.text.context));
    if (!limits->most || !(limits->every >= 0) || !(limits->wait >= 0))
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_input_read_batch: a batch has at least one entry, and times are not negative");
    if (input->read)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: it has been read already; open it again",
                           input->name);
    return DCSR_OK;
}

dcsr_status dcsr_input_read_batch(dcsr_edge_batch *batch, dcsr_input *input, const dcsr_batch_limits *limits)
{
    if (batch) *batch = (dcsr_edge_batch){0};
    DCSR_TRY(check_call(batch, input, limits));
    dcsr_i_batches *b = &input->batches;
    const double start = now(), give_up = limits->wait ? start + limits->wait : 0;
    if (!b->begun) b->last = start, b->newest = -INFINITY;
    b->begun = true;
    b->rows = limits->rows;
    b->cols = limits->cols;
    for (bool paused = false;;) {
        const uint64_t there = b->whole ? b->coo.nnz - b->waiting.first : b->waiting.count - b->waiting.first;
        uint64_t most = limits->most;
        if (limits->until && there && !b->whole) {
            const uint64_t before = entries_until(&b->waiting, limits->until);
            if (before && before < there && before < most) most = before;
        }
        const double due = limits->every ? b->last + limits->every : 0, time = now();
        const bool complete = there >= most || b->finished || b->event || (there && due && time >= due);
        if (complete && b->failure && !there) return dcsr_i_fail(b->failure, "%s", b->reason);
        if (complete || paused || (give_up && time >= give_up)) {
            if (complete) hand_out(batch, input, there, most);
            return DCSR_OK;
        }
        DCSR_TRY(fill(input, give_up, due, &paused));
    }
}
