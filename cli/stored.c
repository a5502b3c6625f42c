/* stored.c: STORE#NAME[@VERSION]: taking it apart, and the stores that a command has open. */
#include "cli/stored.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Arguments ---- */

static int parse_version(cli_state *cli, cli_stored *stored, const char *text, const char *argument)
{
    char *end = NULL;
    errno = 0;
    stored->live = !strcmp(text, "live");
    stored->version = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    if (stored->live || (end && !*end && !errno && stored->version)) return CLI_DONE;
    return cli_usage(cli, "'%s': the version must be a whole number from 1 on, or 'live', not '%s'", argument,
                     text);
}

static int parse_name(cli_state *cli, char *name, const char *text, size_t length, const char *argument)
{
    if (!dcsr_store_is_name(text, length))
        return cli_usage(cli,
                         "'%s': '%.*s' is no name of a matrix: it has 1 to %d letters, digits, '.', '_', "
                         "'-', '+' or '=', and does not begin with '.'",
                         argument, length > 80 ? 80 : (int)length, text, DCSR_STORE_MAX_NAME);
    memcpy(name, text, length);
    name[length] = '\0';
    return CLI_DONE;
}

int cli_stored_parse(cli_state *cli, cli_stored *stored, const char *argument, cli_stored_form form)
{
    const char *hash = strrchr(argument, '#');
    if (form == CLI_STORE_OR_NAME && !access(argument, F_OK)) hash = NULL;
    *stored = (cli_stored){0};
    if (!hash && form != CLI_STORE_OR_NAME)
        return cli_usage(cli,
                         "'%s' names no stored matrix; that is STORE#NAME%s, with the folder of the store",
                         argument, form == CLI_STORE_NAME_VERSION ? "[@VERSION]" : "");
    size_t length = hash ? (size_t)(hash - argument) : strlen(argument);
    if (!length) return cli_usage(cli, "'%s': the folder of the store is missing", argument);
    if (length >= sizeof stored->store) return cli_usage(cli, "the name of the store is too long");
    memcpy(stored->store, argument, length);
    if (!hash) return CLI_DONE;
    const char *name = hash + 1, *at = strchr(name, '@');
    int status = parse_name(cli, stored->name, name, at ? (size_t)(at - name) : strlen(name), argument);
    if (status || !at) return status;
    if (form != CLI_STORE_NAME_VERSION)
        return cli_usage(cli, "'%s': a version is not wanted here, the name of the matrix is", argument);
    return parse_version(cli, stored, at + 1, argument);
}

/* ---- Stores ---- */

typedef struct cli_open_store {
    struct cli_open_store *next;
    dcsr_store *store;
    dev_t device; /* which folder it is, however it is spelled */
    ino_t inode;
    bool read_only;
} cli_open_store;

static cli_open_store *find_open(const cli_state *cli, const char *path)
{
    struct stat folder;
    if (stat(path, &folder)) return NULL;
    cli_open_store *open = cli->stores;
    while (open && (open->device != folder.st_dev || open->inode != folder.st_ino)) open = open->next;
    return open;
}

/* Says, on a terminal, that it waits for other processes. */
static dcsr_status open_in_turn(cli_state *cli, dcsr_store **store, const char *path,
                                const dcsr_store_options *options)
{
    dcsr_store_options now = *options;
    now.refuse_locked = true;
    dcsr_status status = dcsr_store_open(store, path, &now);
    if (status != DCSR_ERROR_BUSY) return status;
    cli_progress(cli, "waiting for other processes that have %s open", path);
    return dcsr_store_open(store, path, options);
}

/* With `missing`, that there is no store is no failure. */
static int open_store(cli_state *cli, dcsr_store **store, const char *path, const dcsr_store_options *options,
                      bool *missing)
{
    cli_open_store *open = find_open(cli, path);
    if (!open) {
        open = calloc(1, sizeof *open);
        if (!open) return cli_fail(cli, "%s: out of memory for the store", path);
        open->next = cli->stores;
        cli->stores = open;
    }
    dcsr_status status = DCSR_OK;
    if (!open->store || (open->read_only && !options->read_only)) {
        struct stat folder = {0};
        dcsr_store_close(open->store);
        status = open_in_turn(cli, &open->store, path, options);
        open->read_only = options->read_only;
        if (!status && !stat(path, &folder)) {
            open->device = folder.st_dev;
            open->inode = folder.st_ino;
        }
    }
    *store = open->store;
    if (missing) *missing = status == DCSR_ERROR_NOT_FOUND || status == DCSR_ERROR_FORMAT;
    return status && !(missing && *missing) ? cli_fail_library(cli) : CLI_DONE;
}

int cli_store_open(cli_state *cli, dcsr_store **store, const char *path, const dcsr_store_options *options)
{
    return open_store(cli, store, path, options, NULL);
}

