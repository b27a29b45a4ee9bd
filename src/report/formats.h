/* formats - ways to write an answer; one file each, one line in formats.c. */
#ifndef REPORT_FORMATS_H
#define REPORT_FORMATS_H

#include "analyze/table.h"

#include <stdio.h>

struct format {
    const char *name;
    const char *summary;  /* half a line, for help */
    const char *question; /* the question it is made for; NULL: any */
    void (*write)(const struct answer *a, FILE *out);
};

extern const struct format format_text, format_json, format_csv, format_resource_log;

/* NULL-terminated; the first is the default. */
extern const struct format *const formats[];
const struct format *format_find(const char *name);

#endif
