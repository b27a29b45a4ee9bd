/* format_pprof - stacks as a profile.proto, for `go tool pprof` and what else reads that: top,
 * lines, trees, differences (-diff_base). One value for each sum that the table has; a function's
 * place is its file and line, a module is a mapping. It is not compressed, which readers allow;
 * gzip makes it smaller.
 *
 * The encoding is protobuf's: a field is its number and kind, then a varint, or a length and bytes.
 */
#include "base/intmap.h"
#include "base/memory.h"
#include "report/formats.h"
#include "report/stack_tree.h"
#include "trace/varint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROFILE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_TEXT
};
enum { PROFILE_DEFAULT_TYPE = 14 };
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };
enum { VARINT, BYTES = 2 };

struct message {
    unsigned char *bytes;
    size_t count, room;
};

struct profile {
    const struct stack_tree *tree;
    FILE *out;
    struct intmap modules;
    struct intmap texts; /* by their place: 1 + number */
    const char **text;   /* by number */
    size_t text_count, text_room;
    struct arena arena; /* of names that are made here */
    uint64_t mappings;
};

static void put_varint(struct message *m, uint64_t v)
{
    memory_fit(m->bytes, m->room, m->count + VARINT_MOST);
    m->count = (size_t)(varint_put(m->bytes + m->count, v) - m->bytes);
}

static void put_number(struct message *m, unsigned int field, uint64_t v)
{
    if (!v)
        return; /* as if it were there */
    put_varint(m, field << 3 | VARINT);
    put_varint(m, v);
}

static void put_bytes(struct message *m, unsigned int field, const void *bytes, size_t count)
{
    put_varint(m, field << 3 | BYTES);
    put_varint(m, count);
    memory_fit(m->bytes, m->room, m->count + count);
    memcpy(m->bytes + m->count, bytes, count);
    m->count += count;
}

/* Into the one that it is a part of. It is empty then. */
static void put_message(struct message *m, unsigned int field, struct message *part)
{
    put_bytes(m, field, part->bytes ? part->bytes : (const void *)"", part->count);
    part->count = 0;
}

static void send(struct profile *p, unsigned int field, struct message *part)
{
    struct message head = {0};

    put_varint(&head, field << 3 | BYTES);
    put_varint(&head, part->count);
    fwrite(head.bytes, 1, head.count, p->out);
    if (part->count)
        fwrite(part->bytes, 1, part->count, p->out);
    free(head.bytes);
    part->count = 0;
}

/* Texts have numbers, which are known before they are written; 0 is "". */
static uint64_t text(struct profile *p, const char *s)
{
    uint64_t known;

    if (!s || !*s)
        return 0;
    if (intmap_get(&p->texts, (uintptr_t)s, &known))
        return known;
    memory_fit(p->text, p->text_room, p->text_count + 2);
    p->text[++p->text_count] = s;
    intmap_put(&p->texts, (uintptr_t)s, p->text_count);
    return p->text_count;
}

static void put_types(struct profile *p, struct message *m)
{
    for (int i = 0; i < p->tree->values; i++) {
        const struct table_column *c = &p->tree->table->columns[p->tree->columns[i]];

        put_number(m, TYPE_NAME, text(p, c->name));
        put_number(m, TYPE_UNIT,
                   text(p, c->unit == UNIT_BYTES ? "bytes"
                           : c->unit == UNIT_NS  ? "nanoseconds"
                                                 : "count"));
        send(p, PROFILE_TYPE, m);
    }
}

static void put_sample(struct profile *p, uint32_t node, struct message *m, struct message *list)
{
    const struct stack_node *n = &p->tree->nodes[node];

    for (uint32_t at = node; at; at = p->tree->nodes[at].parent)
        put_varint(list, p->tree->nodes[at].frame);
    put_message(m, SAMPLE_LOCATIONS, list);
    for (int i = 0; i < p->tree->values; i++)
        put_varint(list, n->own[i]);
    put_message(m, SAMPLE_VALUES, list);
    send(p, PROFILE_SAMPLE, m);
}

static bool has_own(const struct stack_tree *t, const struct stack_node *n)
{
    uint64_t any = 0;

    for (int i = 0; i < t->values; i++)
        any |= n->own[i];
    return any != 0;
}

/* A module is a mapping without addresses that mean anything: those of a location are in its file.
 */
static uint64_t mapping_of(struct profile *p, const char *module, struct message *m)
{
    uint64_t known;

    if (!module)
        return 0;
    if (intmap_get(&p->modules, (uintptr_t)module, &known))
        return known;
    put_number(m, MAPPING_ID, ++p->mappings);
    put_number(m, MAPPING_FILE, text(p, module));
    put_number(m, MAPPING_HAS_FUNCTIONS, 1);
    send(p, PROFILE_MAPPING, m);
    intmap_put(&p->modules, (uintptr_t)module, p->mappings);
    return p->mappings;
}

/* A frame is a location and a function of the same number. */
static void put_frame(struct profile *p, uint32_t number, struct message *m, struct message *line)
{
    const struct table_frame *f = p->tree->frames[number];
    uint64_t mapping = mapping_of(p, f->module, m);

    put_number(m, LOCATION_ID, number);
    put_number(m, LOCATION_MAPPING, mapping);
    put_number(m, LOCATION_ADDRESS, f->flags & TABLE_FRAME_PYTHON ? 0 : f->address);
    put_number(line, LINE_FUNCTION, number);
    put_number(line, LINE_NUMBER, f->line);
    put_message(m, LOCATION_LINE, line);
    send(p, PROFILE_LOCATION, m);
    put_number(m, FUNCTION_ID, number);
    put_number(m, FUNCTION_NAME, text(p, stack_frame_name(&p->arena, f)));
    put_number(m, FUNCTION_FILE, text(p, f->file));
    send(p, PROFILE_FUNCTION, m);
}

static void put_texts(struct profile *p, struct message *m)
{
    send(p, PROFILE_TEXT, m); /* the empty one */
    for (size_t i = 1; i <= p->text_count; i++) {
        struct message whole = {(unsigned char *)p->text[i], strlen(p->text[i]), 0};

        send(p, PROFILE_TEXT, &whole);
    }
}

static void put_profile(struct profile *p)
{
    struct message m = {0}, part = {0};

    put_types(p, &m);
    for (uint32_t n = 1; n < p->tree->count; n++)
        if (has_own(p->tree, &p->tree->nodes[n]))
            put_sample(p, n, &m, &part);
    for (uint32_t i = 1; i <= p->tree->frame_count; i++)
        put_frame(p, i, &m, &part);
    put_number(&m, PROFILE_DEFAULT_TYPE, text(p, p->tree->table->columns[*p->tree->columns].name));
    fwrite(m.bytes, 1, m.count, p->out);
    m.count = 0;
    put_texts(p, &m);
    free(m.bytes);
    free(part.bytes);
}

static void write_pprof(const struct answer *a, FILE *out)
{
    struct stack_tree t;
    struct profile p = {.tree = &t, .out = out};

    if (stack_tree_make(&t, a))
        put_profile(&p);
    stack_tree_free(&t);
    intmap_free(&p.modules);
    intmap_free(&p.texts);
    free(p.text);
    arena_free(&p.arena);
}

const struct format format_pprof = {
    .name = "pprof",
    .summary = "stacks as a profile.proto, for go tool pprof",
    .stacks = true,
    .write = write_pprof,
};
