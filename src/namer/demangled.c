/* demangled - see demangled.h. Names are somebody else's: the demanglers write into a bounded
 * buffer, and a name that does not fit stays as it is.
 */
#include "namer/demangled.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#define MANGLED_MOST 8192

struct output {
    char *to;
    size_t used;
    jmp_buf full;
};

/* A name of a hundred bytes can demangle to gigabytes: leave as soon as the room is used up. What
 * libiberty leaves behind then is on its stack, but for a few bytes of a Rust name in punycode.
 */
static void append(const char *text, size_t length, void *opaque)
{
    struct output *out = opaque;

    if (length >= DEMANGLED_MOST - out->used)
        longjmp(out->full, 1);
    memcpy(out->to + out->used, text, length);
    out->used += length;
}

typedef int demangler(const char *, int, demangle_callbackref, void *);

static bool demangle(demangler *how, const char *name, char *to)
{
    struct output out = {.to = to};

    if (setjmp(out.full))
        return false;
    if (!how(name, DMGL_PARAMS | DMGL_ANSI, append, &out) || out.used == 0)
        return false;
    out.to[out.used] = 0;
    return true;
}

const char *demangled(const char *name, char out[DEMANGLED_MOST])
{
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') || strlen(name) > MANGLED_MOST)
        return name;
    if (demangle(rust_demangle_callback, name, out))
        return out;
    return demangle(cplus_demangle_v3_callback, name, out) ? out : name;
}
