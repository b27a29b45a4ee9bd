/* vsz RESERVE_MIB TOUCH_MIB HOLD_MS - reserve address space and give it back, then touch memory.
 *
 * The peak of VSZ comes before the peak of RSS, so a tool that takes both at one moment is wrong.
 */
#include "target.h"

int main(int argc, char **argv)
{
    size_t reserve = (size_t)target_number(argc, argv, 1, 1024) * MIB;
    long hold_ms = target_number(argc, argv, 3, 50);
    char *p = mmap(NULL, reserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        target_fail("mmap");
    target_sleep(hold_ms);
    munmap(p, reserve);
    target_touch((size_t)target_number(argc, argv, 2, 32) * MIB);
    target_sleep(hold_ms);
    return 0;
}
