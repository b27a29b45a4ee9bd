/* execer MIB FILE [ARGS...] - touch MIB, then become FILE.
 *
 * The exec resets the kernel's high-water mark of this process, but the memory was used.
 */
#include "target.h"

int main(int argc, char **argv)
{
    if (argc < 3)
        return 99;
    target_touch((size_t)target_number(argc, argv, 1, 0) * MIB);
    execv(argv[2], argv + 2);
    target_fail(argv[2]);
}
