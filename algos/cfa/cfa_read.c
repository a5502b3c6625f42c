/* cfa_read.c: the text of a Scheme program becomes lists and atoms, with the position of each. Nesting is kept in an
 * array, so that its depth is bounded by memory alone. */
#include "algos/cfa/cfa_program.h"
#include <dcsr/extend.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Arrays, texts ---- */

void *dcsr_i_cfa_append(dcsr_cfa *cfa, dcsr_i_cfa_array *array, uint64_t n)
{
    if (cfa->status) return NULL;
    if (array->count + n > array->capacity) {
        const uint64_t capacity = 2 * (array->count + n) + 16;
        void *items = dcsr_context_allocate(cfa->context, capacity, array->size);
        if (!items) {
            cfa->status = DCSR_ERROR_OUT_OF_MEMORY;
            return NULL;
        }
        if (array->count) memcpy(items, array->items, array->count * array->size);
        dcsr_context_free(cfa->context, array->items, array->capacity, array->size);
        array->items = items;
        array->capacity = capacity;
    }
    void *first = (char *)array->items + array->count * array->size;
    memset(first, 0, n * array->size);
    array->count += n;
    return first;
}

dcsr_status dcsr_i_cfa_wrong(dcsr_cfa *cfa, dcsr_i_cfa_position at, const char *format, ...)
{
    if (cfa->status) return cfa->status;
    char what[400];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    const uint32_t file = *DCSR_I_CFA_AT(cfa->files, uint32_t, at.file);
    return cfa->status = dcsr_thread_fail(DCSR_ERROR_FORMAT, "%s:%u:%u: %s", dcsr_i_cfa_text(cfa, file),
                                          at.line, at.column, what);
}

const char *dcsr_i_cfa_text(const dcsr_cfa *cfa, uint32_t symbol)
{
    return DCSR_I_CFA_AT(cfa->texts, char, DCSR_I_CFA_AT(cfa->symbols, dcsr_i_cfa_symbol, symbol)->text);
}

