/* which - the program that a call will start: see which.c. */
#ifndef INJECT_WHICH_H
#define INJECT_WHICH_H

#include "arch/arch.h"
#include "preload/program.h"

#include <spawn.h>
#include <stdbool.h>

enum how { EXECVE, EXECVPE, FEXECVE, EXECVEAT, SPAWN, SPAWNP };

struct call {
    enum how how;
    int fd, flags; /* FEXECVE, EXECVEAT */
    const char *path;
    char *const *argv;
    char *const *environment;
    pid_t *pid; /* SPAWN, SPAWNP, with what follows */
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes;
    struct caller by;
};

struct found { /* a program */
    enum program_kind kind;
    bool rights; /* it gets rights of its own, so that no library is loaded into it */
    bool loader; /* it is told what to run, and the library comes into that */
};

/* Of kind PROGRAM_UNKNOWN where it cannot be looked into. */
struct found which_program(const struct call *c);

#endif
