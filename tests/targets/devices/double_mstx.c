/* double_mstx - a libms_tools_ext.so for tests: the functions of MSTX, which count what they are told. */
#include <stdint.h>

static uint64_t started;

void mstxMarkA(const char *name, void *stream)
{
    (void)name, (void)stream;
}

uint64_t mstxRangeStartA(const char *name, void *stream)
{
    return name && !stream ? ++started : 0;
}

void mstxRangeEnd(uint64_t id)
{
    started -= id > started;
}
