/* intake - see intake.h: what is told. */
#include "import/intake.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

uint64_t intake_text(struct intake *in, const char *text, size_t length)
{
    return trace_store_string(in->store, text, length);
}

/* The number of a triple; *added: it is new. */
static uint32_t know(struct intake_known *k, const uint64_t of[3], bool *added)
{
    uint64_t hash = hash_mix(hash_mix(hash_number(of[0]), of[1]), of[2]), first = 0;

    intmap_get(&k->first, hash, &first);
    *added = false;
    for (uint32_t at = (uint32_t)first; at; at = k->list[at - 1].next)
        if (k->list[at - 1].a == of[0] && k->list[at - 1].b == of[1] && k->list[at - 1].c == of[2])
            return at;
    memory_fit(k->list, k->room, k->count + 1);
    k->list[k->count] = (struct intake_triple){of[0], of[1], of[2], (uint32_t)first};
    intmap_put(&k->first, hash, ++k->count);
    *added = true;
    return (uint32_t)k->count;
}

/* ---- who ---- */

static void put_device(struct intake *in, uint64_t device, uint64_t name)
{
    const uint64_t fields[] = {device, 0, name};
    bool added;

    know(&in->devices, (const uint64_t[]){device, 0, 0}, &added);
    if (added)
        trace_store_put(in->store, TRACE_DEVICE, 0, fields, 3, NULL, 0);
}

uint32_t intake_process(struct intake *in, uint64_t pid, uint64_t device, const char *name)
{
    bool added;
    uint32_t number = know(&in->known_processes, (const uint64_t[]){pid, device, 0}, &added);
    uint64_t text;

    if (!added)
        return number;
    text = intake_text(in, name, strlen(name));
    memory_fit(in->processes, in->process_room, number);
    in->processes[number - 1] = (struct intake_process){.pid = pid, .device = device, .name = text};
    if (device)
        put_device(in, device, text);
    return number;
}

uint32_t intake_thread(struct intake *in, uint32_t process, uint64_t tid, uint64_t what,
                       const char *name)
{
    bool added;
    uint32_t number = know(&in->known_threads, (const uint64_t[]){process, tid, what}, &added);

    if (!added)
        return number;
    memory_fit(in->threads, in->thread_room, number);
    in->threads[number - 1] = (struct intake_thread){
        .process = process, .tid = tid, .name = name ? intake_text(in, name, strlen(name)) : 0};
    return number;
}

/* ---- where ---- */

/* Native frames need a module to be in: which one, nobody says. */
static uint64_t module_of(struct intake *in)
{
    static const char name[] = "native code";
    const uint64_t fields[] = {1, intake_text(in, name, sizeof(name) - 1), 0};

    if (!in->module)
        trace_store_put(in->store, TRACE_MODULE, 0, fields, 3, NULL, 0);
    return in->module = 1;
}

uint64_t intake_frame(struct intake *in, bool python, uint64_t function, uint64_t file,
                      uint64_t line)
{
    bool added;
    uint32_t number = know(&in->frames, (const uint64_t[]){function, file, line << 1 | python},
                           &added);
    const uint64_t frame[] = {number, python ? TRACE_FRAME_PYTHON : TRACE_FRAME_MODULE,
                              python ? 0 : module_of(in), python ? line : number};
    const uint64_t name[] = {number, 0, function, file, line};

    if (added) {
        trace_store_put(in->store, TRACE_FRAME, 0, frame, 4, NULL, 0);
        trace_store_put(in->store, TRACE_NAME, 0, name, 5, NULL, 0);
    }
    return number;
}

uint32_t intake_stack(struct intake *in, uint32_t parent, uint64_t frame)
{
    bool added;
    uint32_t number = know(&in->stacks, (const uint64_t[]){parent, frame, 0}, &added);

    if (added)
        trace_store_put(in->store, TRACE_STACK, 0, (const uint64_t[]){number, parent, frame}, 3,
                        NULL, 0);
    return number;
}

void intake_pool(struct intake *in, struct trace_pool p)
{
    memory_fit(in->pools, in->pool_room, in->pool_count + 1);
    in->pools[in->pool_count++] = p;
}

void intake_add(struct intake *in, struct intake_event e)
{
    memory_fit(in->events, in->room, in->count + 1);
    in->events[in->count++] = e;
}

/* ---- the end ---- */

static void free_known(struct intake_known *k)
{
    intmap_free(&k->first);
    free(k->list);
}

void intake_free(struct intake *in)
{
    for (size_t i = 0; i < in->known_processes.count; i++) {
        intmap_free(&in->processes[i].blocks);
        intmap_free(&in->processes[i].segments);
    }
    for (size_t i = 0; i < in->known_threads.count; i++)
        free(in->threads[i].open);
    free(in->processes);
    free(in->threads);
    free(in->events);
    free(in->pools);
    free_known(&in->frames);
    free_known(&in->stacks);
    free_known(&in->known_processes);
    free_known(&in->known_threads);
    free_known(&in->devices);
}
