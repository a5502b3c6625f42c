/* cfa_report.c: the solution as text. */
#include "algos/cfa/cfa_solution.h"
#include <dcsr/extend.h>
#include <dcsr/reader.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct report {
    dcsr_cfa *cfa;
    dcsr_i_cfa_array text, row, edges;
} report;

static const dcsr_i_cfa_value *value_at(const report *r, uint32_t value)
{
    return DCSR_I_CFA_AT(r->cfa->values, dcsr_i_cfa_value, value);
}
static const dcsr_i_cfa_address *address_at(const report *r, uint32_t address)
{
    return DCSR_I_CFA_AT(r->cfa->addresses, dcsr_i_cfa_address, address);
}

static void put(report *r, const char *text)
{
    const size_t length = strlen(text);
    char *to = dcsr_i_cfa_append(r->cfa, &r->text, length);
    if (to) memcpy(to, text, length);
}

static void put_number(report *r, const char *before, uint32_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%s%u", before, number);
    put(r, text);
}

/* FILE:LINE:COLUMN; nothing for what stands nowhere. */
static void put_position(report *r, dcsr_i_cfa_position at)
{
    if (!at.line) return;
    put(r, dcsr_i_cfa_text(r->cfa, *DCSR_I_CFA_AT(r->cfa->files, uint32_t, at.file)));
    put_number(r, ":", at.line);
    put_number(r, ":", at.column);
}

/* A text of the program, with what would break a line or a field left out. */
static void put_text(report *r, uint32_t symbol)
{
    const char *text = dcsr_i_cfa_text(r->cfa, symbol);
    for (; *text; text++) {
        const char character[] = {*text == '\n' || *text == '\t' || *text == '\r' ? ' ' : *text, 0};
        put(r, character);
    }
}

static void put_value(report *r, uint32_t number)
{
    const dcsr_i_cfa_value *value = value_at(r, number);
    if (value->symbol)
        put_text(r, value->symbol);
    else
        put(r, value->is_written ? "lambda" : "continuation");
    if (value->kind != DCSR_I_CFA_LAMBDA) return;
    put(r, " ");
    put_position(r, value->at);
}

static int compare_values(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* What may be at an address, in order. */
static const uint32_t *sorted_row(report *r, uint32_t address, uint64_t *n)
{
    dcsr_i_cfa_row(r->cfa, address, &r->row, n);
    if (*n) qsort(r->row.items, *n, sizeof(uint32_t), compare_values);
    return r->row.items;
}

/* What is called, as it is written. */
static void put_called(report *r, uint32_t address)
{
    const dcsr_i_cfa_address *is = address_at(r, address);
    if (is->is_value)
        put_value(r, is->value);
    else if (is->symbol)
        put_text(r, is->symbol);
    else
        put(r, "a result");
}

/* ---- Files ---- */

static dcsr_status open_report(report *r, dcsr_cfa *cfa, const char *call, const char *path)
{
    *r = (report){.cfa = cfa, .text.size = 1, .row.size = sizeof(uint32_t), .edges.size = sizeof(uint64_t)};
    if (!cfa || !path)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call, cfa ? "path" : "cfa");
    if (!cfa->solution || cfa->solution->again || cfa->solution->values < cfa->values.count)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "%s: what was added is not solved for; call dcsr_cfa_solve() first", call);
    return DCSR_OK;
}

static dcsr_status close_report(report *r, const char *path)
{
    dcsr_status status = r->cfa->status;
    r->cfa->status = DCSR_OK;
    if (!status)
        status = dcsr_file_write(r->cfa->context, path, r->text.count ? r->text.items : "", r->text.count);
    dcsr_i_cfa_array *const arrays[] = {&r->text, &r->row, &r->edges};
    for (int a = 0; a < 3; a++)
        dcsr_context_free(r->cfa->context, arrays[a]->items, arrays[a]->capacity, arrays[a]->size);
    return status;
}

/* Calls visit() for each call of the text that may be run, and each function of the text that it may be of;
 * NO_FUNCTION once for a call of none. */
