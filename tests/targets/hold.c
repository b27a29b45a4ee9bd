/* hold MIB - touch MIB, print "ready PID", keep it until stdin ends (then exit 0) or a signal. */
#include "target.h"

int main(int argc, char **argv)
{
    target_touch((size_t)target_number(argc, argv, 1, 0) * MIB);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return 0;
}