error_t cli_new_store_take(cli_state *cli, cli_new_store *made, int key, const char *value)
{
    enum { MOST_LEVEL = 19 };
    switch (key) {
    case CLI_KEY_CHUNK:
        return cli_take_number(cli, "--chunk", value, DCSR_STORE_MIN_CHUNK, DCSR_STORE_MAX_CHUNK,
                               &made->chunk);
    case CLI_KEY_COMPRESS:
        return cli_take_number(cli, "--compress", value, 1, MOST_LEVEL, &made->level);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_new_store_open(cli_state *cli, dcsr_store **store, const char *path, const cli_new_store *made)
{
    dcsr_store_info info;
    dcsr_store_options wanted = {.chunk_bytes = made->chunk, .compression = (int)made->level};
    int status = cli_store_open(cli, store, path, &wanted);
    if (status) return status;
    if (dcsr_store_get_info(*store, &info)) return cli_fail_library(cli);
    if (made->chunk && made->chunk != info.chunk_bytes)
        return cli_fail(cli, "%s: the store was made with chunks of %llu bytes; leave --chunk out", path,
                        (unsigned long long)info.chunk_bytes);
    if (made->level && (int)made->level != info.compression)
        return cli_fail(cli, "%s: the store was made with compression %d; leave --compress out", path,
                        info.compression);
    return CLI_DONE;
}

void cli_stores_close(cli_state *cli)
{
    while (cli->stores) {
        cli_open_store *open = cli->stores;
        cli->stores = open->next;
        dcsr_store_close(open->store);
        free(open);
    }
}

/* ---- Stored matrices ---- */

static int find_version(cli_state *cli, dcsr_store *store, const cli_stored *stored, dcsr_version_info *info)
{
    dcsr_status status = dcsr_store_find(store, stored->name, stored->version, info);
    if (!status) return CLI_DONE;
    *info = (dcsr_version_info){0};
    return status == DCSR_ERROR_NOT_FOUND ? CLI_DONE : cli_fail_library(cli);
}

int cli_stored_find(cli_state *cli, const cli_stored *stored, dcsr_version_info *info)
{
    dcsr_store *store;
    bool missing;
    *info = (dcsr_version_info){0};
    int status = open_store(cli, &store, stored->store, &(dcsr_store_options){.read_only = true}, &missing);
    return status || missing ? status : find_version(cli, store, stored, info);
}

int cli_stored_prepare(cli_state *cli, const cli_stored *stored, dcsr_version_info *info,
                       dcsr_recovery *recovery)
{
    dcsr_store *store;
    dcsr_matrix *matrix;
    dcsr_recovery found;
    *recovery = (dcsr_recovery){0};
    int status = cli_stored_find(cli, stored, info);
    if (status || !info->version) return status;
    status = cli_store_open(cli, &store, stored->store, &(dcsr_store_options){.must_exist = true});
    if (!status) status = find_version(cli, store, stored, info); /* once more: nobody else writes any more */
    if (status || !info->log_records) return status;
    cli_progress(cli, "bringing back what the log of %s#%s holds", stored->store, stored->name);
    if (dcsr_store_open_matrix(&matrix, cli->context, store, stored->name, NULL, &found))
        return cli_fail_library(cli);
    *recovery = found;
    if (dcsr_store_snapshot(store, stored->name, matrix, info))
        status = cli_fail_because(cli, "%s#%s: what its log holds must become a version first: %s",
                                  stored->store, stored->name, dcsr_thread_error());
    dcsr_matrix_destroy(matrix);
    return status;
}

static int load_live(cli_state *cli, dcsr_store *store, const cli_stored *stored, dcsr_matrix **matrix,
                     uint64_t *version)
{
    dcsr_recovery found;
    if (dcsr_store_recover(matrix, cli->context, store, stored->name, NULL, &found))
        return cli_fail_library(cli);
    cli->replayed += found.log_records;
    *version = found.version;
    return CLI_DONE;
}

static int load_version(cli_state *cli, dcsr_store *store, const cli_stored *stored, dcsr_matrix **matrix,
                        uint64_t *version)
{
    dcsr_version_info info;
    char records[CLI_NUMBER];
    /* By its number, as another process may be making versions. */
    if (dcsr_store_find(store, stored->name, stored->version, &info) ||
        dcsr_store_restore(matrix, cli->context, store, stored->name, info.version, NULL))
        return cli_fail_library(cli);
    *version = info.version;
    if (stored->version || !info.log_records) return CLI_DONE;
    cli->pending += info.log_records;
    cli_warn(cli, "%s#%s: this is version %llu; %s record%s of the log came after it: %s#%s@live shows all",
             stored->store, stored->name, (unsigned long long)info.version,
             cli_grouped(records, info.log_records), info.log_records == 1 ? "" : "s", stored->store,
             stored->name);
    return CLI_DONE;
}

int cli_stored_load(cli_state *cli, const cli_stored *stored, dcsr_matrix **matrix, uint64_t *version)
{
    dcsr_store *store;
    uint64_t loaded = 0;
    int status = cli_store_open(cli, &store, stored->store, &(dcsr_store_options){.read_only = true});
    if (!status) status = (stored->live ? load_live : load_version)(cli, store, stored, matrix, &loaded);
    cli->from_store = true;
    if (version) *version = loaded;
    return status;
}

int cli_names_open(cli_state *cli, const char *source, dcsr_names **names)
{
    cli_stored stored;
    dcsr_store *store;
    uint64_t count = 0;
    *names = NULL;
    if (!cli->from_store || !strchr(source, '#') || !access(source, F_OK)) return CLI_DONE;
    int status = cli_stored_parse(cli, &stored, source, CLI_STORE_NAME_VERSION);
    if (!status) status = cli_store_open(cli, &store, stored.store, &(dcsr_store_options){.read_only = true});
    if (status) return status;
    if (dcsr_store_get_name_count(store, stored.name, &count) ||
        (count && dcsr_store_open_names(names, cli->context, store, stored.name)))
        return cli_fail_library(cli);
    return CLI_DONE;
}

int cli_vertex_find(cli_state *cli, dcsr_names *names, const char *what, const char *word, uint64_t *vertex)
{
    const dcsr_text name = {word, strlen(word)};
    if (!names)
        return cli_take_number(cli, what, word, 0, DCSR_MAX_ROWS - 1, vertex) ? cli->exit_status : CLI_DONE;
    if (dcsr_names_find(names, 1, &name, vertex)) return cli_fail_library(cli);
    return *vertex == DCSR_NAMES_NONE ? cli_fail(cli, "%s: no vertex has the name '%s'", what, word)
                                      : CLI_DONE;
}

int cli_stored_refuse_folder(cli_state *cli, const char *path)
{
    enum { FEW = 5 };
    struct stat folder;
    dcsr_store *store;
    char **names, text[FEW * (CLI_MOST_PATH + DCSR_STORE_MAX_NAME)] = "";
    uint64_t count;
    bool missing;
    if (stat(path, &folder) || !S_ISDIR(folder.st_mode)) return CLI_DONE;
    int status = open_store(cli, &store, path, &(dcsr_store_options){.read_only = true}, &missing);
    if (status || missing) return status;
    if (dcsr_store_get_names(store, &names, &count)) return cli_fail_library(cli);
    for (uint64_t n = 0; n < count && count <= FEW; n++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s#%s", n ? ", " : ": ", path, names[n]);
    }
    dcsr_store_list_free(names);
    return cli_fail(cli, "%s: this is a store: try `dcsr log %s`, or name a matrix of it%s", path, path,
                    text);
}

/* ---- Reports ---- */

void cli_put_recovery(cli_report *report, const dcsr_recovery *recovery)
{
    char records[CLI_NUMBER], entries[CLI_NUMBER];
    cli_put_count(report, "recovered_version", NULL, recovery->version);
    cli_put_count(report, "recovered_records", NULL, recovery->log_records);
    cli_put_count(report, "recovered_entries", NULL, recovery->log_entries);
    if (recovery->version)
        cli_put_line(report, "recovered", "version %llu, and %s changes of the log with %s entries",
                     (unsigned long long)recovery->version, cli_grouped(records, recovery->log_records),
                     cli_grouped(entries, recovery->log_entries));
}

void cli_put_version_keys(cli_report *report, const char *name, const dcsr_version_info *info)
{
    cli_put_text(report, "name", NULL, name);
    cli_put_count(report, "version", NULL, info->version);
    cli_put_count(report, "chunks", NULL, info->chunks);
    cli_put_count(report, "stored_bytes", NULL, info->stored_bytes);
    cli_put_count(report, "bytes_written", NULL, info->written_bytes);
}

void cli_put_version(cli_report *report, const cli_stored *stored, const dcsr_version_info *info)
{
    char chunks[CLI_NUMBER], bytes[CLI_NUMBER], written[CLI_NUMBER];
    cli_put_line(report, "stored", "%s#%s@%llu", stored->store, stored->name,
                 (unsigned long long)info->version);
    cli_put_line(report, "on the disk", "%s in %s chunk%s, %s written now",
                 cli_bytes(bytes, info->stored_bytes), cli_grouped(chunks, info->chunks),
                 info->chunks == 1 ? "" : "s", cli_bytes(written, info->written_bytes));
    cli_put_text(report, "store", NULL, stored->store);
    cli_put_version_keys(report, stored->name, info);
}
