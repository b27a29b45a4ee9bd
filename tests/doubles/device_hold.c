/* device_hold - holds memory of virtual devices: "device_hold HOW DEVICE MIB [DEVICE MIB...]", for
 * as many seconds as HOW says, or, if that is "seen", until it was asked for several times. Says
 * "held" when it does; with MIB of 0 it takes none.
 */
#include "virtual.h"

#include <stdio.h>

static void wait_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    struct virtual_machine *m = virtual_machine();

    if (!m)
        return 3;
    for (int i = 2; i + 1 < argc; i += 2)
        virtual_hold(&m->device[atoi(argv[i]) % VIRTUAL_DEVICES], (uint64_t)atol(argv[i + 1])
                                                                      << 20);
    puts("held");
    fflush(stdout);
    if (argc > 1 && !strcmp(argv[1], "seen"))
        virtual_wait_until_seen(m);
    else if (argc > 1)
        wait_for(atof(argv[1]));
    for (int i = 2; i + 1 < argc; i += 2)
        virtual_hold(&m->device[atoi(argv[i]) % VIRTUAL_DEVICES], 0);
    return 0;
}
