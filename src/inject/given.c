/* given - see given.h. */
#include "inject/given.h"

#include "arch/arch.h"
#include "inject/glimpse.h"

#include <string.h>
#include <unistd.h>

#define PAGE ARCH_PAGE_LEAST

static bool is_there(struct glimpse *g, const char *text)
{
    for (;;) {
        size_t left = PAGE - (uintptr_t)text % PAGE;
        char first;

        if (!glimpse_read(g, (uintptr_t)text, &first, 1))
            return false;
        if (strnlen(text, left) < left)
            return true;
        text += left;
    }
}

bool given_text(const char *text)
{
    struct glimpse g;

    if (!glimpse_allowed())
        return true;
    glimpse_begin(&g);
    return is_there(&g, text);
}

/* Our own is there: libc reads it, too. */
bool given_environment(char *const *environment)
{
    const char *entry;
    struct glimpse g;

    if (!environment || environment == environ || !glimpse_allowed())
        return true;
    glimpse_begin(&g);
    for (;; environment++) {
        if (!glimpse_read(&g, (uintptr_t)environment, &entry, sizeof(entry)))
            return false;
        if (!entry)
            return true;
        if (!is_there(&g, entry))
            return false;
    }
}
