#include "cli/words.h"

#include <stdio.h>
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
    char path[40], words[4096];
    FILE *in;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    in = fopen(path, "re");
    n = in ? fread(words, 1, sizeof(words) - 1, in) : 0;
    if (in)
        fclose(in);
    while (n && !words[n - 1])
        n--;
    for (size_t i = 0; i < n; i++)
        if (!words[i])
            words[i] = ' ';
    return n ? arena_strndup(a, words, n) : arena_printf(a, "process %d", pid);
}
