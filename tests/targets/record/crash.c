/* 1500 events, then an end of the given kind. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "exit";

    for (int i = 0; i < 1000; i++) {
        char *volatile p = malloc(1000);

        p[0] = 1;
        if (i % 2)
            free(p);
    }
    if (!strcmp(how, "segv"))
        *(volatile int *)8 = 1;
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "_exit"))
        _exit(3);
    if (!strcmp(how, "exec"))
        execl("/bin/true", "true", (char *)0);
    return 0;
}
