/* memscope_said - marks that tell MindStudio MemScope what PyTorch's operators do:
 *
 *   memscope-aten-b: NAME      an operator begins; its end is -e
 *   memscope-aten-ac:ptr=N;is_write=True;is_read=False;...;name=NAME;...;tensor_size=N;...
 *
 * The same under their older name, leaks-aten. They become regions and accesses; of tensors that
 * are on no device nothing is said, so these are not all accesses.
 */
#include "inject/ranges.h"
#include "tidemark.h"

#include <string.h>

#define NAME_MOST 128

extern const struct tidemark_api marks_api __attribute__((visibility("hidden"))); /* marks.c */

static const char *after(const char *text, const char *start)
{
    size_t bytes = strlen(start);

    return strncmp(text, start, bytes) ? NULL : text + bytes;
}

/* A name ends with its text, or before what separates values; "torch._ops.aten.add.Tensor" stays
 * whole. */
static void copy_name(char *to, const char *from)
{
    size_t bytes;

    while (*from == ' ')
        from++;
    if (after(from, "name="))
        from += strlen("name=");
    bytes = strcspn(from, ";");
    bytes = bytes < NAME_MOST ? bytes : NAME_MOST - 1;
    memcpy(to, from, bytes);
    to[bytes] = '\0';
}

/* What stands behind KEY= at the start of a value; NULL: it has no such key. */
static const char *value_of(const char *text, const char *key)
{
    size_t bytes = strlen(key);

    for (; text; text = strchr(text, ';')) {
        text += *text == ';';
        if (!strncmp(text, key, bytes) && text[bytes] == '=')
            return text + bytes + 1;
    }
    return NULL;
}

static uint64_t number_of(const char *text, const char *key)
{
    const char *digit = value_of(text, key);
    uint64_t number = 0;

    while (digit && *digit >= '0' && *digit <= '9')
        number = number * 10 + (uint64_t)(*digit++ - '0');
    return number;
}

static bool is_true(const char *text, const char *key)
{
    const char *value = value_of(text, key);

    return value && (*value == 'T' || *value == 't' || *value == '1');
}

static void say_access(const char *text)
{
    unsigned int kind = (is_true(text, "is_read") ? TIDEMARK_READ : 0u) |
                        (is_true(text, "is_write") ? TIDEMARK_WRITE : 0u);
    uint64_t address = number_of(text, "ptr");
    const char *name = value_of(text, "name");
    char by[NAME_MOST];

    copy_name(by, name ? name : "");
    if (kind && address)
        marks_api.access((const void *)(uintptr_t)address, number_of(text, "tensor_size"), kind,
                         by);
}

static void say_begin(const char *text)
{
    char name[NAME_MOST];

    copy_name(name, text);
    marks_api.begin(name);
}

bool memscope_said(const char *text)
{
    const char *rest = after(text, "memscope-aten-");

    if (!rest)
        rest = after(text, "leaks-aten-");
    if (!rest)
        return false;
    if (after(rest, "ac:"))
        say_access(rest + 3);
    else if (after(rest, "b:"))
        say_begin(rest + 2);
    else if (after(rest, "e:"))
        marks_api.finish();
    else
        return false;
    return true;
}
