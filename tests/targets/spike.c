/* spike MIB HOLD_MS [BEFORE_MS [AFTER_MS]] - idle, hold MIB for HOLD_MS, give it back, idle.
 *
 * Prints nothing. Its peak is MIB and what a C program needs anyway (1-2 MiB).
 */
#include "target.h"

int main(int argc, char **argv)
{
    size_t bytes = (size_t)target_number(argc, argv, 1, 16) * MIB;
    target_sleep(target_number(argc, argv, 3, 0));
    char *p = target_touch(bytes);
    target_sleep(target_number(argc, argv, 2, 0));
    if (p)
        munmap(p, bytes);
    target_sleep(target_number(argc, argv, 4, 0));
    return 0;
}
