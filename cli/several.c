/* several.c: a MATRIX on several devices. It is loaded as for one, on the cpu, and then shared out. */
#include "cli/cli.h"

int cli_parts_make(cli_state *cli, dcsr_multi_matrix **parts, dcsr_multi_view **view, dcsr_matrix **matrix,
                   unsigned flags)
{
    dcsr_view *whole = NULL;
    dcsr_matrix_info info;
    cli_progress(cli, "sharing it out to the devices");
    dcsr_status status = dcsr_matrix_get_info(*matrix, &info);
    if (!status) status = dcsr_view_create(&whole, *matrix, DCSR_LAYOUT_CSR, 0);
    if (!status)
        status = dcsr_multi_matrix_from_view(parts, cli->multi, whole,
                                             &(dcsr_matrix_options){.policy = info.policy});
    dcsr_view_destroy(whole);
    dcsr_matrix_destroy(*matrix);
    *matrix = NULL;
    if (!status) status = dcsr_multi_view_create(view, *parts, DCSR_LAYOUT_SEGMENTS, flags);
    return status ? cli_fail_library(cli) : CLI_DONE;
}

void cli_put_parts(cli_report *report, const dcsr_multi_view_info *info)
{
    cli_put_line(report, "devices", "%llu: %s, the largest part %.3g times its share",
                 (unsigned long long)info->parts, report->cli->devices, info->balance);
    cli_put_count(report, "devices", NULL, info->parts);
    cli_put_real(report, "balance", NULL, info->balance, "");
}

int cli_parts_refuse(cli_state *cli, const char *option)
{
    if (!cli->multi) return CLI_DONE;
    return cli_usage(cli, "%s: %s is there on one device alone; leave it out, or give --device %s",
                     cli->command->name, option, cli->device == DCSR_DEVICE_CUDA ? "cuda" : "cpu");
}
