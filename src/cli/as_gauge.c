/* as_gauge - the tool under the name tidemark-devices: it reads devices that the kernel's files tell of, for another
 * process of the tool, which must not wait for them.
 */
#include "cli/command.h"
#include "gauges/gauge.h"

static int run(int argc, char **argv, struct err *err)
{
    static const struct gauge *const list[] = {&gauge_drm, &gauge_dmem, NULL};

    (void)err;
    return argc == 2 ? gauge_serve(list, argv[1]) : EXIT_USAGE;
}

const struct command as_gauge = {.name = WIRE_PROGRAM, .options = command_no_options, .run = run};
