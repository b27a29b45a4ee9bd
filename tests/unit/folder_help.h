/* folder_help - a folder of a test's own in /tmp, and shell commands that know it as $D. */
#ifndef FOLDER_HELP_H
#define FOLDER_HELP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static char folder[] = "/tmp/tidemark_test.XXXXXX"; /* for mkdtemp */

/* Run a shell command made of the pieces. */
static inline __attribute__((format(printf, 1, 2))) bool sh(const char *fmt, ...)
{
    char command[2048];
    va_list args;

    va_start(args, fmt);
    vsnprintf(command, sizeof(command), fmt, args);
    va_end(args);
    return system(command) == 0;
}

/* Its path: good until fifteen others were asked for. */
static inline const char *in_folder(const char *name)
{
    static char paths[16][256];
    static int turn;
    char *path = paths[turn++ % 16];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

#endif
