/* trend - see trend.h. */
#include "model/trend.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    double l = *(const double *)left, r = *(const double *)right;

    return l < r ? -1 : l > r;
}

/* What points of equal value take from the variance of the sum of signs. */
static double ties(const double *y, size_t count)
{
    double sorted[TREND_POINTS_MOST] = {0}, sum = 0;

    for (size_t i = 0; i < count; i++)
        sorted[i] = y[i];
    memory_sort(sorted, count, sizeof(*sorted), by_value);
    for (size_t i = 0, same = 1; i < count; i++, same++) {
        if (i + 1 < count && !by_value(&sorted[i], &sorted[i + 1]))
            continue;
        sum += (double)same * ((double)same - 1) * (2 * (double)same + 5);
        same = 0;
    }
    return sum;
}

static double mann_kendall(const double *y, size_t count)
{
    double n = (double)count, sum = 0, variance;

    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            sum += (y[k] > y[i]) - (y[k] < y[i]);
    variance = (n * (n - 1) * (2 * n + 5) - ties(y, count)) / 18;
    if (sum <= 0 || variance <= 0)
        return 1;
    return erfc((sum - 1) / sqrt(variance) / sqrt(2)) / 2;
}

/* At least so many heads in n throws of a coin. */
static double sign_test(const double *y, size_t count)
{
    unsigned int up = 0, n = 0;
    double chance = 0, term;

    for (size_t i = 1; i < count; i++) {
        up += y[i] > y[i - 1];
        n += y[i] > y[i - 1] || y[i] < y[i - 1];
    }
    term = pow(0.5, n);
    for (unsigned int k = 0; k <= n; k++) {
        chance += k >= up ? term : 0;
        term = term * (n - k) / (k + 1);
    }
    return chance < 1 ? chance : 1;
}

double trend_chance(const double *y, size_t count)
{
    double pairs, steps;

    if (count < 3 || count > TREND_POINTS_MOST)
        return 1;
    pairs = mann_kendall(y, count);
    steps = sign_test(y, count);
    return pairs > steps ? pairs : steps;
}

double trend_slope(const double *y, size_t count)
{
    double slopes[TREND_POINTS_MOST * (TREND_POINTS_MOST - 1) / 2];
    size_t n = 0;

    if (count < 2 || count > TREND_POINTS_MOST)
        return 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            slopes[n++] = (y[k] - y[i]) / (double)(k - i);
    memory_sort(slopes, n, sizeof(*slopes), by_value);
    return n % 2 ? slopes[n / 2] : (slopes[n / 2 - 1] + slopes[n / 2]) / 2;
}
