/* csv - a text as one value of a CSV file, quoted as RFC 4180 says; lines end in LF.
 *
 * The texts are somebody else's: one that a spreadsheet would take for a formula (it begins with =
 * + - @ or a tab) has a ' before it, and controls and what is not UTF-8 are '?'.
 */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include <stdbool.h>
#include <stdio.h>

void csv_text(const char *text, FILE *out);
/* Part of a text that is between quotes already. Lines and tabs stay in it; other controls and what
 * misleads a reader do not.
 */
void csv_inside(const char *text, FILE *out);
/* Would a spreadsheet calculate with it? The wide forms of the signs count in some languages. */
bool csv_is_formula(const char *text);

#endif
