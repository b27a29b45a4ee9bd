/* redact - see redact.h. It rather leaves out too much: who asks for it can do without a word more.
 *
 * A word may be a whole command line (sh -c "..."), so each is looked at by its parts: what stands
 * between blanks and quotes.
 */
#include "base/redact.h"

#include "base/count.h"
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define STARS "***"

struct copy {
    char *out;
    size_t used, room;
};

static void put(struct copy *c, const char *text, size_t len)
{
    if (len > c->room - c->used)
        len = c->room - c->used;
    if (len)
        memcpy(c->out + c->used, text, len);
    c->used += len;
}

int redact_parse(const char *text, void *to, struct err *err)
{
    if (*text && strcmp(text, "all") != 0)
        return err_code(err, 2, "'%s' cannot be left out; write --redact or --redact=all", text);
    *(enum redact *)to = *text ? REDACT_ALL : REDACT_KNOWN;
    return 0;
}

static bool holds(const char *text, size_t len, const char *wanted)
{
    size_t n = strlen(wanted);

    for (size_t i = 0; i + n <= len; i++)
        if (strncasecmp(text + i, wanted, n) == 0)
            return true;
    return false;
}

/* Is this what a secret is called? */
static bool names_secret(const char *name, size_t len)
{
    static const char *const parts[] = {
        "passw",         "passphrase",  "secret",      "token",      "apikey",
        "api-key",       "api_key",     "accesskey",   "access-key", "access_key",
        "privatekey",    "private-key", "private_key", "credential", "bearer",
        "authorization", "auth-key",    "auth_key",    "cookie",     "encryption-key",
        "encryption_key"};
    static const char *const whole[] = {"p",    "pass", "pw",  "pwd", "psk",
                                        "auth", "key",  "sig", "pin"};

    while (len && *name == '-') {
        name++;
        len--;
    }
    for (int i = 0; i < COUNT(parts); i++)
        if (holds(name, len, parts[i]))
            return true;
    for (int i = 0; i < COUNT(whole); i++)
        if (len == strlen(whole[i]) && strncasecmp(name, whole[i], len) == 0)
            return true;
    return false;
}

/* "https://user:secret@host": up to the secret, and from the '@' on. */
static bool put_url(struct copy *c, const char *part, size_t len)
{
    const char *at = memmem(part, len, "://", 3), *end = part + len, *colon, *sign;

    sign = at ? memchr(at, '@', (size_t)(end - at)) : NULL;
    colon = sign ? memchr(at + 3, ':', (size_t)(sign - at - 3)) : NULL;
    if (!colon)
        return false;
    put(c, part, (size_t)(colon + 1 - part));
    put(c, STARS, 3);
    put(c, sign, (size_t)(end - sign));
    return true;
}

/* One part; true: the one after it is a secret. */
static bool put_part(struct copy *c, const char *part, size_t len)
{
    const char *is = memchr(part, '=', len);
    const char *colon = is ? NULL : memchr(part, ':', len);
    size_t name = is ? (size_t)(is - part) : colon ? (size_t)(colon - part) : len;

    if (put_url(c, part, len))
        return false;
    if (is && names_secret(part, name)) { /* --token=VALUE, PGPASSWORD=VALUE */
        put(c, part, name + 1);
        put(c, STARS, 3);
        return false;
    }
    if (len > 2 && part[0] == '-' && part[1] == 'p') { /* mysql -pVALUE */
        put(c, "-p" STARS, 5);
        return false;
    }
    put(c, part, len);
    if (colon) /* "Authorization: VALUE" */
        return name + 1 == len && names_secret(part, name);
    return !is && len && (part[0] == '-' || (len == 6 && strncasecmp(part, "bearer", 6) == 0)) &&
           names_secret(part, len);
}

static bool separates(char c)
{
    return c == '\0' || isspace((unsigned char)c) || c == '\'' || c == '"';
}

static size_t part_length(const char *at, const char *end)
{
    const char *to = at;

    while (to < end && !separates(*to))
        to++;
    return (size_t)(to - at);
}

/* A secret that is a word of its own may hold blanks; in a line of words it may not. */
static size_t secret_length(const char *word, const char *at, const char *end)
{
    return at == word ? strnlen(at, (size_t)(end - at)) : part_length(at, end);
}

static void put_known(struct copy *c, const char *words, size_t len)
{
    const char *end = words + len, *word = words;
    bool secret = false;

    for (const char *at = words; at < end;) {
        size_t n = part_length(at, end);

        if (n && secret && *at != '-') {
            n = secret_length(word, at, end);
            put(c, STARS, 3);
            secret = at != word && strncasecmp(at, "bearer", 6) == 0;
        } else if (n) {
            secret = put_part(c, at, n);
        }
        at += n;
        if (at < end) {
            put(c, at, 1);
            word = *at++ ? word : at;
        }
    }
}

static void put_all(struct copy *c, const char *words, size_t len)
{
    const char *end = words + len;

    for (const char *at = words, *next; at < end; at = next) {
        const char *nul = memchr(at, '\0', (size_t)(end - at));

        next = nul ? nul + 1 : end;
        if (at == words)
            put(c, at, (size_t)((nul ? nul : end) - at));
        else
            put(c, STARS, 3);
        if (nul)
            put(c, "", 1);
    }
}

size_t redact_words(char *out, size_t room, const char *words, size_t len, enum redact how)
{
    struct copy c = {.out = out, .room = room};

    if (how == REDACT_ALL)
        put_all(&c, words, len);
    else if (how == REDACT_KNOWN)
        put_known(&c, words, len);
    else
        put(&c, words, len);
    return c.used;
}
