/* report.h: the two ends of a benchmark's output, called by the harness. */
#ifndef DCSR_BENCH_REPORT_H
#define DCSR_BENCH_REPORT_H

#include "bench/harness.h"

/* Starts the JSON document and prints the heading: the question, the machine, the settings. */
void bench_report_begin(bench *b);
/* Writes the document to b->json_path when there is one, and frees it. */
void bench_report_end(bench *b);

#endif
