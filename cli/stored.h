/* stored.h: stored matrices on the command line: STORE#NAME[@VERSION].
 *
 *      web.store#friends@3       version 3 of the matrix `friends` in the store that is the folder web.store
 *      web.store#friends         its newest version
 *      web.store#friends@live    that, and what the log holds beyond
 *
 * A process may open a store only once (dcsr/persist.h), while a command may name one several times, and
 * write into what it reads from. So stores are opened here, each once, and closed when the command is done.
 *
 * What a killed `ingest --durable` has left in the log of a matrix, or one that runs has written there, is in
 * no version. A command that is about to write under a name makes a version of it first
 * (cli_stored_prepare()); those that read see the newest version, say that there is more, or show it where
 * they are asked for @live. */
#ifndef DCSR_CLI_STORED_H
#define DCSR_CLI_STORED_H

#include "cli/cli.h"
#include <dcsr/persist.h>

enum { CLI_MOST_PATH = 4096 };

typedef struct cli_stored {
    char store[CLI_MOST_PATH];          /* the folder */
    char name[DCSR_STORE_MAX_NAME + 1]; /* empty: none was given */
    uint64_t version;                   /* 0: none was given */
    bool live;
} cli_stored;

/* What an argument may be. */
typedef enum cli_stored_form {
    CLI_STORE_NAME_VERSION, /* STORE#NAME[@VERSION], STORE#NAME@live */
    CLI_STORE_NAME,         /* STORE#NAME */
    CLI_STORE_OR_NAME       /* STORE[#NAME] */
} cli_stored_form;

/* Takes an argument apart. The last '#' counts; where none is needed, a folder of the literal name wins. Exit
 * status. */
int cli_stored_parse(cli_state *cli, cli_stored *stored, const char *argument, cli_stored_form form);

/* The store in the folder, which stays open until the command is done. It is opened when it is asked for
 * first, and once more when it is open read_only and now is not: so *store is good until the next call. Waits
 * for another process that writes to it. Exit status. */
int cli_store_open(cli_state *cli, dcsr_store **store, const char *path, const dcsr_store_options *options);
/* Closes what is open; the matrices that are open for durable work are destroyed by then. */
void cli_stores_close(cli_state *cli);

/* How a store is to be made where there is none. CLI_NEW_STORE_OPTIONS stands in the table of a command's
 * options, and its take() ends with cli_new_store_take(). */
typedef struct cli_new_store {
    uint64_t chunk, level; /* 0: not given */
} cli_new_store;
enum { CLI_KEY_CHUNK = 500, CLI_KEY_COMPRESS };
#define CLI_NEW_STORE_OPTIONS                                                                                \
    {"chunk",                                                                                                \
     CLI_KEY_CHUNK,                                                                                          \
     "BYTES",                                                                                                \
     0,                                                                                                      \
     "Of a new store: data goes into chunks of some so many bytes (default 1 MiB)",                          \
     0},                                                                                                     \
    {                                                                                                        \
        "compress", CLI_KEY_COMPRESS, "LEVEL", 0,                                                            \
            "Of a new store: compress chunks with zstd, 1 (fast) to 19 (small) (default: no compression)", 0 \
    }
error_t cli_new_store_take(cli_state *cli, cli_new_store *made, int key, const char *value);
/* cli_store_open() for writing. A store that is there keeps what it was made with: that another chunk size or
 * compression was given is a failure. */
int cli_new_store_open(cli_state *cli, dcsr_store **store, const char *path, const cli_new_store *made);

/* The newest version under a name, or the one that was asked for; version 0 in *info when there is none, nor
 * even a store. Exit status. */
int cli_stored_find(cli_state *cli, const cli_stored *stored, dcsr_version_info *info);
/* The same for a name that is about to be written: the store is open for writing afterwards, if it is there,
 * and what the log of the matrix holds has become a version. *recovery tells of that; its version is 0 where
 * the log holds nothing, and then no data is read. */
int cli_stored_prepare(cli_state *cli, const cli_stored *stored, dcsr_version_info *info,
                       dcsr_recovery *recovery);
/* What a MATRIX argument names; *version (may be NULL) is which that was. Says on stderr what the log holds
 * beyond, and has reports tell of it. Exit status. */
int cli_stored_load(cli_state *cli, const cli_stored *stored, dcsr_matrix **matrix, uint64_t *version);
/* The names of the vertices of a MATRIX that has been loaded; *names is NULL where it has none. The caller
 * destroys them. Exit status. */
