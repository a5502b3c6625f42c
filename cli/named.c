/* named.c: files whose vertices are names, and the dictionaries of stored matrices that get them. */
#include "cli/stored.h"
#include <inttypes.h>
#include <string.h>

/* ---- Reading ---- */

dcsr_status cli_names_number(void *user, uint64_t n, const dcsr_text *texts, uint64_t *ids)
{
    return dcsr_names_add(user, n, texts, ids);
}

static int read_batches(cli_state *cli, dcsr_matrix *matrix, dcsr_names *names, dcsr_input *input)
{
    enum { MOST = 1 << 20 };
    const dcsr_batch_limits limits = {.most = MOST};
    dcsr_edge_batch batch = {0};
    uint64_t vertices = 0, entries = 0;
    while (!batch.ended) {
        if (dcsr_input_read_batch(&batch, input, &limits) || dcsr_names_get_count(names, &vertices) ||
            dcsr_matrix_grow(matrix, vertices, vertices, NULL) ||
            dcsr_matrix_insert(matrix, batch.n, batch.row_indices, batch.col_indices, NULL, NULL))
            return cli_fail_library(cli);
        cli_progress(cli, "reading: %" PRIu64 " edges", entries += batch.n);
    }
    return dcsr_matrix_wait(matrix) ? cli_fail_library(cli) : CLI_DONE;
}

int cli_names_read(cli_state *cli, const char *source, dcsr_matrix **matrix, dcsr_names **names)
{
    const char *file = cli_source_file(source);
    const dcsr_matrix_options options = {.policy = cli->op};
    dcsr_input *input = NULL;
    if (!cli_source_is_file(source))
        return cli_usage(cli, "--names: %s is no file of edges; leave it out, a stored matrix has its names",
                         source);
    int status = cli_stored_refuse_folder(cli, file);
    if (status) return status;
    if (dcsr_names_create(names, cli->context) ||
        dcsr_input_open_lines(&input, cli->context, file,
                              &(dcsr_line_format){.number = cli_names_number, .user = *names}) ||
        dcsr_matrix_create(matrix, cli->context, DCSR_PATTERN, 0, 0, &options))
        status = cli_fail_library(cli);
    if (!status) status = read_batches(cli, *matrix, *names, input);
    dcsr_input_close(input);
    return status;
}

/* ---- Storing ---- */

/* Puts the names behind those that are there, which must be the same. `differs` is the first that is not. */
static dcsr_status put_names(dcsr_names *kept, dcsr_names *names, uint64_t *differs)
{
    enum { BLOCK = 1024 };
    uint64_t there, count, ids[BLOCK];
    dcsr_text texts[BLOCK];
    dcsr_status status = dcsr_names_get_count(kept, &there);
    if (!status) status = dcsr_names_get_count(names, &count);
    *differs = UINT64_MAX;
    for (uint64_t first = 0; !status && first < count; first += BLOCK) {
        const uint64_t n = count - first < BLOCK ? count - first : BLOCK;
        for (uint64_t i = 0; i < n; i++) ids[i] = first + i;
        status = dcsr_names_get(names, n, ids, texts);
        if (!status) status = dcsr_names_add(kept, n, texts, ids);
        for (uint64_t i = 0; !status && i < n; i++) {
            if (ids[i] == first + i) continue;
            *differs = first + i;
            return DCSR_OK;
        }
    }
    return status;
}

/* A dictionary that is empty belongs to a matrix that is not there yet, or to one whose vertices are numbers. */
static int check_numbers(cli_state *cli, dcsr_store *store, const cli_stored *stored)
{
    dcsr_version_info newest;
    const dcsr_status found = dcsr_store_find(store, stored->name, 0, &newest);
    if (found == DCSR_ERROR_NOT_FOUND) return CLI_DONE;
    if (found) return cli_fail_library(cli);
    return cli_fail(cli,
                    "%s#%s: the vertices of its versions have no names, those of this result do; "
                    "choose another NAME",
                    stored->store, stored->name);
}

int cli_names_keep(cli_state *cli, dcsr_store *store, const cli_stored *stored, dcsr_names *names,
                   dcsr_names **kept)
{
    uint64_t count = 0, differs;
    if (dcsr_store_open_names(kept, cli->context, store, stored->name) || dcsr_names_get_count(*kept, &count))
        return cli_fail_library(cli);
    if (!names && count)
        return cli_fail(cli,
                        "%s#%s: its vertices have names, those of this result do not; choose another "
                        "NAME",
                        stored->store, stored->name);
    if (!names) return CLI_DONE;
    int status = count ? CLI_DONE : check_numbers(cli, store, stored);
    if (status) return status;
    if (put_names(*kept, names, &differs)) return cli_fail_library(cli);
    return differs == UINT64_MAX
               ? CLI_DONE
               : cli_fail(cli,
                          "%s#%s: its vertex %" PRIu64 " has another name than that of this result; "
                          "choose another NAME",
                          stored->store, stored->name, differs);
}
