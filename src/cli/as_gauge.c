/* as_gauge - the tool under the name tidemark-devices: it reads devices that the kernel's files
 * tell of, for another process of the tool, which must not wait for them.
 */
#include "cli/command.h"
#include "gauges/gauge.h"

#define BY_FILES(name) &gauge_##name,
#define BY_LIBRARY(name)

static int run(int argc, char **argv, struct err *err)
{
    static const struct gauge *const list[] = {
#define X(name, program, ...) BY_##program(name)
        DEVICE_KINDS(X)
#undef X
            NULL};

    (void)err;
    return argc == 2 ? gauge_serve(list, argv[1]) : EXIT_USAGE;
}

const struct command as_gauge = {.name = WIRE_PROGRAM, .options = command_no_options, .run = run};
