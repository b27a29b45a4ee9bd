/* resolve - see resolve.h. One request at a time goes over a socket to the helper; when it dies or
 * takes too long, the module that it was asked about is given up, and another helper is started for
 * the next.
 */
#include "resolve/resolve.h"

#include "base/kept.h"
#include "base/memory.h"
#include "resolve/cache.h"
#include "resolve/reader.h"
#include "resolve/strings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MOST 65536u /* stretches of one file: more would take a second to name */
#define ANSWER_MS 180000  /* the longest wait: for a large file, or for debuginfod */

struct resolver {
    struct resolver_options options;
    struct strings strings;
    struct intmap failed; /* from the address of a kept path to that of a sentence */
    struct helper helper;
    uint64_t maker;       /* of what is kept from one resolver to the next; 0: nothing is */
    struct index known;   /* of the module that was asked about last */
    const char *known_of; /* its path; NULL: there is none */
    void *bytes;          /* that it consists of, where it is new */
    uint32_t *nodes;      /* of its addresses that are asked about now */
    size_t node_room;
};

/* What is asked about. */
struct subject {
    const char *path, *id;
};

struct resolver *resolver_create(const struct resolver_options *o, struct err *err)
{
    struct resolver *r = memory_zeroed(sizeof(*r));

    r->helper.socket = -1;
    if (o)
        r->options = *o;
    r->helper.options = &r->options;
    if (helper_find(&r->helper, err) < 0) {
        free(r);
        return NULL;
    }
    r->helper.message = memory_resize(NULL, WIRE_MOST);
    if (o && o->cache && !o->debug_directory_count && kept_any() &&
        !(o->rights && rights_are_less(o->rights)))
        r->maker = index_maker(r->helper.path);
    return r;
}

static void forget(struct resolver *r)
{
    if (r->known_of)
        index_close(&r->known);
    r->known_of = NULL;
    free(r->bytes);
    r->bytes = NULL;
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    helper_stop(&r->helper, false);
    forget(r);
    intmap_free(&r->failed);
    strings_free(&r->strings);
    free(r->helper.message);
    free(r->nodes);
    free(r);
}

static void append(struct resolver *r, size_t *used, const void *bytes, size_t size)
{
    if (size)
        memcpy(r->helper.message + *used, bytes, size);
    *used += size;
}

static bool ask(struct resolver *r, const struct subject *m, enum wire_kind kind,
                const uint64_t *addresses, size_t count, int most)
{
    struct wire_question head = {
        .kind = kind, .addresses = (uint32_t)count, .most = (uint32_t)most, .maker = r->maker};
    size_t path_bytes = strlen(m->path), id_bytes = m->id ? strlen(m->id) : 0, used = 0;

    if (path_bytes >= PATH_MAX || id_bytes >= 256)
        return false;
    head.path_bytes = (uint32_t)path_bytes;
    head.id_bytes = (uint32_t)id_bytes;
    append(r, &used, &head, sizeof(head));
    append(r, &used, addresses, count * sizeof(*addresses));
    append(r, &used, m->path, path_bytes);
    append(r, &used, m->id, id_bytes);
    return helper_say(&r->helper, used);
}

static const char *keep(struct resolver *r, size_t at, size_t bytes)
{
    char text[WIRE_MOST];

    memcpy(text, r->helper.message + at, bytes);
    text[bytes] = 0;
    return strings_keep(&r->strings, text);
}

/* The names of the next address of the answer, which *at moves behind; -1 when it has no more. */
static int next_names(struct resolver *r, size_t size, size_t *at, struct resolved_name *out,
                      int most)
{
    uint32_t count;

    if (size - *at < sizeof(count))
        return -1;
    memcpy(&count, r->helper.message + *at, sizeof(count));
    *at += sizeof(count);
    if (count > (uint32_t)most)
        return -1;
    for (uint32_t n = 0; n < count; n++) {
        struct wire_name name;

        if (size - *at < sizeof(name))
            return -1;
        memcpy(&name, r->helper.message + *at, sizeof(name));
        *at += sizeof(name);
        if (name.function_bytes > size - *at || name.file_bytes > size - *at - name.function_bytes)
            return -1;
        out[n].function = keep(r, *at, name.function_bytes);
        *at += name.function_bytes;
        out[n].file = keep(r, *at, name.file_bytes);
        *at += name.file_bytes;
        out[n].line = name.line;
    }
    return (int)count;
}

