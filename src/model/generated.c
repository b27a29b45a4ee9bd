/* generated - see generated.h. */
#include "model/generated.h"

#include "base/hash.h"

#include <ctype.h>
#include <string.h>

#define FOLDER "/torchinductor_"
#define AHEAD 64 /* lines after which nobody looks any more */

struct word {
    const char *text;
    size_t length;
};

static uint64_t key_of(const char *path, uint64_t line)
{
    return hash_mix(hash_bytes(HASH_START, path, strlen(path)), line);
}

void generated_take(struct generated *g, struct names *names, const struct trace_event *ev)
{
    const char *path = names_get(names, ev->source.file), *text;

    if (!path || !strstr(path, FOLDER))
        return;
    text = names_keep(names, ev->tail, ev->tail_bytes);
    if (text)
        intmap_put(&g->lines, key_of(path, ev->source.line), (uintptr_t)text);
}

/* Without what it is indented by; NULL: the trace does not have it. */
static const char *line_at(const struct generated *g, const char *file, uint64_t line)
{
    uint64_t text;

    if (!intmap_get(&g->lines, key_of(file, line), &text))
        return NULL;
    return (const char *)(uintptr_t)text + strspn((const char *)(uintptr_t)text, " \t");
}

/* ---- words of a line ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *line, struct word w)
{
    for (const char *at = line; (at = strstr(at, "buf")); at++)
        if ((at == line || !is_word(at[-1])) && strncmp(at, w.text, w.length) == 0 &&
            !is_word(at[w.length]))
            return true;
    return false;
}

/* "buf6" of "buf6 = ..."; what follows goes to *rest. */
static struct word assigned(const char *line, const char **rest)
{
    struct word w = {line, 0};

    while (is_word(line[w.length]))
        w.length++;
    *rest = strncmp(line + w.length, " = ", 3) == 0 ? line + w.length + 3 : NULL;
    return w;
}

/* Another name for the same memory. */
static bool is_alias(const char *rest, struct word w)
{
    static const char view[] = "reinterpret_tensor(";

    if (strncmp(rest, view, sizeof(view) - 1) == 0)
        rest += sizeof(view) - 1;
    return strncmp(rest, w.text, w.length) == 0 && !is_word(rest[w.length]);
}

/* "addmm" of "extern_kernels.addmm(", "fused_gelu" of "cpp_fused_gelu_1(" and
 * "triton_poi_fused_gelu_0.run(". */
static struct word called(const char *line)
{
    const char *end = strchr(line, '('), *fused = strstr(line, "fused_");
    struct word w = {line, end ? (size_t)(end - line) : 0};

    if (w.length > 4 && strncmp(end - 4, ".run", 4) == 0)
        w.length -= 4;
    if (fused && fused < line + w.length) {
        w.length -= (size_t)(fused - line);
        w.text = fused;
        while (w.length && isdigit((unsigned char)w.text[w.length - 1]))
            w.length--;
        while (w.length && w.text[w.length - 1] == '_')
            w.length--;
        return w;
    }
    for (size_t i = 0; i < w.length; i++)
        if (!is_word(w.text[i]) && w.text[i] != '.')
            return (struct word){0};
    for (end = w.text + w.length; end > w.text && is_word(end[-1]);)
        end--;
    return (struct word){end, w.length - (size_t)(end - w.text)};
}

/* ---- from line to line ---- */

const char *generated_kernel(const struct generated *g, const char *file, uint64_t line,
                             size_t *length)
{
    const char *text = line_at(g, file, line), *rest = NULL;
    struct word buffer = {0}, other;

    if (text)
        buffer = assigned(text, &rest);
    for (uint64_t i = line + 1; rest && i <= line + AHEAD && (text = line_at(g, file, i)); i++) {
        const char *value;

        if (*text == '#' || !has_word(text, buffer))
            continue;
        other = assigned(text, &value);
        if (value && is_alias(value, buffer)) {
            buffer = other;
            continue;
        }
        other = called(value ? value : text);
        *length = other.length;
        return other.length ? other.text : NULL;
    }
    return NULL;
}

void generated_free(struct generated *g)
{
    intmap_free(&g->lines);
}
