/* run_posix - `tidemark run` alone, on the platform of posix.c. */
#include "cli/command.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct err err = {0};
    int status = cmd_run.run(argc, argv, &err);

    fflush(stdout);
    if (status >= 0)
        return status;
    fprintf(stderr, "run_posix: %s\n", err.text);
    return err.code;
}
