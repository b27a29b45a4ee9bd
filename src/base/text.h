/* text - sizes, times and dates, from text and to text. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_SIZE 32  /* room for any size or duration */
#define TEXT_STAMP 40 /* room for any date */

/* "512", "1.5G" (SI), "1 GiB" (IEC); any case. */
int text_parse_size(const char *text, uint64_t *bytes, struct err *err);

/* Binary units, one decimal: "512 B", "1.0 KiB". Returns `out`. */
char *text_size(char out[TEXT_SIZE], uint64_t bytes);
/* The same in a fixed unit: B KB MB GB KiB MiB GiB; NULL: as text_size. */
char *text_size_in(char out[TEXT_SIZE], uint64_t bytes, const char *unit);
bool text_unit_known(const char *unit);

/* "100" (ms), "50ms", "0.05s", "2m": at least 1 ms. */
int text_parse_interval(const char *text, uint64_t *ns, struct err *err);
/* A moment of something that took whole_ns: "1.5" (s), "200ms", "2m", or "25%" of it. */
int text_parse_moment(const char *text, uint64_t whole_ns, uint64_t *ns, struct err *err);
/* "1.50 s", "12 ms", "2 m 05 s". */
char *text_duration(char out[TEXT_SIZE], uint64_t ns);

/* RFC 3339, UTC, microseconds: "2024-06-01T12:34:56.500000+00:00". */
char *text_stamp(char out[TEXT_STAMP], uint64_t real_ns);
/* "2024-06-01 12:34:56", UTC. */
char *text_date(char out[TEXT_STAMP], uint64_t real_ns);

/* A whole decimal number and nothing else. */
bool text_parse_number(const char *text, uint64_t *number);

/* "1234567" as "1,234,567". Returns `out`. */
char *text_count(char out[TEXT_SIZE], uint64_t number);

/* The nearest whole number that a uint64_t can hold. */
uint64_t text_rounded(double value);

/* The name of a file without its folders; a path that ends in one as it is, and NULL as NULL. */
const char *text_base(const char *path);
/* Code that has no name is "libz.so.1+0x1234"; writes that, as snprintf does. */
int text_place(char *out, size_t room, const char *path, uint64_t address);
/* Is that what a function of this file is called? */
bool text_is_place(const char *function, const char *path);
/* The same for a source; with its folder where many have such a name: "gdb/__init__.py". */
const char *text_source(const char *path);

/* How many columns the text takes on a terminal: what utf8_show gives, one each. */
size_t text_width(const char *utf8);

#endif
