/* cfa.c: the public calls of control-flow analysis that make it and add code to it. */
#include "algos/cfa/cfa_solution.h"
#include <dcsr/extend.h>
#include <dcsr/reader.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Life ---- */

static void set_sizes(dcsr_cfa *cfa)
{
    cfa->files.size = cfa->slots.size = cfa->arguments.size = cfa->unbound.size = sizeof(uint32_t);
    cfa->texts.size = 1;
    cfa->symbols.size = sizeof(dcsr_i_cfa_symbol);
    cfa->nodes.size = sizeof(dcsr_i_cfa_node);
    cfa->states.size = sizeof(dcsr_i_cfa_state);
    cfa->values.size = sizeof(dcsr_i_cfa_value);
    cfa->addresses.size = sizeof(dcsr_i_cfa_address);
    cfa->links.size = sizeof(dcsr_i_cfa_link);
    dcsr_i_cfa_set_sizes(cfa);
}

dcsr_status dcsr_cfa_create(dcsr_cfa **cfa, dcsr_context *context)
{
    if (!cfa) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_cfa_create: cfa is NULL");
    *cfa = NULL;
    dcsr_cfa *created = dcsr_context_allocate(context, 1, sizeof *created);
    if (!created) return dcsr_thread_status();
    created->context = context;
    set_sizes(created);
    const dcsr_status status = dcsr_i_cfa_begin(created);
    if (status)
        dcsr_cfa_destroy(created);
    else
        *cfa = created;
    return status;
}

enum { ARRAYS = 14 };
static void list_arrays(dcsr_cfa *cfa, dcsr_i_cfa_array *arrays[ARRAYS])
{
    dcsr_i_cfa_array *const all[ARRAYS] = {&cfa->files,  &cfa->texts,     &cfa->symbols, &cfa->slots,
                                           &cfa->nodes,  &cfa->scopes,    &cfa->frames,  &cfa->tasks,
                                           &cfa->states, &cfa->arguments, &cfa->values,  &cfa->addresses,
                                           &cfa->links,  &cfa->unbound};
    memcpy(arrays, all, sizeof all);
}

void dcsr_cfa_destroy(dcsr_cfa *cfa)
{
    if (!cfa) return;
    dcsr_i_cfa_array *arrays[ARRAYS];
    list_arrays(cfa, arrays);
    dcsr_i_cfa_forget(cfa);
    for (int a = 0; a < ARRAYS; a++)
        dcsr_context_free(cfa->context, arrays[a]->items, arrays[a]->capacity, arrays[a]->size);
    dcsr_context_free(cfa->context, cfa, 1, sizeof *cfa);
}

/* ---- Adding code ---- */

/* What there was before: so much of each array counts; symbols forget what they have been given since. */
static void take_back(dcsr_cfa *cfa, const uint64_t counts[ARRAYS], const dcsr_cfa *before)
{
    dcsr_i_cfa_array *arrays[ARRAYS];
    list_arrays(cfa, arrays);
    for (int a = 0; a < ARRAYS; a++)
        if (arrays[a] != &cfa->texts && arrays[a] != &cfa->symbols && arrays[a] != &cfa->slots)
            arrays[a]->count = counts[a];
    for (uint64_t s = 1; s < cfa->symbols.count; s++) {
        dcsr_i_cfa_symbol *symbol = DCSR_I_CFA_AT(cfa->symbols, dcsr_i_cfa_symbol, s);
        if (symbol->global > cfa->addresses.count) symbol->global = 0;
        if (symbol->literal > cfa->values.count) symbol->literal = 0;
        if (symbol->function > cfa->values.count) symbol->function = 0;
        symbol->mark = 0;
        symbol->is_defined &= symbol->defined_by < cfa->files.count;
    }
    cfa->is_begun = before->is_begun;
    cfa->is_cps = before->is_cps;
    cfa->first = before->first;
    cfa->end = before->end;
}

