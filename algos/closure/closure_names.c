/* closure_names.c: texts by number, and lines of files. */
#include "algos/closure/closure_names.h"
#include <errno.h>
#include <string.h>

/* ---- Names ---- */

static uint32_t slot_of(const dcsr_i_names *names, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *c = name; *c; c++) hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
    uint32_t slot = (uint32_t)(hash >> 32) & (names->slots - 1);
    while (names->slot[slot] && strcmp(dcsr_i_name(names, names->slot[slot] - 1), name))
        slot = (slot + 1) & (names->slots - 1);
    return slot;
}

uint32_t dcsr_i_names_find(const dcsr_i_names *names, const char *name)
{
    return names->slots ? names->slot[slot_of(names, name)] - 1 : DCSR_I_NO_NAME;
}

static dcsr_status make_room(dcsr_i_names *names, dcsr_i_work *memory, uint64_t length)
{
    if (names->length + length > names->room) {
        const uint64_t room = 2 * names->room + length + 256;
        DCSR_I_WORK_TRY(dcsr_i_work_grow(memory, &names->text, names->length, room, 1, "names"));
        names->room = room;
    }
    if (names->count == names->most) {
        const uint32_t most = 2 * names->most + 16;
        DCSR_I_WORK_TRY(
            dcsr_i_work_grow(memory, &names->begin, names->count, most, sizeof *names->begin, "names"));
        names->most = most;
    }
    if (2 * (names->count + 1) > names->slots) {
        const uint32_t slots = names->slots ? 2 * names->slots : 64;
        uint32_t *slot;
        DCSR_I_WORK_TRY(dcsr_i_work_take(memory, &slot, slots, sizeof *slot, "names"));
        if (names->slots) dcsr_i_work_drop(memory, names->slot);
        names->slot = slot;
        names->slots = slots;
        for (uint32_t k = 0; k < names->count; k++)
            names->slot[slot_of(names, dcsr_i_name(names, k))] = k + 1;
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_names_add(dcsr_i_names *names, dcsr_i_work *memory, const char *name, uint32_t *number)
{
    const uint64_t length = strlen(name) + 1;
    *number = dcsr_i_names_find(names, name);
    if (*number != DCSR_I_NO_NAME) return DCSR_OK;
    DCSR_I_WORK_TRY(make_room(names, memory, length));
    memcpy(names->text + names->length, name, length);
    names->begin[names->count] = names->length;
    names->length += length;
    /* The name has to be there when its slot is looked for, but is found only when the slot has it. */
    names->slot[slot_of(names, name)] = names->count + 1;
    *number = names->count++;
    return DCSR_OK;
}

bool dcsr_i_is_family(const char *name)
{
    const size_t length = strlen(name);
    return length > 2 && !strcmp(name + length - 2, "_i");
}

int dcsr_i_split(char *line, char separator, char **word, int most)
{
    int count = 0;
    if (separator) {
        for (char *at = *line ? line : NULL; at; count++) {
            if (count < most) word[count] = at;
            at = strchr(at, separator);
            if (at) *at++ = '\0';
        }
        return count;
    }
    char *rest;
    for (char *at = strtok_r(line, " \t", &rest); at; at = strtok_r(NULL, " \t", &rest)) {
        if (count < most) word[count] = at;
        count++;
    }
    return count;
}

/* ---- Lines ---- */

static dcsr_status fail_io(const dcsr_i_text_lines *lines)
{
    int code = 0;
    const char *why = lines->file ? gzerror(lines->file, &code) : strerror(errno);
    if (code == Z_ERRNO) why = strerror(errno);
    return dcsr_thread_fail(DCSR_ERROR_IO, "%s: cannot read it: %s", lines->name, why);
}

dcsr_status dcsr_i_lines_open(dcsr_i_text_lines *lines, const char *path)
{
    *lines = (dcsr_i_text_lines){.name = path, .file = gzopen(path, "rb")};
    if (!lines->file) return fail_io(lines);
    gzbuffer(lines->file, 1 << 17);
    return DCSR_OK;
}

/* The next line of the text. False behind its end. */
static bool next_of_text(dcsr_i_text_lines *lines, size_t *length)
{
    if (!*lines->text) return false;
    const size_t whole = strcspn(lines->text, "\n");
    *length = whole < sizeof lines->line - 1 ? whole : sizeof lines->line - 1;
    memcpy(lines->line, lines->text, *length);
    lines->line[*length] = '\0';
    lines->text += whole + (lines->text[whole] == '\n');
    return true;
}

dcsr_status dcsr_i_lines_next(dcsr_i_text_lines *lines, bool *more)
{
    size_t length = 0;
    if (lines->file) {
        *more = gzgets(lines->file, lines->line, sizeof lines->line) != NULL;
        int code = Z_OK;
        if (!*more) gzerror(lines->file, &code);
        if (code != Z_OK && code != Z_STREAM_END) return fail_io(lines);
        if (*more) length = strlen(lines->line);
    } else {
        *more = next_of_text(lines, &length);
    }
    lines->number++;
    if (!*more) return DCSR_OK;
    if (length == sizeof lines->line - 1)
        return DCSR_I_LINES_FAIL(lines, "the line has more than %d characters", (int)sizeof lines->line - 2);
    while (length && (lines->line[length - 1] == '\n' || lines->line[length - 1] == '\r'))
        lines->line[--length] = '\0';
    return DCSR_OK;
}

void dcsr_i_lines_close(dcsr_i_text_lines *lines)
{
    if (lines->file) gzclose(lines->file);
    lines->file = NULL;
}
