/* typed - see typed.h. */
#include "base/typed.h"

#include "base/count.h"

#include <string.h>

/* An option's letters, as Python reads them: -c and -m take the rest, -W and -X a value. */
enum option { OPTION_PLAIN, OPTION_TEXT, OPTION_MODULE, OPTION_VALUE };

static enum option option_of(const char *word, const char **value)
{
    for (const char *at = word + 1; *at; at++) {
        *value = at[1] ? at + 1 : NULL;
        if (*at == 'c')
            return OPTION_TEXT;
        if (*at == 'm')
            return OPTION_MODULE;
        if (*at == 'W' || *at == 'X')
            return OPTION_VALUE;
    }
    return OPTION_PLAIN;
}

static const char *next_word(const char *at, const char *end)
{
    const char *nul = memchr(at, '\0', (size_t)(end - at));

    return nul && nul + 1 < end ? nul + 1 : NULL;
}

const char *typed_text(const char *words, size_t bytes, size_t *left)
{
    const char *end = words + bytes, *at, *value;

    for (at = bytes ? next_word(words, end) : NULL; at; at = next_word(at, end)) {
        enum option option;

        if (*at != '-' || !memchr(at, '\0', (size_t)(end - at)))
            return NULL; /* a script, or cut off */
        value = NULL;
        option = at[1] == '-' ? OPTION_PLAIN : option_of(at, &value);
        if (option == OPTION_MODULE)
            return NULL;
        if (option == OPTION_TEXT && !value)
            value = next_word(at, end);
        if (option == OPTION_TEXT) {
            *left = value ? (size_t)(end - value) : 0;
            return value;
        }
        if ((option == OPTION_VALUE && !value) || strcmp(at, "--check-hash-based-pycs") == 0)
            at = next_word(at, end);
        if (!at)
            break;
    }
    return NULL;
}

static bool skip(const char **at, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

static bool skip_one(const char **at, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (skip(at, words[i]))
            return true;
    return false;
}

bool typed_is_boot(const char *text)
{
    static const char *const packages[] = {"multiprocessing.", "joblib.externals.loky.backend.",
                                           "loky.backend."};
    static const char *const modules[] = {"spawn import spawn_main", "forkserver import main",
                                          "resource_tracker import main",
                                          "semaphore_tracker import main"};

    if (!skip(&text, "from ") || !skip_one(&text, packages, COUNT(packages)) ||
        !skip_one(&text, modules, COUNT(modules)) || !skip(&text, ";"))
        return false;
    text += strspn(text, " ");
    return skip(&text, "spawn_main(") || skip(&text, "main(");
}