dcsr_status dcsr_cfa_add_text(dcsr_cfa *cfa, const char *name, const char *text, size_t length)
{
    enum { LONGEST = 1 << 30 };
    if (!cfa || !name || (!text && length))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_cfa_add_text: %s is NULL",
                                !cfa    ? "cfa"
                                : !name ? "name"
                                        : "text");
    if (length > LONGEST || cfa->nodes.count > LONGEST)
        return dcsr_thread_fail(DCSR_ERROR_TOO_LARGE, "%s: a program has at most 2^30 bytes", name);
    dcsr_i_cfa_array *arrays[ARRAYS];
    uint64_t counts[ARRAYS];
    const dcsr_cfa before = *cfa;
    uint32_t first = 0;
    list_arrays(cfa, arrays);
    for (int a = 0; a < ARRAYS; a++) counts[a] = arrays[a]->count;
    const uint32_t symbol = dcsr_i_cfa_intern(cfa, name, strlen(name));
    uint32_t *file = dcsr_i_cfa_append(cfa, &cfa->files, 1);
    if (file) *file = symbol;
    if (!cfa->status) dcsr_i_cfa_read(cfa, (uint32_t)cfa->files.count - 1, text, length, &first);
    if (!cfa->status) dcsr_i_cfa_convert(cfa, first);
    const dcsr_status status = cfa->status;
    cfa->status = DCSR_OK;
    if (status) take_back(cfa, counts, &before);
    /* What was read is not needed any more. */
    cfa->nodes.count = counts[4];
    cfa->scopes.count = counts[5];
    cfa->frames.count = cfa->tasks.count = 0;
    return status;
}

dcsr_status dcsr_cfa_add_file(dcsr_cfa *cfa, const char *path)
{
    if (!cfa || !path)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_cfa_add_file: %s is NULL",
                                cfa ? "path" : "cfa");
    dcsr_i_cfa_array text = {.size = 1};
    FILE *file = fopen(path, "rb");
    size_t got = 0;
    if (!file) return dcsr_thread_fail(DCSR_ERROR_IO, "%s: %s", path, strerror(errno));
    do {
        enum { AT_ONCE = 1 << 16 };
        char *more = dcsr_i_cfa_append(cfa, &text, AT_ONCE);
        got = more ? fread(more, 1, AT_ONCE, file) : 0;
        if (more) text.count -= AT_ONCE - got;
    } while (got && text.count <= 1 << 30);
    dcsr_status status = cfa->status;
    cfa->status = DCSR_OK;
    if (!status && ferror(file)) status = dcsr_thread_fail(DCSR_ERROR_IO, "%s: %s", path, strerror(errno));
    fclose(file);
    if (!status) status = dcsr_cfa_add_text(cfa, path, text.items ? text.items : "", text.count);
    dcsr_context_free(cfa->context, text.items, text.capacity, 1);
    return status;
}

dcsr_status dcsr_cfa_set_progress(dcsr_cfa *cfa, dcsr_progress progress, void *user)
{
    if (!cfa) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_cfa_set_progress: cfa is NULL");
    cfa->progress = progress;
    cfa->user = user;
    return DCSR_OK;
}

dcsr_status dcsr_cfa_get_unbound(const dcsr_cfa *cfa, uint64_t which, const char **name, const char **file,
                                 uint64_t *line, uint64_t *column)
{
    if (!cfa || !name || !file || !line || !column)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_cfa_get_unbound: an argument is NULL");
    if (which >= cfa->unbound.count)
        return dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_cfa_get_unbound: %llu of %llu variables",
                                (unsigned long long)which, (unsigned long long)cfa->unbound.count);
    const uint32_t symbol = *DCSR_I_CFA_AT(cfa->unbound, uint32_t, which);
    const uint32_t address = DCSR_I_CFA_AT(cfa->symbols, dcsr_i_cfa_symbol, symbol)->global - 1;
    const dcsr_i_cfa_position at = DCSR_I_CFA_AT(cfa->addresses, dcsr_i_cfa_address, address)->at;
    *name = dcsr_i_cfa_text(cfa, symbol);
    *file = dcsr_i_cfa_text(cfa, *DCSR_I_CFA_AT(cfa->files, uint32_t, at.file));
    *line = at.line;
    *column = at.column;
    return DCSR_OK;
}