/* The helper broke down over this module: go on without the module. */
static void give_up(struct resolver *r, const char *path)
{
    const char *kept = strings_keep(&r->strings, path);
    char *text = arena_printf(&r->strings.arena,
                              "%s could not be read to its end, so its functions have no names.",
                              path);

    helper_stop(&r->helper, true);
    if (!r->helper.failures++)
        snprintf(r->helper.broken, sizeof(r->helper.broken), "%.400s could not be read to its end",
                 path);
    if (kept)
        intmap_put(&r->failed, (uint64_t)(uintptr_t)kept, (uint64_t)(uintptr_t)text);
}

static const char *failure(struct resolver *r, const char *path)
{
    const char *kept = r->helper.failures ? strings_keep(&r->strings, path) : NULL;
    uint64_t text;

    if (!kept || !intmap_get(&r->failed, (uint64_t)(uintptr_t)kept, &text))
        return NULL;
    return (const char *)(uintptr_t)text;
}

/* The length of the helper's answer; 0 when there is none. */
static size_t exchange(struct resolver *r, const struct subject *m, const uint64_t *addresses,
                       size_t count, int most)
{
    size_t size;

    if (!m->path || !m->path[0] || failure(r, m->path) || !helper_start(&r->helper))
        return 0;
    size = ask(r, m, WIRE_NAMES, addresses, count, most) ? helper_hear(&r->helper, ANSWER_MS) : 0;
    if (size == 0)
        give_up(r, m->path);
    return size;
}

int resolver_address(struct resolver *r, const char *module_path, const char *build_id_hex,
                     uint64_t address, struct resolved_name *out, int most)
{
    struct subject m = {module_path, build_id_hex};
    size_t size, at = 0;
    int count;

    most = most < WIRE_NAMES_MOST ? most : WIRE_NAMES_MOST;
    if (most <= 0)
        return 0;
    size = exchange(r, &m, &address, 1, most);
    count = next_names(r, size, &at, out, most);
    return count > 0 ? count : 0;
}

/* ---- what is kept ---- */

/* The index that the helper was asked for; 0 when it sends none, or breaks down. */
static size_t hear_index(struct resolver *r)
{
    uint64_t size = 0, got = 0;
    size_t part;

    if (helper_hear(&r->helper, ANSWER_MS) == sizeof(size))
        memcpy(&size, r->helper.message, sizeof(size));
    else
        helper_stop(&r->helper, true);
    if (!size || size > SEALED_BYTES_MOST)
        return 0;
    for (r->bytes = memory_resize(NULL, size); got < size; got += part) {
        part = helper_hear(&r->helper, ANSWER_MS);
        if (!part || part > size - got) {
            helper_stop(&r->helper, true);
            return 0;
        }
        memcpy((char *)r->bytes + got, r->helper.message, part);
    }
    return (size_t)size;
}

static bool want(struct resolver *r, const struct subject *m, const uint64_t *addresses,
                 size_t count)
{
    for (size_t i = 0, part; i < count; i += part) {
        part = count - i < WIRE_ADDRESSES_MOST ? count - i : WIRE_ADDRESSES_MOST;
        if (!ask(r, m, WIRE_WANT, addresses + i, part, 1) || !helper_hear(&r->helper, ANSWER_MS)) {
            helper_stop(&r->helper, true);
            return false;
        }
    }
    return true;
}

struct before { /* what is kept of a module, and does not know all that is asked */
    bool found;
    uint64_t
        *known; /* of a large table of symbols: what would be looked up anew, and then forgotten */
    size_t count;
};

/* Has an index made, of everything where a smaller one was not enough; what was known shall stay
 * so. */
static bool make_known(struct resolver *r, const struct subject *m, const uint64_t *addresses,
                       size_t count, const struct before *before)
{
    struct sealed pages;
    size_t size;

    if (failure(r, m->path) || !helper_start(&r->helper) ||
        !want(r, m, before->known, before->count) || !want(r, m, addresses, count) ||
        !ask(r, m, WIRE_INDEX, NULL, 0, before->found))
        return false;
    size = hear_index(r);
    sealed_of_memory(&pages, r->bytes, size);
    if (!size || !index_open(&r->known, &pages, m->path, m->id, r->maker))
        return false;
    cache_keep(&r->known, m->path, m->id);
    return true;
}

