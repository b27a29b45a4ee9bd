/* Series that rise, and such that only seem to. */
#include "check.h"

#include "model/trend.h"

#include <math.h>
#include <stdlib.h>

#define POINTS 25

static double y[POINTS];

static void fill(double (*value)(int i))
{
    for (int i = 0; i < POINTS; i++)
        y[i] = value(i);
}

static double line(int i)
{
    return 1000 + 3.5 * i;
}

static double level(int i)
{
    (void)i;
    return 7;
}

static double falling(int i)
{
    return -2.0 * i;
}

static double saw(int i)
{
    return i % 6;
}

static double once(int i)
{
    return i < 3 ? 0 : 500;
}

static double with_spike(int i)
{
    return i == 11 ? 1e9 : 2.0 * i;
}

static void test_what_rises(void)
{
    fill(line);
    CHECK(trend_chance(y, POINTS) < 1e-6);
    CHECK(fabs(trend_slope(y, POINTS) - 3.5) < 1e-9);
    fill(with_spike);
    CHECK(trend_chance(y, POINTS) < 1e-4);
    CHECK(fabs(trend_slope(y, POINTS) - 2) < 0.2);
}

static void test_what_does_not(void)
{
    fill(level);
    CHECK(trend_chance(y, POINTS) > 0.99);
    CHECK(trend_slope(y, POINTS) == 0);
    fill(falling);
    CHECK(trend_chance(y, POINTS) > 0.99);
    CHECK(fabs(trend_slope(y, POINTS) + 2) < 1e-9);
    fill(saw);
    CHECK(trend_chance(y, POINTS) > 0.05);
    fill(once);
    CHECK(trend_chance(y, POINTS) > 0.4);
    CHECK(trend_slope(y, POINTS) == 0);
}

/* Steps up or down by chance wander far: few of such walks may be said to rise. */
static void test_what_wanders(void)
{
    int said = 0;

    srand(1);
    for (int walk = 0; walk < 2000; walk++) {
        y[0] = 0;
        for (int i = 1; i < POINTS; i++)
            y[i] = y[i - 1] + (rand() / (RAND_MAX / 2) ? 1 : -1);
        said += trend_chance(y, POINTS) <= 0.01;
    }
    CHECK(said <= 20);
}

/* Seven steps of one, with nothing between them, are the fewest that say it with 99 %. */
static void test_few_steps(void)
{
    for (int steps = 1; steps <= 8; steps++) {
        for (int i = 0; i < POINTS; i++)
            y[i] = (double)(int)(i * steps / (POINTS - 1));
        CHECK((trend_chance(y, POINTS) <= 0.01) == (steps >= 7));
    }
    CHECK(trend_chance(y, 2) == 1);
    CHECK(trend_slope(y, 1) == 0);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what rises", test_what_rises},
        {"what does not", test_what_does_not},
        {"what wanders", test_what_wanders},
        {"few steps", test_few_steps},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
