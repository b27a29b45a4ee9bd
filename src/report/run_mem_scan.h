/* run_mem_scan - the report of a run as mem-scan writes it: of the whole host and of one whole
 * device, in GiB that are called GB, with two decimals. What the command itself used follows.
 */
#ifndef REPORT_RUN_MEM_SCAN_H
#define REPORT_RUN_MEM_SCAN_H

#include "procs/result.h"

#include <stdio.h>

void run_mem_scan_begin(const char *command, const char *gpu, uint64_t interval_ns, FILE *out);
void run_mem_scan_text(const struct watch_result *r, FILE *out);
void run_mem_scan_json(const struct watch_result *r, FILE *out);

#endif