#define NO_FUNCTION UINT32_MAX
static void for_calls(report *r, void (*visit)(report *r, const dcsr_i_cfa_state *call, uint32_t function))
{
    dcsr_cfa *cfa = r->cfa;
    for (uint64_t s = 0; s < cfa->states.count && !cfa->status; s++) {
        const dcsr_i_cfa_state *state = DCSR_I_CFA_AT(cfa->states, dcsr_i_cfa_state, s);
        if (state->kind != DCSR_I_CFA_CALL || !state->is_written ||
            !*DCSR_I_CFA_AT(cfa->solution->is_reached, char, s))
            continue;
        uint64_t n, functions = 0;
        const uint32_t *values = sorted_row(r, state->function, &n);
        for (uint64_t i = 0; i < n; i++) {
            const dcsr_i_cfa_value *value = value_at(r, values[i]);
            if (value->kind != DCSR_I_CFA_LAMBDA || value->count != state->count || !value->is_written)
                continue;
            visit(r, state, values[i]);
            functions++;
        }
        if (!functions) visit(r, state, NO_FUNCTION);
    }
}

static void put_call(report *r, const dcsr_i_cfa_state *call, uint32_t function)
{
    put_position(r, call->at);
    put(r, "\t");
    put_called(r, call->function);
    put(r, "\t");
    if (function == NO_FUNCTION)
        put(r, "no function of the program");
    else
        put_value(r, function);
    put(r, "\n");
}

dcsr_status dcsr_cfa_write_calls(dcsr_cfa *cfa, const char *path)
{
    report r;
    const dcsr_status status = open_report(&r, cfa, "dcsr_cfa_write_calls", path);
    if (status) return status;
    for_calls(&r, put_call);
    return close_report(&r, path);
}

dcsr_status dcsr_cfa_write_flows(dcsr_cfa *cfa, const char *path)
{
    report r;
    const dcsr_status status = open_report(&r, cfa, "dcsr_cfa_write_flows", path);
    if (status) return status;
    for (uint32_t a = 0; a < cfa->addresses.count && !cfa->status; a++) {
        const dcsr_i_cfa_address *address = address_at(&r, a);
        uint64_t n;
        if (address->is_value || !address->symbol) continue;
        const uint32_t *values = sorted_row(&r, a, &n);
        for (uint64_t i = 0; i < n; i++) {
            put_text(&r, address->symbol);
            put(&r, " ");
            put_position(&r, address->at);
            put(&r, "\t");
            put_value(&r, values[i]);
            put(&r, "\n");
        }
    }
    return close_report(&r, path);
}

/* ---- The call graph ---- */

static void note_edge(report *r, const dcsr_i_cfa_state *call, uint32_t function)
{
    if (function == NO_FUNCTION) return;
    uint64_t *edge = dcsr_i_cfa_append(r->cfa, &r->edges, 1);
    if (edge) *edge = (uint64_t)call->inside << 32 | (function + 1);
}

static int compare_edges(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* A function as a node of the graph; 0 is the program itself. */
static void put_node(report *r, uint32_t number)
{
    put(r, "\"");
    if (number) {
        const uint64_t from = r->text.count;
        put_value(r, number - 1);
        for (uint64_t i = from; i < r->text.count; i++) {
            char *c = DCSR_I_CFA_AT(r->text, char, i);
            if (*c == '"' || *c == '\\') *c = '\'';
        }
    } else {
        put(r, "program");
    }
    put(r, "\"");
}

dcsr_status dcsr_cfa_write_dot(dcsr_cfa *cfa, const char *path)
{
    report r;
    const dcsr_status status = open_report(&r, cfa, "dcsr_cfa_write_dot", path);
    if (status) return status;
    for_calls(&r, note_edge);
    if (r.edges.count) qsort(r.edges.items, r.edges.count, sizeof(uint64_t), compare_edges);
    put(&r, "digraph calls {\n");
    uint64_t last = 0;
    for (uint64_t e = 0; e < r.edges.count && !cfa->status; e++) {
        const uint64_t edge = *DCSR_I_CFA_AT(r.edges, uint64_t, e);
        if (edge == last) continue;
        last = edge;
        put(&r, "    ");
        put_node(&r, (uint32_t)(edge >> 32));
        put(&r, " -> ");
        put_node(&r, (uint32_t)edge);
        put(&r, ";\n");
    }
    put(&r, "}\n");
    return close_report(&r, path);
}
