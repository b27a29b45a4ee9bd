/* index - see index.h. */
#include "resolve/index.h"

#include "base/hash.h"

#include <string.h>

static uint64_t at_witnesses(void)
{
    return sizeof(struct index_head);
}

static uint64_t at_ranges(const struct index *x)
{
    return at_witnesses() + (uint64_t)x->head.witnesses * sizeof(struct index_witness);
}

static uint64_t at_nodes(const struct index *x)
{
    return at_ranges(x) + (uint64_t)x->head.ranges * sizeof(struct index_range);
}

static uint64_t at_strings(const struct index *x)
{
    return at_nodes(x) + (uint64_t)x->head.nodes * sizeof(struct index_node);
}

/* Into `text`, which has room for INDEX_TEXT_MOST; false where there is no such string. */
static bool read_text(struct index *x, uint32_t string, char *text)
{
    uint64_t at = at_strings(x) + string;
    uint32_t length;

    text[0] = '\0';
    if (string >= x->head.string_bytes || !sealed_read(&x->pages, at, &length, sizeof(length)) ||
        length >= INDEX_TEXT_MOST || !sealed_read(&x->pages, at + sizeof(length), text, length))
        return false;
    text[length] = '\0';
    return strlen(text) == length;
}

static bool says(struct index *x, uint32_t string, const char *expected)
{
    char text[INDEX_TEXT_MOST];

    return read_text(x, string, text) && strcmp(text, expected) == 0;
}

static bool is_about(struct index *x, const char *path, const char *id, uint64_t maker)
{
    const struct index_head *h = &x->head;

    return h->format == INDEX_FORMAT && h->maker == maker && h->witnesses <= INDEX_WITNESSES_MOST &&
           at_strings(x) + h->string_bytes == x->pages.bytes && says(x, h->path, path) &&
           says(x, h->id, id);
}

bool index_open(struct index *x, struct sealed *pages, const char *path, const char *id,
                uint64_t maker)
{
    *x = (struct index){.pages = *pages};
    if (sealed_read(&x->pages, 0, &x->head, sizeof(x->head)) &&
        is_about(x, path, id ? id : "", maker))
        return true;
    index_close(x);
    return false;
}

void index_close(struct index *x)
{
    sealed_close(&x->pages);
    x->head = (struct index_head){0};
}

static bool is_unchanged(struct index *x, const struct index_witness *w)
{
    char path[INDEX_TEXT_MOST];
    struct samefile now;
    struct stat file;

    if (!read_text(x, (uint32_t)w->path, path))
        return false;
    now = samefile_of(stat(path, &file) == 0 ? &file : NULL);
    return memcmp(&now, &w->file, sizeof(now)) == 0;
}

/* The first witness is the file itself, which has nothing but its dates to be known by where it has
 * no build-id.
 */
static bool is_known(const struct index_witness *file, const char *id)
{
    return id[0] || !file->file.there || samefile_is_dated(&file->file);
}

bool index_holds(struct index *x, bool settled)
{
    char id[INDEX_TEXT_MOST];

    if (!read_text(x, x->head.id, id))
        return false;
    for (uint32_t i = 0; i < x->head.witnesses; i++) {
        struct index_witness w;

        if (!sealed_read(&x->pages, at_witnesses() + i * sizeof(w), &w, sizeof(w)) ||
            (i == 0 && !is_known(&w, id)) || !is_unchanged(x, &w) ||
            (settled && !samefile_is_settled(&w.file)))
            return false;
    }
    return x->head.witnesses > 0;
}

static bool range_at(struct index *x, uint32_t i, struct index_range *r)
{
    return sealed_read(&x->pages, at_ranges(x) + (uint64_t)i * sizeof(*r), r, sizeof(*r));
}

uint32_t index_node(struct index *x, uint64_t address)
{
    uint32_t low = 0, high = x->head.ranges;
    struct index_range r = {0, INDEX_NOTHING};

    if (address < x->head.base)
        return INDEX_NOTHING;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (!range_at(x, middle, &r))
            return INDEX_UNKNOWN;
        if (r.low <= address - x->head.base)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return INDEX_NOTHING;
    return range_at(x, low - 1, &r) ? r.node : INDEX_UNKNOWN;
}

size_t index_known(struct index *x, uint64_t *out, size_t room)
{
    struct index_range r;
    size_t count = 0;

    for (uint32_t i = 0; i < x->head.ranges && count < room && range_at(x, i, &r); i++)
        if (r.node != INDEX_UNKNOWN)
            out[count++] = x->head.base + r.low;
    return count;
}

static bool keep_text(struct index *x, struct strings *s, uint32_t string, const char **out)
{
    char text[INDEX_TEXT_MOST];

    *out = NULL;
    if (!string)
        return true;
    if (!read_text(x, string, text))
        return false;
    *out = strings_keep(s, text);
    return true;
}

int index_names(struct index *x, struct strings *s, uint32_t at, struct resolved_name *out,
                int most)
{
    int count = 0;

    if (at == INDEX_UNKNOWN)
        return -1;
    while (at != INDEX_NOTHING && count < most) {
        struct index_node n;

        if (at >= x->head.nodes ||
            !sealed_read(&x->pages, at_nodes(x) + (uint64_t)at * sizeof(n), &n, sizeof(n)) ||
            n.outer >= at || !keep_text(x, s, n.function, &out[count].function) ||
            !keep_text(x, s, n.file, &out[count].file))
            return -1;
        out[count++].line = n.line;
        at = n.outer;
    }
    return count;
}

const char *index_problem(struct index *x, struct strings *s)
{
    const char *text;

    keep_text(x, s, x->head.problem, &text);
    return text;
}

uint64_t index_maker(const char *helper)
{
    struct stat file;
    struct samefile f;
    uint64_t key = hash_bytes(HASH_START, helper, strlen(helper));

    if (stat(helper, &file) < 0)
        return 0;
    f = samefile_of(&file);
    key = hash_mix(hash_mix(hash_mix(key, f.device), f.inode), f.bytes);
    return hash_mix(hash_mix(key, f.modified_ns), f.changed_ns) | 1;
}
