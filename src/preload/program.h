/* program - what kind of program a file is, for somebody who wants a library loaded into it.
 *
 * Reads a file through a function that is given, keeps nothing, allocates nothing and uses little
 * stack: it also serves inside programs, between vfork and exec.
 */
#ifndef PRELOAD_PROGRAM_H
#define PRELOAD_PROGRAM_H

#include "preload/dynamic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum program_kind {
    PROGRAM_UNKNOWN,       /* no ELF file, a damaged one, or it cannot be read */
    PROGRAM_PLAIN,         /* brought up by glibc's loader, with glibc's malloc or a library's */
    PROGRAM_OWN_MALLOC,    /* the same, but it has a malloc of its own inside */
    PROGRAM_STATIC,        /* no loader: it takes no library and minds none */
    PROGRAM_SANITIZED,     /* its sanitizer must come before every other library */
    PROGRAM_OTHER_LOADER,  /* that of another libc */
    PROGRAM_OLD_LOADER,    /* it is a loader itself, of another libc; or its libc is too old */
    PROGRAM_OTHER_MACHINE, /* 32-bit, or for another processor */
    PROGRAM_KINDS
};

typedef dynamic_read program_read;

enum program_kind program_kind(int fd, program_read *read);

/* The loader of a program, by path; false: it has none, or the name has no room. */
bool program_loader(int fd, program_read *read, char *out, size_t room);

/* Where the libc that belongs to a loader may be: the nth place to look at. False: there are no
 * more. */
bool program_libc(const char *loader, unsigned int nth, char *out, size_t room);

/* Whether a libc is a glibc that has what our library needs: 2.17 or later. */
bool program_libc_suits(int fd, program_read *read);

/* The interpreter of a script, its "#!" line; false: it is none, or the name has no room. */
bool program_script(int fd, program_read *read, char *out, size_t room);

/* Whether a program of this kind breaks or complains when the library is to be loaded into it. */
bool program_refuses(enum program_kind kind);

/* Whether a list of libraries (as LD_PRELOAD, may be NULL) has the runtime of a sanitizer: it wants
 * to be the first.
 */
bool program_lists_sanitizer(const char *list);

#endif
