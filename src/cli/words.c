/* words - see words.h. */
#include "cli/words.h"

#include "platform/platform.h"

#include <string.h>

const char *words_joined(struct arena *a, char *const *words)
{
    size_t len = 1;
    char *text, *at;

    for (char *const *w = words; *w; w++)
        len += strlen(*w) + 1;
    at = text = arena_alloc(a, len);
    for (char *const *w = words; *w; w++)
        at = stpcpy(w == words ? at : stpcpy(at, " "), *w);
    return text;
}

const char *words_of(struct arena *a, int pid)
{
    char words[4096];
    size_t n = proc_command(pid, words, sizeof(words));

    for (size_t k = 0; k < n; k++)
        if (!words[k])
            words[k] = ' ';
    return n ? arena_strndup(a, words, n) : arena_printf(a, "process %d", pid);
}
