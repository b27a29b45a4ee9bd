/* What grows from step to step: series of numbers at the ends of steps. */
#include "check.h"

#include "model/step_growth.h"

#include <math.h>

#define STEPS_MOST 200

static struct named_moment ends[STEPS_MOST];
static struct named_moment *steps[STEPS_MOST];

typedef double held(size_t step);

static struct step_verdict judge(size_t count, held *at)
{
    struct moments_loop loop = {
        .name = "loop", .steps = steps, .count = count, .stacked_count = count};
    struct step_points points;
    struct step_verdict v;
    double y[STEP_GROWTH_POINTS];

    for (size_t i = 0; i < count; i++) {
        ends[i].time_ns = (i + 1) * 1000;
        steps[i] = &ends[i];
    }
    step_growth_points(&points, &loop);
    for (unsigned int i = 0; i < points.count; i++)
        y[i] = at(points.steps[i]);
    step_growth_judge(&points, y, &v);
    return v;
}

static double line(size_t step)
{
    return 5000 + 100.0 * (double)step;
}

static double cache(size_t step)
{
    return step < 20 ? 300.0 * (double)step : 6000;
}

static double constant(size_t step)
{
    return 7000 + 0 * (double)step;
}

static double queue(size_t step)
{
    return step % 2 ? 9000 : 1000;
}

static double sawtooth(size_t step)
{
    return 100.0 * (double)(step % 10);
}

static double slows(size_t step)
{
    return step < 50 ? 1000.0 * (double)step : 50000 + 10.0 * (double)(step - 50);
}

static double jumps(size_t step)
{
    return 4096.0 * floor((double)step / 8);
}

static void a_line_grows_by_its_slope(void)
{
    struct step_verdict v = judge(12, line);

    CHECK(v.trend == STEP_GROWING && v.per_step == 100);
    CHECK(v.first == 5000 && v.last == 6100 && v.rises == 11);
    v = judge(STEPS_MOST, line); /* more than there are points */
    CHECK(v.trend == STEP_GROWING && v.per_step == 100 && v.last == 5000 + 100 * (STEPS_MOST - 1));
}

static void few_steps_are_unclear(void)
{
    CHECK(judge(5, line).trend == STEP_UNCLEAR);
    CHECK(judge(2, line).trend == STEP_UNCLEAR);
    CHECK(judge(6, line).trend == STEP_GROWING);
}

static void what_levels_off_grew_once(void)
{
    CHECK(judge(100, cache).trend == STEP_GREW_ONCE);
    CHECK(judge(100, slows).trend == STEP_UNCLEAR);
}

static void what_comes_and_goes_is_steady(void)
{
    CHECK(judge(100, constant).trend == STEP_STEADY);
    CHECK(judge(100, queue).trend == STEP_STEADY);
    CHECK(judge(99, sawtooth).trend == STEP_STEADY);
}

static void growth_now_and_then_is_growth(void)
{
    struct step_verdict v = judge(64, jumps);

    CHECK(v.trend == STEP_GROWING && v.per_step > 400 && v.per_step < 600 && v.rises == 7);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a line grows by its slope", a_line_grows_by_its_slope},
        {"few steps are unclear", few_steps_are_unclear},
        {"what levels off grew once", what_levels_off_grew_once},
        {"what comes and goes is steady", what_comes_and_goes_is_steady},
        {"growth now and then is growth", growth_now_and_then_is_growth},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
