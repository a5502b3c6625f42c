/* labelled.c: graphs whose edges have labels, from arrays, from a file, or from a folder of Souffle's facts. */
#include "algos/closure/cfl_data.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_NAME = 4096 };
/* A vertex is an index of 31 bits, and there is one more of them. */
static const uint64_t most_vertices = DCSR_MAX_COLS;

static dcsr_status make_room(dcsr_labelled *g, uint64_t more)
{
    if (g->edges + more <= g->room) return DCSR_OK;
    const uint64_t room = g->edges + more > 2 * g->room ? g->edges + more + 64 : 2 * g->room;
    DCSR_I_WORK_TRY(dcsr_i_work_grow(&g->memory, &g->edge, g->edges, room, sizeof *g->edge, "edges"));
    g->room = room;
    return DCSR_OK;
}

/* The number of a label; `family` where its edges have indices. */
static dcsr_status number_of(dcsr_labelled *g, const char *label, bool family, uint32_t *number)
{
    char name[MOST_NAME + 3];
    snprintf(name, sizeof name, "%s%s", label, family && !dcsr_i_is_family(label) ? "_i" : "");
    return dcsr_i_names_add(&g->labels, &g->memory, name, number);
}

static void put_edge(dcsr_labelled *g, uint32_t label, uint64_t from, uint64_t to, const uint64_t *index)
{
    const uint64_t larger = from > to ? from : to;
    g->edge[g->edges++] =
        (dcsr_i_labelled_edge){index ? *index : 0, (uint32_t)from, (uint32_t)to, label, index};
    g->indexed += index != NULL;
    if (larger >= g->vertices) g->vertices = larger + 1;
}

dcsr_status dcsr_labelled_create(dcsr_labelled **graph, dcsr_context *context)
{
    if (!graph) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_labelled_create: graph is NULL");
    *graph = dcsr_context_allocate(context, 1, sizeof **graph);
    if (!*graph) return dcsr_thread_status();
    dcsr_i_work_begin(&(*graph)->memory, "dcsr_labelled", context, 0);
    return DCSR_OK;
}

void dcsr_labelled_destroy(dcsr_labelled *graph)
{
    if (!graph) return;
    dcsr_context *context = graph->memory.context;
    dcsr_i_work_end(&graph->memory);
    dcsr_context_free(context, graph, 1, sizeof *graph);
}

dcsr_status dcsr_labelled_insert(dcsr_labelled *graph, const char *label, uint64_t n, const uint64_t *from,
                                 const uint64_t *to, const uint64_t *indices)
{
    static const char call[] = "dcsr_labelled_insert";
    uint32_t number;
    if (!graph || !label || (n && (!from || !to)))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: graph, label or an array is NULL", call);
    if (!*label || strpbrk(label, " \t\r\n") || strlen(label) > MOST_NAME)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "%s: '%s' is no label: it is empty, long, or has blanks", call, label);
    if (!indices && dcsr_i_is_family(label))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is a family, whose edges have indices",
                                call, label);
    for (uint64_t k = 0; k < n; k++)
        if (from[k] >= most_vertices || to[k] >= most_vertices)
            return dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                                    "%s: edge %llu is (%llu, %llu); vertices are below "
                                    "2^31",
                                    call, (unsigned long long)k, (unsigned long long)from[k],
                                    (unsigned long long)to[k]);
    DCSR_I_WORK_TRY(number_of(graph, label, indices, &number));
    DCSR_I_WORK_TRY(make_room(graph, n));
    for (uint64_t k = 0; k < n; k++) put_edge(graph, number, from[k], to[k], indices ? &indices[k] : NULL);
    return DCSR_OK;
}

/* ---- Files ---- */

/* A whole number of decimal digits, below `limit`. */
static dcsr_status take_number(const dcsr_i_text_lines *lines, const char *word, const char *what,
                               uint64_t limit, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(word, &end, 10);
    if (*word >= '0' && *word <= '9' && !*end && !errno && *number < limit) return DCSR_OK;
    return DCSR_I_LINES_FAIL(lines, "'%s' is no %s: that is a whole number from 0 to %llu", word, what,
                             (unsigned long long)limit - 1);
}

/* What the lines of a graph become. */
typedef struct reading {
    dcsr_labelled *graph;
    dcsr_names *vertices; /* NULL: they are numbers, and so are indices */
    dcsr_i_names indices;
} reading;

/* Where there are names, those of both ends, and perhaps that of the index. */
static dcsr_status take_names(reading *r, const dcsr_i_text_lines *lines, char **ends, const char *index,
                              dcsr_i_labelled_edge *edge)
{
    const dcsr_text texts[2] = {{ends[0], strlen(ends[0])}, {ends[1], strlen(ends[1])}};
    uint64_t ids[2];
    uint32_t number = 0;
    for (int k = 0; k < 2; k++)
        if (!texts[k].length)
            return DCSR_I_LINES_FAIL(lines, "word %d is empty; it should name a vertex", k + 1);
    DCSR_I_WORK_TRY(dcsr_names_add(r->vertices, 2, texts, ids));
    if (index) DCSR_I_WORK_TRY(dcsr_i_names_add(&r->indices, &r->graph->memory, index, &number));
    if (ids[0] >= most_vertices || ids[1] >= most_vertices)
        return DCSR_I_LINES_FAIL(lines, "there are more than %llu vertices",
                                 (unsigned long long)most_vertices);
    *edge = (dcsr_i_labelled_edge){.index = number, .from = (uint32_t)ids[0], .to = (uint32_t)ids[1]};
    return DCSR_OK;
}

