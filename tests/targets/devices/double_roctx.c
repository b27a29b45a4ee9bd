/* double_roctx - a libroctx64.so.4 for tests: the functions of ROCTX, which count what they are
 * told. */
#include <stdint.h>

static int depth;
static uint64_t started;

int roctxRangePushA(const char *name)
{
    return name ? depth++ : -1;
}

int roctxRangePop(void)
{
    return --depth;
}

void roctxMarkA(const char *name)
{
    (void)name;
}

uint64_t roctxRangeStartA(const char *name)
{
    return name ? ++started : 0;
}

void roctxRangeStop(uint64_t id)
{
    started -= id > started;
}
