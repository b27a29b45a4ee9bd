/* idle_timer MS - wakes every MS ms and does nothing: what a wake-up alone costs on this machine. */
#include <poll.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int ms = argc > 1 ? atoi(argv[1]) : 10;

    for (int left = 6000 / ms; left > 0; left--)
        poll(NULL, 0, ms);
    return 0;
}
