/* page_source - the section SRCE: the text of files with lines that pay, whole or around these. */
#include "page/page.h"

#include "base/memory.h"

#include <stdlib.h>

#define WHOLE_MOST 2000u
#define AROUND 12u
#define TEXT_MOST ((size_t)8 << 20)

struct paying { /* a line */
    const char *file;
    uint64_t line;
};

static int by_file(const void *left, const void *right)
{
    const struct paying *a = left, *b = right;

    if (a->file != b->file)
        return (uintptr_t)a->file < (uintptr_t)b->file ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Lines that pay, by the place of their files' names, as the sources are. */
static struct paying *paying_lines(const struct page *p, size_t *count)
{
    const struct blame *b = &p->lines->blame;
    struct paying *all = memory_zeroed(((size_t)p->line_count + 1) * sizeof(*all));

    *count = 0;
    for (uint32_t i = 1; i <= p->line_count; i++) {
        uint32_t line = p->line_list[i];

        if (line >= SCOPE_KINDS && b->lines[line].line)
            all[(*count)++] = (struct paying){b->files[b->lines[line].file].path,
                                              b->lines[line].line};
    }
    memory_sort(all, *count, sizeof(*all), by_file);
    return all;
}

/* Which lines of a file are wanted: a mark for each. */
static void mark_lines(const struct table_source *s, const struct paying *lines, size_t count,
                       unsigned char *wanted)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t at = lines[i].line;

        for (uint64_t k = at > AROUND ? at - AROUND : 1; k <= at + AROUND && k <= s->lines; k++)
            wanted[k] = 1;
    }
    for (uint64_t k = 1; s->lines <= WHOLE_MOST && k <= s->lines; k++)
        wanted[k] = 1;
}

static void put_file(struct emit *j, const struct table_source *s, const unsigned char *wanted,
                     size_t *left)
{
    uint64_t before = 0;

    emit_open(j, '{');
    emit_key(j, "file");
    emit_text(j, s->file);
    emit_key(j, "changed");
    emit_bool(j, s->changed);
    emit_key(j, "n");
    emit_open(j, '[');
    for (uint64_t i = 1; i <= s->lines; i++)
        if (wanted[i] && s->text[i - 1]) {
            emit_number(j, i - before);
            before = i;
        }
    emit_close(j, ']');
    emit_key(j, "text");
    emit_open(j, '[');
    for (uint64_t i = 1; i <= s->lines; i++)
        if (wanted[i] && s->text[i - 1]) {
            size_t bytes = emit_text_size(s->text[i - 1]);

            emit_text(j, bytes <= *left ? s->text[i - 1] : "");
            *left -= bytes <= *left ? bytes : 0;
        }
    emit_close(j, ']');
    emit_close(j, '}');
}

/* One file with the lines of it that pay: those from *at on. */
static void put_source(struct emit *j, const struct table_source *s, const struct paying *lines,
                       size_t count, size_t *at, size_t *left)
{
    unsigned char *wanted;
    size_t first;

    while (*at < count && (uintptr_t)lines[*at].file < (uintptr_t)s->file)
        ++*at;
    for (first = *at; *at < count && lines[*at].file == s->file;)
        ++*at;
    if (first == *at)
        return;
    wanted = memory_zeroed((size_t)s->lines + 2);
    mark_lines(s, lines + first, *at - first, wanted);
    put_file(j, s, wanted, left);
    free(wanted);
}

void page_source(const struct page *p, const struct page_words *w, struct pack *to)
{
    char *text = NULL;
    size_t bytes = 0, left = TEXT_MOST, count, at = 0;
    struct emit j = {.out = open_memstream(&text, &bytes), .first = true, .flat = true};
    struct paying *lines;
    struct bytes out = {0};

    if (!j.out)
        return;
    lines = paying_lines(p, &count);
    emit_open(&j, '[');
    for (size_t i = 0; i < w->source_count; i++)
        put_source(&j, &w->sources[i], lines, count, &at, &left);
    emit_close(&j, ']');
    fclose(j.out);
    bytes_put(&out, text, bytes);
    free(text);
    free(lines);
    pack_bytes(to, "SRCE", &out);
}
