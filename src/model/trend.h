/* trend - does a series of numbers, taken at equal distances, rise?
 *
 * Two tests must agree. Mann and Kendall's counts the pairs of points that rise against those that
 * fall: it sees through one that rises slowly and falls at once, again and again. The sign test
 * counts the steps that rise against those that fall: it sees through one that merely wanders. The
 * larger of their two probabilities is taken, so the chance of error is at most that.
 */
#ifndef MODEL_TREND_H
#define MODEL_TREND_H

#include <stddef.h>
#include <stdint.h>

#define TREND_POINTS_MOST 64

/* The probability that a series without a trend rises as clearly as this one: 0 .. 1. */
double trend_chance(const double *y, size_t count);

/* The median of the slopes between all pairs of points (Theil and Sen), per step. */
double trend_slope(const double *y, size_t count);

#endif
