/* alike - how much of two lines of source is the same: an edited line is one line that changed, not
 * one that went and one that came. The page judges so as well (web/src/changed.js).
 */
#ifndef QUESTIONS_ALIKE_H
#define QUESTIONS_ALIKE_H

/* The part of their words that both have, whatever their order: 1 all, 0 none. Of a long line the
 * beginning counts.
 */
double alike_lines(const char *a, const char *b);

#endif
