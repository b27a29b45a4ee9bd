/* choice - see choice.h. */
#include "devices/choice.h"

#include <stdio.h>
#include <string.h>

#define USAGE 2

static bool is_index(const char *text, size_t length)
{
    return length > 0 && length < DEVICE_INDEX && strspn(text, "0123456789.") >= length;
}

static int unknown(const char *text, size_t length, struct err *err)
{
    char names[128];

    return err_code(
        err, USAGE,
        "'%.*s' is not a device; write all, none, a kind (%s) or one of a kind, such as nvidia:0",
        (int)length, text, device_kind_names(names, sizeof(names), ", "));
}

const char *device_choices(void)
{
    static char words[256] = "all none ";

    device_kind_names(words + strlen("all none "), sizeof(words) - strlen("all none "), " ");
    return words;
}

static int parse_one(const char *text, size_t length, struct device_choice *c, struct err *err)
{
    const char *colon = memchr(text, ':', length);
    size_t name = colon ? (size_t)(colon - text) : length;
    struct device_wish wish = {.kind = device_kind_find(text, name)};

    if (length == 3 && !memcmp(text, "all", 3))
        return c->all = true, 0;
    if (length == 4 && !memcmp(text, "none", 4))
        return c->none = true, 0;
    if (!wish.kind || (colon && !is_index(colon + 1, length - name - 1)))
        return unknown(text, length, err);
    if (c->count == DEVICE_CHOICES_MOST)
        return err_code(err, USAGE, "more than %d devices", DEVICE_CHOICES_MOST);
    if (colon)
        snprintf(wish.index, sizeof(wish.index), "%.*s", (int)(length - name - 1), colon + 1);
    c->wishes[c->count++] = wish;
    return 0;
}

int device_choice_parse(const char *text, void *choice, struct err *err)
{
    struct device_choice *c = choice;

    for (const char *s = text;; s++) {
        size_t length = strcspn(s, ",");

        if (parse_one(s, length, c, err) < 0)
            return -1;
        s += length;
        if (!*s)
            break;
    }
    if (c->none && (c->all || c->count || c->gpu_asked))
        return err_code(err, USAGE,
                        "--device none leaves no device to read; give only one of the two");
    return 0;
}

int device_choice_parse_gpu(const char *text, void *choice, struct err *err)
{
    struct device_choice *c = choice;

    if (!is_index(text, strlen(text)) || strchr(text, '.'))
        return err_code(err, USAGE, "'%s' is not the number of a device, such as 0", text);
    if (c->none)
        return err_code(err, USAGE,
                        "--device none leaves no device to read; give only one of the two");
    snprintf(c->gpu, sizeof(c->gpu), "%s", text);
    c->gpu_asked = true;
    return 0;
}

bool device_choice_asked(const struct device_choice *c)
{
    return c->all || c->count || c->gpu_asked;
}

bool device_choice_kind(const struct device_choice *c, const struct device_kind *k,
                        const struct device_kind *gpu)
{
    if (c->none)
        return false;
    if (c->all || !device_choice_asked(c) || (c->gpu_asked && k == gpu))
        return true;
    for (size_t i = 0; i < c->count; i++)
        if (c->wishes[i].kind == k)
            return true;
    return false;
}

/* "0" has "0" and "0.1", not "01". */
static bool has(const char *wish, const char *index)
{
    size_t length = strlen(wish);

    return !length || (!strncmp(wish, index, length) && (!index[length] || index[length] == '.'));
}

bool device_choice_device(const struct device_choice *c, const struct device_kind *k,
                          const struct device_kind *gpu, const char *index)
{
    if (c->none)
        return false;
    if (c->all || !device_choice_asked(c))
        return true;
    if (c->gpu_asked && k == gpu && has(c->gpu, index))
        return true;
    for (size_t i = 0; i < c->count; i++)
        if (c->wishes[i].kind == k && has(c->wishes[i].index, index))
            return true;
    return false;
}
