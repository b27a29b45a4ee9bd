/* diff_lines - the CPU time and the waiting of two recordings, compared by line of source.
 *
 * A line is the same where its text is, in a function of the same name in a file of the same name:
 * lines that were put before it do not matter. Where the text is not known, the number of the line
 * stands for it.
 *
 * Both times are sampled. A change has the error that follows from that, and is called one only
 * where it is more than twice as large; what a machine does differently from one run to the next is
 * not in it.
 */
#ifndef QUESTIONS_DIFF_LINES_H
#define QUESTIONS_DIFF_LINES_H

#include "model/line_sums.h"
#include "questions/table.h"

enum diff_lines_by { DIFF_LINES_BY_BOTH, DIFF_LINES_BY_CPU, DIFF_LINES_BY_WAITING };

/* Do both have CPU time, or both waits? */
bool diff_lines_known(const struct line_sums *sides);

/* The sums into `totals`, and a table of the lines that differ, at most `most`; none where times
 * are not known. Both sides were read.
 */
void diff_lines_add(struct answer *a, struct table *totals, const struct line_sums *sides,
                    enum diff_lines_by by, uint64_t most);

#endif