static dcsr_status take_numbers(const dcsr_i_text_lines *lines, char **ends, const char *index,
                                dcsr_i_labelled_edge *edge)
{
    uint64_t from, to, number = 0;
    DCSR_I_WORK_TRY(take_number(lines, ends[0], "vertex", most_vertices, &from));
    DCSR_I_WORK_TRY(take_number(lines, ends[1], "vertex", most_vertices, &to));
    if (index) DCSR_I_WORK_TRY(take_number(lines, index, "index", UINT64_MAX, &number));
    *edge = (dcsr_i_labelled_edge){.index = number, .from = (uint32_t)from, .to = (uint32_t)to};
    return DCSR_OK;
}

/* Lines `from to label [index]`; if `label` is given, `from to [index]`, between tabs where these are names. */
static dcsr_status read_line(reading *r, dcsr_i_text_lines *lines, const char *label)
{
    char *word[4];
    dcsr_i_labelled_edge edge;
    uint32_t number;
    const bool symbols = r->vertices && label;
    const int words = dcsr_i_split(lines->line, symbols ? '\t' : 0, word, 4), ids = label ? 2 : 3;
    if (!words || (!symbols && (*word[0] == '#' || *word[0] == '%'))) return DCSR_OK;
    if (words < ids || words > ids + 1)
        return DCSR_I_LINES_FAIL(lines, "the line has %d words; it is `from to%s [index]`", words,
                                 label ? "" : " label");
    const bool indexed = words > ids;
    const char *const name = label ? label : word[2], *const index = indexed ? word[ids] : NULL;
    DCSR_I_WORK_TRY(r->vertices ? take_names(r, lines, word, index, &edge)
                                : take_numbers(lines, word, index, &edge));
    if (!indexed && dcsr_i_is_family(name))
        return DCSR_I_LINES_FAIL(lines, "the label %s is a family, whose edges have an index at the end",
                                 name);
    DCSR_I_WORK_TRY(number_of(r->graph, name, indexed, &number));
    DCSR_I_WORK_TRY(make_room(r->graph, 1));
    put_edge(r->graph, number, edge.from, edge.to, indexed ? &edge.index : NULL);
    return DCSR_OK;
}

static dcsr_status read_file(reading *r, const char *path, const char *label)
{
    dcsr_i_text_lines lines;
    bool more = true;
    DCSR_I_WORK_TRY(dcsr_i_lines_open(&lines, path));
    dcsr_status status = DCSR_OK;
    while (!status && more) {
        status = dcsr_i_lines_next(&lines, &more);
        if (!status && more) status = read_line(r, &lines, label);
    }
    dcsr_i_lines_close(&lines);
    return status;
}

/* The label of a file NAME.facts or NAME.facts.gz; false for any other. */
static bool label_of(char *label, size_t size, const char *file)
{
    static const char *const endings[] = {".facts", ".facts.gz"};
    const size_t length = strlen(file);
    for (int e = 0; e < 2; e++) {
        const size_t ending = strlen(endings[e]);
        if (length <= ending || length - ending >= size || strcmp(file + length - ending, endings[e]))
            continue;
        snprintf(label, size, "%.*s", (int)(length - ending), file);
        return true;
    }
    return false;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static dcsr_status read_folder(reading *r, const char *folder)
{
    struct dirent **files;
    char path[2 * MOST_NAME], label[256];
    int read = 0;
    dcsr_status status = DCSR_OK;
    const int count = scandir(folder, &files, NULL, by_name);
    if (count < 0) return dcsr_thread_fail(DCSR_ERROR_IO, "%s: cannot read it: %s", folder, strerror(errno));
    for (int f = 0; f < count; f++) {
        if (!status && label_of(label, sizeof label, files[f]->d_name)) {
            snprintf(path, sizeof path, "%s/%s", folder, files[f]->d_name);
            status = read_file(r, path, label);
            read++;
        }
        free(files[f]);
    }
    free(files);
    if (!status && !read)
        return dcsr_thread_fail(DCSR_ERROR_FORMAT, "%s: no file in this folder is called LABEL.facts",
                                folder);
    return status;
}

static dcsr_status read_graph(dcsr_labelled **graph, dcsr_context *context, dcsr_names *vertices,
                              const char *path)
{
    struct stat there;
    reading r = {.vertices = vertices};
    DCSR_I_WORK_TRY(dcsr_labelled_create(graph, context));
    r.graph = *graph;
    const bool folder = !stat(path, &there) && S_ISDIR(there.st_mode);
    const dcsr_status status = folder ? read_folder(&r, path) : read_file(&r, path, NULL);
    if (status) {
        dcsr_labelled_destroy(*graph);
        *graph = NULL;
    }
    return status;
}

dcsr_status dcsr_labelled_read(dcsr_labelled **graph, dcsr_context *context, const char *path)
{
    if (graph) *graph = NULL;
    if (!graph || !path)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_labelled_read: %s is NULL",
                                graph ? "path" : "graph");
    return read_graph(graph, context, NULL, path);
}

dcsr_status dcsr_labelled_read_named(dcsr_labelled **graph, dcsr_context *context, dcsr_names *names,
                                     const char *path)
{
    if (graph) *graph = NULL;
    if (!graph || !names || !path)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_labelled_read_named: %s is NULL",
                                !graph  ? "graph"
                                : names ? "path"
                                        : "names");
    return read_graph(graph, context, names, path);
}
