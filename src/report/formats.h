/* formats - ways to write an answer; one file each, one line in formats.c. */
#ifndef REPORT_FORMATS_H
#define REPORT_FORMATS_H

#include "analyze/table.h"

#include <stdio.h>

struct format {
    const char *name;
    const char *summary;  /* half a line, for help */
    const char *question; /* the question it is made for; NULL: any */
    bool stacks;          /* it writes a table with stacks, and so needs one */
    void (*write)(const struct answer *a, FILE *out);
};

extern const struct format format_text, format_json, format_csv, format_resource_log,
    format_collapsed, format_scalene;

/* NULL-terminated; the first is the default. */
extern const struct format *const formats[];
const struct format *format_find(const char *name);

/* The first table that has a stack and a size in each row; NULL: none has. */
const struct table *formats_stacks(const struct answer *a);

#endif