int cli_names_open(cli_state *cli, const char *source, dcsr_names **names);
/* The vertex that a word means: by its name where there are names, else by its number. Exit status. */
int cli_vertex_find(cli_state *cli, dcsr_names *names, const char *what, const char *word, uint64_t *vertex);
/* Fails where a MATRIX argument is the folder of a store, and says how its matrices are named. */
int cli_stored_refuse_folder(cli_state *cli, const char *path);

/* What there was in a log, and the version that was made. */
void cli_put_recovery(cli_report *report, const dcsr_recovery *recovery);
void cli_put_version(cli_report *report, const cli_stored *stored, const dcsr_version_info *info);
/* What of it the JSON object, or an item there, has in every command. */
void cli_put_version_keys(cli_report *report, const char *name, const dcsr_version_info *info);

/* Reads a file of edges whose vertices are names, as a pattern; names are numbered in the order of the file
 * (named.c). The caller destroys both, also after a failure. Exit status. */
int cli_names_read(cli_state *cli, const char *file, dcsr_matrix **matrix, dcsr_names **names);
/* Opens the dictionary of a stored matrix of which a version is to be made, and puts the names there, or, where they
 * are NULL, sees that it has none. Fails where it has others, or vertices without names. *kept is NULL where there
 * are none; the caller destroys it when the version has been made. Exit status. */
int cli_names_keep(cli_state *cli, dcsr_store *store, const cli_stored *stored, dcsr_names *names,
                   dcsr_names **kept);
/* For dcsr_line_format.number, with dcsr_names as `user`. */
dcsr_status cli_names_number(void *user, uint64_t n, const dcsr_text *texts, uint64_t *ids);

/* Commands that compute a relation (closure, samegen, cfl, ktruss): what of, and where they put it (relation.c). */

typedef struct cli_relation_target {
    const char *name; /* FILE or STORE#NAME; NULL: nowhere, the relation is only counted */
    bool stored;
    cli_stored where; /* of a stored one */
    dcsr_recovery recovery;
    dcsr_names *names; /* of the vertices, which a file of edges and a store get; NULL: they have none */
} cli_relation_target;

/* CLI_RELATION_OPTIONS stands in the table of a command's options, and its take() ends with
 * cli_relation_take(). */
enum { CLI_KEY_INTO = 520, CLI_KEY_MEMORY, CLI_KEY_NAMED };
#define CLI_NAMED_OPTION                                                                                    \
    {                                                                                                       \
        "names", CLI_KEY_NAMED, NULL, 0,                                                                    \
            "Vertices of the file are names, which the result gets, too; in .facts all between two tabs", 0 \
    }
#define CLI_RELATION_OPTIONS                                                                             \
    {"into", CLI_KEY_INTO, "STORE#NAME", 0, "Store the result as the next version of NAME", 0},          \
        CLI_NAMED_OPTION,                                                                                \
    {                                                                                                    \
        "memory", CLI_KEY_MEMORY, "BYTES", 0,                                                            \
            "Refuse what would take more memory, the result included (default: the machine's memory)", 0 \
    }
typedef struct cli_relation_options {
    const char *into;
    uint64_t memory;
    bool names;
} cli_relation_options;
error_t cli_relation_take(cli_state *cli, cli_relation_options *options, int key, const char *value);

/* Looks at where it is to go, before anything is loaded: --into, or the argument number `argument`, if there are
 * so many. Exit status. */
int cli_relation_prepare(cli_state *cli, cli_relation_target *target, const cli_relation_options *options,
                         int argument);
/* What has been told of a relation while it was computed: how many pairs there were after each round or share of the
 * work; `user` of cli_relation_show(), which shows it as progress. */
typedef struct cli_growth {
    cli_state *cli;
    bool noted;             /* wanted for a picture */
    uint64_t count, room;   /* points */
    uint64_t *done, *pairs; /* freed by the caller */
} cli_growth;
void cli_relation_show(void *user, uint64_t done, uint64_t total, uint64_t pairs);

/* Loads MATRIX, and the names of its vertices into the target. Exit status; both are destroyed by the caller, also
 * after a failure. */
int cli_relation_load(cli_state *cli, cli_relation_target *target, const cli_relation_options *options,
                      dcsr_matrix **matrix);
/* Puts the matrix there, if anywhere, says so in the report, and prints that, unless standard output has the
 * matrix. Exit status. */
int cli_relation_report(cli_report *report, const cli_relation_target *target, dcsr_matrix *matrix);

#endif
