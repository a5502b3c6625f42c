/* files.c: the files that commands write. How is the library's affair (dcsr_coo_write(),
 * dcsr_file_write()); here is whether. */
#include "cli/cli.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_is_standard_output(const char *file)
{
    struct stat there, output;
    return stat(file, &there) == 0 && fstat(STDOUT_FILENO, &output) == 0 && there.st_dev == output.st_dev &&
           there.st_ino == output.st_ino;
}

static bool general;

error_t cli_write_take(int key)
{
    if (key != CLI_KEY_GENERAL) return ARGP_ERR_UNKNOWN;
    general = true;
    return 0;
}

int cli_write_matrix(cli_state *cli, dcsr_matrix *matrix, dcsr_names *names, const char *file,
                     uint64_t version)
{
    dcsr_view *view = NULL;
    dcsr_coo coo = {0};
    bool symmetric = false;
    int status;
    if (!strcmp(file, "-")) file = "/dev/stdout";
    const bool to_output = cli_is_standard_output(file);
    if (to_output && cli->json)
        return cli_fail(cli, "%s: it is standard output, where --json puts its object; leave one of them out",
                        file);
    cli_progress(cli, "writing %s", file);
    if (dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED) ||
        dcsr_view_to_coo(&coo, view) ||
        (names     ? dcsr_coo_write_named(&coo, names, file)
         : general ? dcsr_coo_write(&coo, file)
                   : dcsr_coo_write_symmetric(&coo, file, &symmetric))) {
        status = cli_fail_library(cli);
    } else if (to_output) {
        cli_progress_end(cli);
        status = CLI_DONE;
    } else {
        char number[CLI_NUMBER], cols[CLI_NUMBER];
        cli_report report;
        cli_report_begin(&report, cli);
        cli_put_text(&report, "file", "written", file);
        if (version) cli_put_count(&report, "version", "version", version);
        cli_put_line(&report, "size", "%s x %s, %s", cli_grouped(number, coo.rows),
                     cli_grouped(cols, coo.cols), dcsr_type_name(coo.type));
        if (symmetric) cli_put_line(&report, "symmetric", "yes: what is on the diagonal and below is listed");
        cli_put_count(&report, "symmetric", NULL, symmetric);
        cli_put_count(&report, "rows", NULL, coo.rows);
        cli_put_count(&report, "cols", NULL, coo.cols);
        cli_put_text(&report, "type", NULL, dcsr_type_name(coo.type));
        cli_put_count(&report, "nnz", "nonzeros", coo.nnz);
        status = cli_report_print(&report);
    }
    dcsr_coo_free(&coo);
    dcsr_view_destroy(view);
    return status;
}

int cli_check_target(cli_state *cli, const char *file, const cli_file_kind *kind)
{
    enum { MOST_MAGIC = 16 };
    assert(kind->magic_length <= MOST_MAGIC);
    char begin[MOST_MAGIC];
    struct stat there;
    const size_t length = strlen(file), ending = strlen(kind->ending);
    if (length <= ending || strcasecmp(file + length - ending, kind->ending))
        return cli_fail(cli, "%s: %s is written here; give it a name that ends in %s", file, kind->name,
                        kind->ending);
    if (stat(file, &there) || !S_ISREG(there.st_mode) || !there.st_size) return CLI_DONE;
    FILE *stream = fopen(file, "rb");
    if (!stream)
        return cli_fail(cli, "%s: it is there already, and cannot be looked at: %s", file, strerror(errno));
    const size_t count = fread(begin, 1, kind->magic_length, stream);
    fclose(stream);
    if (count == kind->magic_length && !memcmp(begin, kind->magic, count)) return CLI_DONE;
    return cli_fail(cli, "%s: it is there already and is not %s; remove it, or choose another name", file,
                    kind->name);
}
