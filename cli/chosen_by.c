/* chosen_by.c: which model chooses kernels, as reports say it. */
#include "cli/cli.h"
#include <dcsr/features.h>

void cli_put_model(cli_report *report)
{
    dcsr_model_info info;
    if (dcsr_model_get_info(&info, report->cli->context)) return;
    const bool none = !*info.made;
    cli_put_line(report, "model", "%s%s%s", none ? "none for this device" : info.made, *info.file ? ", " : "",
                 info.file);
    cli_put_text(report, "model", NULL, none ? "none" : *info.file ? info.file : "default");
    cli_put_text(report, "model_machine", none ? NULL : "  measured on", info.machine);
    cli_put_text(report, "model_made", NULL, info.made);
    if (*info.refused) cli_put_text(report, "model_refused", "  in place of", info.refused);
}
