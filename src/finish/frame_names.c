/* frame_names - see frame_names.h. The finished trace is read once more for its modules and frames;
 * their names are appended to it as NAME records.
 */
#include "finish/frame_names.h"

#include "base/arena.h"
#include "base/intmap.h"
#include "base/memory.h"
#include "base/text.h"
#include "resolve/resolve.h"
#include "trace/read.h"

#include <stdlib.h>
#include <string.h>

struct module {
    const char *file, *build_id;
};

struct frame {
    uint64_t number, module, address;
};

struct reading {
    struct arena arena;
    struct intmap strings; /* number -> const char * */
    struct module *modules;
    size_t module_room; /* modules are numbered from 1 */
    struct frame *frames;
    size_t frame_count, frame_room;
};

static const char *text_of(const struct reading *r, uint64_t string)
{
    uint64_t at;

    return intmap_get(&r->strings, string, &at) ? (const char *)(uintptr_t)at : "";
}

static void keep_string(struct reading *r, const struct trace_event *ev)
{
    char *text = arena_strndup(&r->arena, (const char *)ev->tail, ev->tail_bytes);

    intmap_put(&r->strings, ev->string.string, (uint64_t)(uintptr_t)text);
}

static void keep_module(struct reading *r, const struct trace_module *m)
{
    if (!m->module || m->module > UINT32_MAX)
        return;
    memory_fit_zeroed(r->modules, r->module_room, (size_t)m->module + 1);
    r->modules[m->module] = (struct module){text_of(r, m->file), text_of(r, m->build_id)};
}

static void keep_frame(struct reading *r, const struct trace_frame *f)
{
    if ((f->flavour & ~(uint64_t)TRACE_FRAME_GUESSED) != TRACE_FRAME_MODULE)
        return;
    memory_fit(r->frames, r->frame_room, r->frame_count + 1);
    r->frames[r->frame_count++] = (struct frame){f->frame, f->process, f->address};
}

static int read_frames(struct reading *r, const char *path, struct err *err)
{
    struct trace *t = trace_open(path, err);
    struct trace_event ev;

    if (!t)
        return -1;
    trace_rewind_own(t);
    while (trace_next(t, &ev)) {
        if (ev.kind == TRACE_STRING)
            keep_string(r, &ev);
        else if (ev.kind == TRACE_MODULE)
            keep_module(r, &ev.module);
        else if (ev.kind == TRACE_FRAME)
            keep_frame(r, &ev.frame);
    }
    trace_close(t);
    return 0;
}

static int by_module(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;

    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static uint64_t string_of(struct trace_store *s, const char *text)
{
    return text ? trace_store_string(s, text, strlen(text)) : 0;
}

/* The frames of one module, beginning with `first`. */
struct naming {
    struct trace_store *store;
    const struct frame *first;
    const char *file;
    bool unnamed; /* some of them, which have at most the place where their function begins */
};

static void put_names(void *to, size_t index, const struct resolved_name *names, int count)
{
    struct naming *n = to;

    n->unnamed = n->unnamed || !count ||
                 (names->function && text_is_place(names->function, n->file));
    for (int depth = 0; depth < count; depth++) {
        struct trace_name record = {n->first[index].number, (uint64_t)depth,
                                    string_of(n->store, names[depth].function),
                                    string_of(n->store, names[depth].file), names[depth].line};

        trace_store_put(n->store, TRACE_NAME, 0, (const uint64_t *)&record, 5, NULL, 0);
    }
}

/* Why functions have no name. */
static void put_problem(struct resolver *resolver, struct trace_store *s, uint64_t module,
                        const char *file)
{
    const char *why = resolver_problem(resolver, file);

    if (why)
        trace_store_fact(s, TRACE_OF_MODULE, module, FACT_UNNAMED, why, strlen(why));
}

/* One module at a time: its files are opened once. */
static void resolve_frames(struct reading *r, struct resolver *resolver, struct trace_store *s)
{
    uint64_t *calls = memory_resize(NULL, r->frame_count * sizeof(*calls));

    memory_sort(r->frames, r->frame_count, sizeof(*r->frames), by_module);
    for (size_t i = 0, end; i < r->frame_count; i = end) {
        uint64_t module = r->frames[i].module;
        struct naming to = {.store = s, .first = &r->frames[i]};

        for (end = i; end < r->frame_count && r->frames[end].module == module; end++)
            calls[end - i] = r->frames[end].address -
                             1; /* a call returns to the address after it */
        if (module >= r->module_room || !r->modules[module].file)
            continue;
        to.file = r->modules[module].file;
        resolver_addresses(resolver, to.file, r->modules[module].build_id, calls, end - i,
                           put_names, &to);
        if (to.unnamed)
            put_problem(resolver, s, module, to.file);
    }
    free(calls);
}

int frame_names_add(const char *path, struct trace_store *store, bool ask,
                    const struct rights *rights, struct err *err)
{
    const struct resolver_options options = {
        .cache = true, .ask_debuginfod = ask, .rights = rights};
    struct reading r = {0};
    struct resolver *resolver = resolver_create(&options, err);
    int status = -1;

    trace_store_flush(store);
    if (resolver && read_frames(&r, path, err) == 0) {
        if (r.frame_count)
            resolve_frames(&r, resolver, store);
        status = resolver_broken(resolver) ? err_set(err, "%s", resolver_broken(resolver)) : 0;
    }
    resolver_free(resolver);
    intmap_free(&r.strings);
    arena_free(&r.arena);
    free(r.modules);
    free(r.frames);
    return status;
}
