/* grammar.c: grammars, read line by line. */
#include "algos/closure/cfl_data.h"
#include <string.h>

uint32_t dcsr_i_nonterminal_of(const dcsr_grammar *grammar, uint32_t symbol)
{
    for (uint32_t k = 0; k < grammar->nonterminals; k++)
        if (grammar->nonterminal[k] == symbol) return k;
    return DCSR_I_NO_NAME;
}

static dcsr_status add_production(dcsr_grammar *g, const dcsr_i_text_lines *lines, char **word, int words)
{
    dcsr_i_production p = {.right = {DCSR_I_NO_NAME, DCSR_I_NO_NAME}, .line = lines->number};
    if (words > 3)
        return DCSR_I_LINES_FAIL(
            lines,
            "the right side of %s has %d symbols, at most 2 are possible; give the rest a "
            "nonterminal of their own",
            word[0], words - 1);
    if (g->productions == g->room) {
        const uint64_t room = 2 * g->room + 16;
        DCSR_I_WORK_TRY(dcsr_i_work_grow(&g->memory, &g->production, g->productions, room,
                                         sizeof *g->production, "productions"));
        /* There are no more nonterminals than productions. */
        DCSR_I_WORK_TRY(dcsr_i_work_grow(&g->memory, &g->nonterminal, g->nonterminals, room,
                                         sizeof *g->nonterminal, "productions"));
        g->room = room;
    }
    DCSR_I_WORK_TRY(dcsr_i_names_add(&g->names, &g->memory, word[0], &p.left));
    for (int w = 1; w < words; w++)
        DCSR_I_WORK_TRY(dcsr_i_names_add(&g->names, &g->memory, word[w], &p.right[w - 1]));
    if (dcsr_i_nonterminal_of(g, p.left) == DCSR_I_NO_NAME) g->nonterminal[g->nonterminals++] = p.left;
    g->production[g->productions++] = p;
    return DCSR_OK;
}

/* Behind `Count:` there is one line, with a left side. */
static dcsr_status take_counted(dcsr_grammar *g, const dcsr_i_text_lines *lines, char **word, int words)
{
    if (words != 1)
        return DCSR_I_LINES_FAIL(lines, "behind Count: there are %d symbols; it is one nonterminal", words);
    const uint32_t symbol = dcsr_i_names_find(&g->names, word[0]);
    if (symbol != DCSR_I_NO_NAME) g->counted = dcsr_i_nonterminal_of(g, symbol);
    if (symbol == DCSR_I_NO_NAME || g->counted == DCSR_I_NO_NAME)
        return DCSR_I_LINES_FAIL(lines,
                                 "nothing produces %s, which is to be counted: it is the left side of no "
                                 "production",
                                 word[0]);
    return DCSR_OK;
}

static dcsr_status parse(dcsr_grammar *g, dcsr_i_text_lines *lines)
{
    enum { PRODUCTIONS, COUNT, END } part = PRODUCTIONS;
    char *word[3];
    bool more;
    for (;;) {
        DCSR_I_WORK_TRY(dcsr_i_lines_next(lines, &more));
        if (!more) break;
        const int words = dcsr_i_split(lines->line, 0, word, 3);
        if (!words || *word[0] == '#') continue;
        if (part == END)
            return DCSR_I_LINES_FAIL(lines, "%s stands behind what is to be counted, which is the end",
                                     word[0]);
        if (part == COUNT) {
            DCSR_I_WORK_TRY(take_counted(g, lines, word, words));
            part = END;
        } else if (!strcmp(word[0], "Count:")) {
            part = COUNT;
            if (words > 1)
                return DCSR_I_LINES_FAIL(lines, "%s stands behind Count:; it has a line of its own", word[1]);
        } else {
            DCSR_I_WORK_TRY(add_production(g, lines, word, words));
        }
    }
    if (part == COUNT)
        return DCSR_I_LINES_FAIL(lines, "the file ends behind Count:; %s", "a nonterminal follows it");
    if (!g->productions)
        return DCSR_I_LINES_FAIL(lines, "there is no production; one is a line like %s", "`S a b`");
    return DCSR_OK;
}

static dcsr_status make(dcsr_grammar **grammar, dcsr_context *context, dcsr_i_text_lines *lines)
{
    uint32_t number;
    dcsr_grammar *g = dcsr_context_allocate(context, 1, sizeof *g);
    if (!g) return dcsr_thread_status();
    dcsr_i_work_begin(&g->memory, "dcsr_grammar_read", context, 0);
    dcsr_status status = dcsr_i_names_add(&g->source, &g->memory, lines->name, &number);
    if (!status) status = parse(g, lines);
    if (status)
        dcsr_grammar_destroy(g);
    else
        *grammar = g;
    return status;
}

dcsr_status dcsr_grammar_read(dcsr_grammar **grammar, dcsr_context *context, const char *path)
{
    dcsr_i_text_lines lines;
    if (grammar) *grammar = NULL;
    if (!grammar || !path)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_grammar_read: %s is NULL",
                                grammar ? "path" : "grammar");
    DCSR_I_WORK_TRY(dcsr_i_lines_open(&lines, path));
    const dcsr_status status = make(grammar, context, &lines);
    dcsr_i_lines_close(&lines);
    return status;
}

dcsr_status dcsr_grammar_parse(dcsr_grammar **grammar, dcsr_context *context, const char *name,
                               const char *text)
{
    if (grammar) *grammar = NULL;
    if (!grammar || !name || !text)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_grammar_parse: %s is NULL",
                                !grammar ? "grammar"
                                : name   ? "text"
                                         : "name");
    dcsr_i_text_lines lines = {.name = name, .text = text};
    return make(grammar, context, &lines);
}

void dcsr_grammar_destroy(dcsr_grammar *grammar)
{
    if (!grammar) return;
    dcsr_context *context = grammar->memory.context;
    dcsr_i_work_end(&grammar->memory);
    dcsr_context_free(context, grammar, 1, sizeof *grammar);
}

const char *dcsr_grammar_nonterminal_at(const dcsr_grammar *grammar, uint32_t number)
{
    if (!grammar || number >= grammar->nonterminals) return NULL;
    return dcsr_i_name(&grammar->names, grammar->nonterminal[number]);
}

dcsr_status dcsr_grammar_get_counted(const dcsr_grammar *grammar, uint32_t *counted)
{
    if (!grammar || !counted)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_grammar_get_counted: %s is NULL",
                                grammar ? "counted" : "grammar");
    *counted = grammar->counted;
    return DCSR_OK;
}
