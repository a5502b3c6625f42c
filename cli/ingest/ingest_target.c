/* ingest_target.c: the stored matrix that edges are ingested into.
 *
 *                        without --durable                     with --durable
 *      opened by         restoring the newest version          recovering: version and log
 *      a batch is safe   with the version in the end           when it is in the log: its ticket says so
 *      in the end        a version                             a version, which empties the log
 *
 * Where the log cannot be written any more, a full disk, edges go on into memory, and the version in the end
 * is what may save them. */
#include "cli/ingest/ingest.h"

int ingest_target_find(ingest_target *target)
{
    cli_state *cli = target->cli;
    return target->durable ? cli_stored_find(cli, &target->stored, &target->newest)
                           : cli_stored_prepare(cli, &target->stored, &target->newest, &target->recovery);
}

/* ---- What is kept with it ---- */

int ingest_target_open_names(ingest_target *target, cli_state *cli, dcsr_names **names)
{
    const cli_stored *stored = target ? &target->stored : NULL;
    uint64_t count;
    if (!target) return dcsr_names_create(names, cli->context) ? cli_fail_library(cli) : CLI_DONE;
    int status = cli_new_store_open(cli, &target->store, stored->store, &target->made);
    if (status) return status;
    if (dcsr_store_open_names(names, cli->context, target->store, stored->name) ||
        dcsr_names_get_count(*names, &count))
        return cli_fail_library(cli);
    if (count || !target->newest.nnz) return CLI_DONE;
    return cli_fail(cli, "--names: the vertices of %s#%s are numbers, without names; leave it out",
                    stored->store, stored->name);
}

int ingest_target_find_place(ingest_target *target, dcsr_input_place *place)
{
    dcsr_tag tag = {0};
    bool known = false;
    *place = (dcsr_input_place){0};
    if (!target->newest.version) return CLI_DONE;
    int status = cli_new_store_open(target->cli, &target->store, target->stored.store, &target->made);
    if (status) return status;
    if (dcsr_store_get_tag(target->store, target->stored.name, &tag, &known))
        return cli_fail_library(target->cli);
    if (known) *place = (dcsr_input_place){tag.position, tag.mark};
    return CLI_DONE;
}

/* One that has names takes no numbers. */
static int check_names(ingest_target *target)
{
    uint64_t count = 0;
    if (!target->newest.version || ingest_given.names) return CLI_DONE;
    if (dcsr_store_get_name_count(target->store, target->stored.name, &count))
        return cli_fail_library(target->cli);
    if (!count) return CLI_DONE;
    return cli_fail(target->cli, "%s#%s: its vertices have names; ingest them with --names",
                    target->stored.store, target->stored.name);
}

/* ---- Opening ---- */

static int open_durable(ingest_target *target, dcsr_matrix **matrix, const ingest_plan *plan, uint64_t rows,
                        uint64_t cols)
{
    cli_state *cli = target->cli;
    dcsr_recovery found;
    if (dcsr_store_open_matrix(
            matrix, cli->context, target->store, target->stored.name,
            &(dcsr_durable_options){.type = plan->type, .rows = rows, .cols = cols, .matrix = plan->options},
            &found))
        return cli_fail_library(cli);
    if (!found.created) {
        target->recovery = found;
        target->newest.version = found.version;
    }
    return CLI_DONE;
}

static int check_new(const ingest_target *target)
{
    dcsr_version_info now;
    int status = cli_stored_find(target->cli, &target->stored, &now);
    if (status || !now.version) return status;
    return cli_fail(target->cli, "%s#%s: another process has just made it; ingest again",
                    target->stored.store, target->stored.name);
}

static int open_volatile(ingest_target *target, dcsr_matrix **matrix, const ingest_plan *plan, uint64_t rows,
                         uint64_t cols)
{
    cli_state *cli = target->cli;
    const cli_stored *stored = &target->stored;
    if (target->newest.version)
        return dcsr_store_restore(matrix, cli->context, target->store, stored->name, 0, NULL)
                   ? cli_fail_library(cli)
                   : CLI_DONE;
    int status = check_new(target);
    if (status) return status;
    return dcsr_matrix_create(matrix, cli->context, plan->type, rows, cols, &plan->options)
               ? cli_fail_library(cli)
               : CLI_DONE;
}

int ingest_target_open(ingest_target *target, dcsr_matrix **matrix, const ingest_plan *plan, uint64_t rows,
                       uint64_t cols)
{
    cli_state *cli = target->cli;
    cli_progress(cli, "opening %s#%s", target->stored.store, target->stored.name);
    target->late = target->late && !target->durable && !target->newest.version && !target->store;
    if (target->late)
        return dcsr_matrix_create(matrix, cli->context, plan->type, rows, cols, &plan->options)
                   ? cli_fail_library(cli)
                   : CLI_DONE;
    int status = cli_new_store_open(cli, &target->store, target->stored.store, &target->made);
    if (!status) status = check_names(target);
    if (status) return status;
    return (target->durable ? open_durable : open_volatile)(target, matrix, plan, rows, cols);
}

