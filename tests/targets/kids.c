/* kids COUNT HOLD_MS - COUNT idle children at once; "ready" on stdout when all of them run. */
#include "target.h"

#include <sys/wait.h>

int main(int argc, char **argv)
{
    long count = target_number(argc, argv, 1, 10), hold_ms = target_number(argc, argv, 2, 100);
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0)
            target_fail("fork");
        if (pid == 0) {
            target_sleep(hold_ms);
            _exit(0);
        }
    }
    puts("ready");
    fflush(stdout);
    while (wait(NULL) > 0)
        continue;
    return 0;
}