static void note_before(struct resolver *r, struct before *before)
{
    if (!(r->known.head.flags & INDEX_FEW))
        return;
    before->known = memory_zeroed(KNOWN_MOST * sizeof(*before->known));
    before->count = index_known(&r->known, before->known, KNOWN_MOST);
}

static bool find_known(struct resolver *r, const struct subject *m, const uint64_t *addresses,
                       size_t count, struct before *before)
{
    before->found = cache_find(&r->known, m->path, m->id, r->maker);
    for (size_t i = 0; before->found && i < count; i++) {
        r->nodes[i] = index_node(&r->known, addresses[i]);
        if (r->nodes[i] == INDEX_UNKNOWN) {
            note_before(r, before);
            index_close(&r->known);
            return false;
        }
    }
    return before->found;
}

/* Whether `known` answers for this module: then `nodes` are those of the addresses. */
static bool know(struct resolver *r, const struct subject *m, const uint64_t *addresses,
                 size_t count)
{
    struct before before = {0};
    bool known;

    forget(r);
    if (!r->maker || !m->path || !m->path[0])
        return false;
    memory_fit(r->nodes, r->node_room, count);
    known = find_known(r, m, addresses, count, &before);
    if (!known && make_known(r, m, addresses, count, &before)) {
        known = true;
        for (size_t i = 0; i < count; i++)
            r->nodes[i] = index_node(&r->known, addresses[i]);
    }
    free(before.known);
    if (!known)
        return forget(r), false;
    if (r->options.ask_debuginfod && r->known.head.flags & INDEX_NO_DEBUG)
        return index_close(&r->known), forget(r), false;
    r->known_of = strings_keep(&r->strings, m->path);
    return true;
}

void resolver_addresses(struct resolver *r, const char *module_path, const char *build_id_hex,
                        const uint64_t *addresses, size_t count,
                        void (*each)(void *to, size_t index, const struct resolved_name *names,
                                     int name_count),
                        void *to)
{
    struct subject m = {module_path, build_id_hex};
    struct resolved_name names[WIRE_NAMES_MOST];
    int read = -1;

    if (know(r, &m, addresses, count)) {
        for (size_t i = 0; i < count; i++) {
            if (read < 0 || r->nodes[i] != r->nodes[i - 1]) /* neighbours are often of one line */
                read = index_names(&r->known, &r->strings, r->nodes[i], names, WIRE_NAMES_MOST);
            each(to, i, names,
                 read >= 0 ? read /* else the disk has failed meanwhile */
                           : resolver_address(r, module_path, build_id_hex, addresses[i], names,
                                              WIRE_NAMES_MOST));
        }
        return;
    }
    for (size_t i = 0; i < count;) {
        size_t left = count - i, at = 0;
        size_t asked = left < WIRE_ADDRESSES_MOST ? left : WIRE_ADDRESSES_MOST;
        size_t size = exchange(r, &m, addresses + i, asked, WIRE_NAMES_MOST), end = i + asked;
        int found = next_names(r, size, &at, names, WIRE_NAMES_MOST);

        each(to, i++, names, found > 0 ? found : 0);
        while (i < end && (found = next_names(r, size, &at, names, WIRE_NAMES_MOST)) >= 0)
            each(to, i++, names, found);
    }
}

const char *resolver_problem(struct resolver *r, const char *module_path)
{
    struct subject m = {module_path, NULL};
    struct resolved_name sentence;
    size_t size, at = 0;

    if (r->known_of && strcmp(r->known_of, module_path) == 0)
        return index_problem(&r->known, &r->strings);
    if (failure(r, module_path))
        return failure(r, module_path);
    size = exchange(r, &m, NULL, 0, 1);
    return next_names(r, size, &at, &sentence, 1) == 1 ? sentence.function : NULL;
}

const char *resolver_broken(struct resolver *r)
{
    size_t used = strlen(r->helper.broken);

    if (r->helper.failures > 1 && !strstr(r->helper.broken, ", nor "))
        snprintf(r->helper.broken + used, sizeof(r->helper.broken) - used, ", nor %d others",
                 r->helper.failures - 1);
    return r->helper.broken[0] ? r->helper.broken : NULL;
}