/* ---- Batches ---- */

/* What has become of a change: said once, where it is in memory alone. */
static int judge(ingest_target *target, dcsr_status status)
{
    cli_state *cli = target->cli;
    if (!status) return CLI_DONE;
    if (status != DCSR_ERROR_NOT_DURABLE) return cli_fail_library(cli);
    if (!target->broken) cli_warn(cli, "%s; going on in memory", dcsr_thread_error());
    target->broken = true;
    return CLI_DONE;
}

/* Waits for the oldest batch that is on its way. */
static int await_one(ingest_target *target)
{
    dcsr_ticket *ticket = target->tickets[target->told++ % INGEST_TICKETS];
    dcsr_status status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    if (status == DCSR_ERROR_NOT_DURABLE) target->lost++;
    return judge(target, status);
}

int ingest_target_take(ingest_target *target, dcsr_ticket *ticket)
{
    int status = target->sent - target->told == INGEST_TICKETS ? await_one(target) : CLI_DONE;
    target->tickets[target->sent++ % INGEST_TICKETS] = ticket;
    while (!status && target->told < target->sent) {
        bool done = false;
        dcsr_ticket_poll(target->tickets[target->told % INGEST_TICKETS], &done);
        if (!done) break;
        status = await_one(target);
    }
    return status;
}

int ingest_target_wait(ingest_target *target, dcsr_matrix *matrix)
{
    int status = CLI_DONE;
    while (!status && target->told < target->sent) status = await_one(target);
    return status ? status : judge(target, dcsr_matrix_wait(matrix)); /* of resizes nobody has a ticket */
}

/* ---- Versions ---- */

/* A store that was to be made only now. */
static int open_late(ingest_target *target)
{
    if (!target->late) return CLI_DONE;
    target->late = false;
    int status = cli_new_store_open(target->cli, &target->store, target->stored.store, &target->made);
    return status ? status : check_new(target);
}

void ingest_target_tick(ingest_target *target, dcsr_matrix *matrix)
{
    cli_state *cli = target->cli;
    const double start = cli_now();
    if (!(target->every > 0)) return;
    if (!(target->next > 0)) target->next = start + target->every;
    if (start < target->next || open_late(target)) return;
    if (dcsr_store_snapshot(target->store, target->stored.name, matrix, &target->newest))
        cli_warn(cli, "no version was made: %s; going on", dcsr_thread_error());
    else
        target->versions++;
    const double end = cli_now();
    target->next = end > target->next + target->every ? end + target->every : target->next + target->every;
}

int ingest_target_store(ingest_target *target, dcsr_matrix *matrix)
{
    cli_state *cli = target->cli;
    const cli_stored *stored = &target->stored;
    int opened = open_late(target);
    if (opened) return opened;
    cli_progress(cli, "writing a version of %s#%s", stored->store, stored->name);
    double start = cli_now();
    dcsr_status status = dcsr_store_snapshot(target->store, stored->name, matrix, &target->newest);
    target->seconds = cli_now() - start;
    target->versions += !status;
    if (!status) return CLI_DONE;
    const char *why = dcsr_thread_error();
    if (!target->durable)
        return cli_fail_because(cli, "%s#%s: nothing of this was stored: %s", stored->store, stored->name,
                                why);
    if (!target->broken)
        return cli_fail_because(cli, "%s#%s: all batches are safe in the log, but no version was made: %s",
                                stored->store, stored->name, why);
    return cli_fail_because(
        cli,
        "%s#%s: %llu of %llu batches are lost, those before them are in the log: no version could be "
        "made either: %s",
        stored->store, stored->name, (unsigned long long)target->lost, (unsigned long long)target->sent, why);
}

int ingest_target_verdict(const ingest_target *target)
{
    const cli_stored *stored = &target->stored;
    if (!target->broken) return CLI_DONE;
    return cli_fail_as(
        target->cli, "not_durable", CLI_FAILED,
        "%s#%s: %llu of %llu batches were in memory alone for a while; version %llu has them all",
        stored->store, stored->name, (unsigned long long)target->lost, (unsigned long long)target->sent,
        (unsigned long long)target->newest.version);
}

void ingest_target_put(const ingest_target *target, cli_report *report)
{
    cli_put_recovery(report, &target->recovery);
    cli_put_version(report, &target->stored, &target->newest);
    cli_put_count(report, "not_durable", NULL, target->lost);
    cli_put_seconds(report, "snapshot_seconds", "  made in", target->seconds);
}

void ingest_target_free(ingest_target *target)
{
    for (; target->told < target->sent; target->told++)
        dcsr_ticket_destroy(target->tickets[target->told % INGEST_TICKETS]);
}