/* FNV-1a. */
static uint32_t hash_of(const char *text, uint64_t length)
{
    uint32_t hash = 2166136261u;
    for (uint64_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

/* Twice as many slots as there are symbols at least. */
static bool grow_slots(dcsr_cfa *cfa)
{
    dcsr_i_cfa_array slots = {.size = sizeof(uint32_t)};
    uint64_t count = 64;
    while (count < 4 * cfa->symbols.count) count *= 2;
    if (!dcsr_i_cfa_append(cfa, &slots, count)) return false;
    for (uint32_t s = 1; s < cfa->symbols.count; s++) {
        uint64_t at = DCSR_I_CFA_AT(cfa->symbols, dcsr_i_cfa_symbol, s)->hash & (count - 1);
        while (*DCSR_I_CFA_AT(slots, uint32_t, at)) at = (at + 1) & (count - 1);
        *DCSR_I_CFA_AT(slots, uint32_t, at) = s;
    }
    dcsr_context_free(cfa->context, cfa->slots.items, cfa->slots.capacity, cfa->slots.size);
    cfa->slots = slots;
    return true;
}

uint32_t dcsr_i_cfa_intern(dcsr_cfa *cfa, const char *text, uint64_t length)
{
    if (2 * (cfa->symbols.count + 1) > cfa->slots.count && !grow_slots(cfa)) return 0;
    const uint32_t hash = hash_of(text, length);
    const uint64_t mask = cfa->slots.count - 1;
    uint64_t at = hash & mask;
    for (uint32_t s; (s = *DCSR_I_CFA_AT(cfa->slots, uint32_t, at)); at = (at + 1) & mask) {
        const dcsr_i_cfa_symbol *symbol = DCSR_I_CFA_AT(cfa->symbols, dcsr_i_cfa_symbol, s);
        if (symbol->hash == hash && symbol->length == length &&
            !memcmp(dcsr_i_cfa_text(cfa, s), text, length))
            return s;
    }
    const uint64_t begin = cfa->texts.count;
    char *copy = dcsr_i_cfa_append(cfa, &cfa->texts, length + 1);
    dcsr_i_cfa_symbol *symbol = dcsr_i_cfa_append(cfa, &cfa->symbols, 1);
    if (!copy || !symbol) return 0;
    memcpy(copy, text, length);
    *symbol = (dcsr_i_cfa_symbol){.text = begin, .length = (uint32_t)length, .hash = hash};
    return *DCSR_I_CFA_AT(cfa->slots, uint32_t, at) = (uint32_t)cfa->symbols.count - 1;
}

/* ---- Reading ---- */

/* A list that is open: its node and its last element so far, 0: none; what closes it. */
typedef struct open_list {
    uint32_t node, last;
    char closes;
} open_list;

typedef struct reader {
    dcsr_cfa *cfa;
    const char *text, *end, *line_begin;
    uint32_t file, line;
    unsigned comments;     /* #; inside of what #; has skipped */
    dcsr_i_cfa_array open; /* the first is the whole text */
} reader;

static dcsr_i_cfa_position here(const reader *r)
{
    return (dcsr_i_cfa_position){r->file, r->line, (uint32_t)(r->text - r->line_begin) + 1};
}

/* Goes on by n characters. */
static void pass(reader *r, uint64_t n)
{
    for (; n && r->text < r->end; n--)
        if (*r->text++ == '\n') {
            r->line++;
            r->line_begin = r->text;
        }
}

static bool begins_with(const reader *r, const char *what)
{
    const size_t length = strlen(what);
    return (size_t)(r->end - r->text) >= length && !memcmp(r->text, what, length);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* What ends a symbol or a number. */
static bool is_delimiter(char c)
{
    return is_blank(c) || (c && strchr("()[]\";'`,", c));
}

/* From #| to |#, which nest. */
static dcsr_status skip_comment(reader *r)
{
    const dcsr_i_cfa_position began = here(r);
    uint64_t depth = 0;
    do {
        const bool begins = begins_with(r, "#|"), ends = begins_with(r, "|#");
        if (r->text == r->end)
            return dcsr_i_cfa_wrong(r->cfa, began, "the comment that begins here has no end; expected |#");
        depth += begins;
        depth -= ends;
        pass(r, begins || ends ? 2 : 1);
    } while (depth);
    return DCSR_OK;
}

static dcsr_status skip_datum(reader *r);

/* The datum behind #; */
static dcsr_status skip_commented(reader *r)
{
    enum { DEEPEST = 100 };
    if (++r->comments > DEEPEST)
        return dcsr_i_cfa_wrong(r->cfa, here(r), "comments by #; are nested deeper than %d", DEEPEST);
    pass(r, 2);
    skip_datum(r);
    r->comments--;
    return r->cfa->status;
}

/* Blanks and comments: from ; to the end of the line, from #| to |#, and the datum behind #; */
static dcsr_status skip_blanks(reader *r)
{
    while (r->text < r->end) {
        if (is_blank(*r->text)) {
            pass(r, 1);
        } else if (*r->text == ';') {
            while (r->text < r->end && *r->text != '\n') pass(r, 1);
        } else if (begins_with(r, "#|")) {
            if (skip_comment(r)) return r->cfa->status;
        } else if (begins_with(r, "#;")) {
            if (skip_commented(r)) return r->cfa->status;
        } else {
            break;
        }
    }
    return r->cfa->status;
}

/* A string, a character, a symbol or a number. */
static dcsr_status skip_atom(reader *r)
{
    const dcsr_i_cfa_position began = here(r);
    if (*r->text == '"') {
        do pass(r, *r->text == '\\' ? 2 : 1);
        while (r->text < r->end && *r->text != '"');
        if (r->text == r->end)
            return dcsr_i_cfa_wrong(r->cfa, began, "the string that begins here has no end; expected \"");
        pass(r, 1);
        return DCSR_OK;
    }
    if (begins_with(r, "#\\")) pass(r, 3);
    while (r->text < r->end && !is_delimiter(*r->text)) pass(r, 1);
    return DCSR_OK;
}

static char closing(char c)
{
    return c == '(' ? ')' : ']';
}

/* One datum of any kind, which need not be understood. */
static dcsr_status skip_datum(reader *r)
{
    const dcsr_i_cfa_position began = here(r);
    dcsr_i_cfa_array open = {.size = 1};
    bool stands_before; /* a quote, say, which is complete with what follows */
    do {
        stands_before = false;
        if (skip_blanks(r)) break;
        if (r->text == r->end) {
            dcsr_i_cfa_wrong(r->cfa, began, "the text ends here; expected what is quoted");
        } else if (*r->text == '(' || *r->text == '[') {
            char *closes = dcsr_i_cfa_append(r->cfa, &open, 1);
            if (closes) *closes = closing(*r->text);
            pass(r, 1);
        } else if (*r->text == ')' || *r->text == ']') {
            const char closes = open.count ? *DCSR_I_CFA_AT(open, char, open.count - 1) : 0;
            if (*r->text != closes)
                dcsr_i_cfa_wrong(r->cfa, here(r),
                                 closes ? "'%c' does not match; expected '%c'" : "unexpected '%c'", *r->text,
                                 closes);
            else
                open.count--;
            pass(r, 1);
        } else if ((*r->text && strchr("'`,", *r->text)) || begins_with(r, "#(")) {
            pass(r, 1);
            stands_before = true;
        } else {
            skip_atom(r);
        }
    } while (!r->cfa->status && (open.count || stands_before));
    dcsr_context_free(r->cfa->context, open.items, open.capacity, open.size);
    return r->cfa->status;
}

/* Another element of the innermost list that is open. */
static uint32_t add_node(reader *r, dcsr_i_cfa_node node)
{
    dcsr_i_cfa_node *added = dcsr_i_cfa_append(r->cfa, &r->cfa->nodes, 1);
    if (!added) return 0;
    *added = node;
    const uint32_t number = (uint32_t)r->cfa->nodes.count - 1;
    open_list *list = DCSR_I_CFA_AT(r->open, open_list, r->open.count - 1);
    if (list->last)
        DCSR_I_CFA_AT(r->cfa->nodes, dcsr_i_cfa_node, list->last)->next = number;
    else
        DCSR_I_CFA_AT(r->cfa->nodes, dcsr_i_cfa_node, list->node)->first = number;
    return list->last = number;
}

static void open_a_list(reader *r)
{
    const uint32_t node = add_node(r, (dcsr_i_cfa_node){.at = here(r), .kind = DCSR_I_CFA_LIST});
    open_list *list = dcsr_i_cfa_append(r->cfa, &r->open, 1);
    if (list) *list = (open_list){.node = node, .closes = closing(*r->text)};
    pass(r, 1);
}

static void close_a_list(reader *r)
{
    const char closes = DCSR_I_CFA_AT(r->open, open_list, r->open.count - 1)->closes;
    if (!closes)
        dcsr_i_cfa_wrong(r->cfa, here(r), "'%c' closes nothing; expected an expression", *r->text);
    else if (*r->text != closes)
        dcsr_i_cfa_wrong(r->cfa, here(r), "'%c' does not match; expected '%c'", *r->text, closes);
    r->open.count--;
    pass(r, 1);
}

/* What stands from `begin` on as a literal. */
static void add_literal(reader *r, dcsr_i_cfa_position at, const char *begin)
{
    const uint32_t symbol = dcsr_i_cfa_intern(r->cfa, begin, (uint64_t)(r->text - begin));
    add_node(r, (dcsr_i_cfa_node){.at = at, .kind = DCSR_I_CFA_LITERAL, .symbol = symbol});
}

static void add_quoted(reader *r, dcsr_i_cfa_position at, bool in_list)
{
    if (skip_blanks(r)) return;
    const char *begin = r->text;
    if (skip_datum(r)) return;
    add_literal(r, at, begin);
    if (!in_list || skip_blanks(r)) return;
    if (r->text == r->end || (*r->text != ')' && *r->text != ']'))
        dcsr_i_cfa_wrong(r->cfa, here(r), "quote takes one datum; expected ')'");
    pass(r, 1);
}

static bool is_number(const char *text, uint64_t length)
{
    uint64_t i = (*text == '+' || *text == '-') && length > 1;
    if (text[i] == '.' && i + 1 < length) i++;
    return text[i] >= '0' && text[i] <= '9';
}

static void add_atom(reader *r)
{
    const dcsr_i_cfa_position at = here(r);
    const char *begin = r->text;
    if (skip_atom(r)) return;
    const uint64_t length = (uint64_t)(r->text - begin);
    const bool yes = (length == 2 && !memcmp(begin, "#t", 2)) || (length == 5 && !memcmp(begin, "#true", 5)),
               no = (length == 2 && !memcmp(begin, "#f", 2)) || (length == 6 && !memcmp(begin, "#false", 6));
    if (yes || no)
        add_node(r, (dcsr_i_cfa_node){.at = at, .kind = yes ? DCSR_I_CFA_TRUE : DCSR_I_CFA_FALSE});
    else if (*begin == '"' || (*begin == '#' && length > 1 && begin[1] == '\\') || is_number(begin, length))
        add_literal(r, at, begin);
    else if (*begin == '#')
        dcsr_i_cfa_wrong(r->cfa, at, "%.*s is not understood; quote data", (int)(length < 40 ? length : 40),
                         begin);
    else
        add_node(r, (dcsr_i_cfa_node){.at = at,
                                      .kind = DCSR_I_CFA_SYMBOL,
                                      .symbol = dcsr_i_cfa_intern(r->cfa, begin, length)});
}

/* Whether the list that begins here is (quote ...). */
static bool is_quotation(const reader *r)
{
    static const char word[] = "quote";
    const size_t length = sizeof word - 1;
    return (size_t)(r->end - r->text) > length + 1 && !memcmp(r->text + 1, word, length) &&
           is_delimiter(r->text[length + 1]);
}

static void read_next(reader *r)
{
    const dcsr_i_cfa_position at = here(r);
    const char c = *r->text;
    if (c == ')' || c == ']') {
        close_a_list(r);
    } else if ((c == '(' || c == '[') && is_quotation(r)) {
        pass(r, 6);
        add_quoted(r, at, true);
    } else if (c == '(' || c == '[') {
        open_a_list(r);
    } else if (c == '\'') {
        pass(r, 1);
        add_quoted(r, at, false);
    } else if (c == '`' || c == ',') {
        dcsr_i_cfa_wrong(r->cfa, at, "'%c' is not known here; build lists with cons and list", c);
    } else {
        add_atom(r);
    }
}

dcsr_status dcsr_i_cfa_read(dcsr_cfa *cfa, uint32_t file, const char *text, size_t length, uint32_t *first)
{
    reader r = {.cfa = cfa,
                .text = text,
                .end = text + length,
                .line_begin = text,
                .file = file,
                .line = 1,
                .open = {.size = sizeof(open_list)}};
    dcsr_i_cfa_node *whole = dcsr_i_cfa_append(cfa, &cfa->nodes, 1);
    const uint32_t number = (uint32_t)cfa->nodes.count - 1;
    if (whole) *whole = (dcsr_i_cfa_node){.at = {file, 1, 1}, .kind = DCSR_I_CFA_LIST};
    open_list *list = dcsr_i_cfa_append(cfa, &r.open, 1);
    if (list) *list = (open_list){.node = number};
    while (!cfa->status && !skip_blanks(&r) && r.text < r.end) read_next(&r);
    if (!cfa->status && r.open.count > 1) {
        list = DCSR_I_CFA_AT(r.open, open_list, r.open.count - 1);
        dcsr_i_cfa_wrong(cfa, DCSR_I_CFA_AT(cfa->nodes, dcsr_i_cfa_node, list->node)->at,
                         "the list that begins here is not closed; expected '%c'", list->closes);
    }
    if (!cfa->status) *first = DCSR_I_CFA_AT(cfa->nodes, dcsr_i_cfa_node, number)->first;
    dcsr_context_free(cfa->context, r.open.items, r.open.capacity, r.open.size);
    return cfa->status;
}
