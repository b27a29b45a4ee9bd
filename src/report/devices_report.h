/* devices_report - accelerators in the report of a run. */
#ifndef REPORT_DEVICES_REPORT_H
#define REPORT_DEVICES_REPORT_H

#include "report/run_report.h"

/* The device that a report of one device is about: the first whose memory is known; NULL: none. */
const struct watch_device *devices_report_first(const struct watch_result *r);

/* Those that the command used, that were asked for, or all of them where the report is verbose. */
void devices_report_text(const struct watch_result *r, const struct run_style *s, FILE *out);
/* The keys "devices" and "devices_missing". */
void devices_report_json(struct emit *j, const struct watch_result *r);

#endif
