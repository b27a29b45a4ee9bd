/* nvtx - NVIDIA's tools extension, version 3, which programs have in themselves: at its first call
 * it loads the library that NVTX_INJECTION64_PATH names, and hands it the tables of its functions
 * to be filled.
 */
#include "inject/nvtx_text.h"
#include "inject/process.h"
#include "inject/ranges.h"
#include "inject/state.h"

#include <stdatomic.h>
#include <stddef.h>

#define CALLBACKS 1u /* the table that leads to the others */
#define CORE 1u
#define CORE2 5u

enum { ASCII = 1, UNICODE, REGISTERED }; /* a message */

struct attributes { /* of an event */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

/* ---- names ---- */

/* What is no letter of ASCII is a question mark. */
static const char *narrow(char to[NVTX_TEXT_MOST], const wchar_t *wide)
{
    size_t i = 0;

    for (; wide && wide[i] && i + 1 < NVTX_TEXT_MOST; i++)
        to[i] = wide[i] > 0 && wide[i] < 128 ? (char)wide[i] : '?';
    to[i] = '\0';
    return to;
}

const char *nvtx_text(int32_t type, const void *message, char room[NVTX_TEXT_MOST])
{
    switch (type) {
    case ASCII:
        return message;
    case UNICODE:
        return narrow(room, message);
    case REGISTERED:
        return message ? ((const struct ranges_name *)message)->text : NULL;
    default:
        return NULL;
    }
}

static const char *name_of(const struct attributes *a, char room[NVTX_TEXT_MOST])
{
    return a ? nvtx_text(a->message_type, a->message, room) : NULL;
}

/* ---- functions of the core ---- */

static _Atomic uint64_t started;

static uint64_t start(const char *name)
{
    uint64_t id = atomic_fetch_add(&started, 1) + 1;

    ranges_start(RANGES_OF(RANGES_NVTX) | id, name);
    return id;
}

static void mark_ex(const struct attributes *a)
{
    char room[NVTX_TEXT_MOST];

    ranges_mark(name_of(a, room), a ? a->payload : 0);
}

static void mark_a(const char *name)
{
    ranges_mark(name, 0);
}

static void mark_w(const wchar_t *name)
{
    char room[NVTX_TEXT_MOST];

    ranges_mark(narrow(room, name), 0);
}

static uint64_t start_ex(const struct attributes *a)
{
    char room[NVTX_TEXT_MOST];

    return start(name_of(a, room));
}

static uint64_t start_a(const char *name)
{
    return start(name);
}

static uint64_t start_w(const wchar_t *name)
{
    char room[NVTX_TEXT_MOST];

    return start(narrow(room, name));
}

static void end(uint64_t id)
{
    ranges_stop(RANGES_OF(RANGES_NVTX) | id);
}

/* They return how deep a thread's ranges are, from 0. */
static int push(const char *name)
{
    ranges_push(name);
    return local.ranges - 1;
}

static int push_ex(const struct attributes *a)
{
    char room[NVTX_TEXT_MOST];

    return push(name_of(a, room));
}

static int push_w(const wchar_t *name)
{
    char room[NVTX_TEXT_MOST];

    return push(narrow(room, name));
}

static int pop(void)
{
    if (!local.ranges)
        return -2; /* as the library says it: none is open */
    ranges_pop();
    return local.ranges;
}

/* ---- functions with a domain ---- */

static void domain_mark(void *domain, const struct attributes *a)
{
    (void)domain;
    mark_ex(a);
}

static uint64_t domain_start(void *domain, const struct attributes *a)
{
    (void)domain;
    return start_ex(a);
}

static void domain_end(void *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

static int domain_push(void *domain, const struct attributes *a)
{
    (void)domain;
    return push_ex(a);
}

static int domain_pop(void *domain)
{
    (void)domain;
    return pop();
}

static void *domain_string(void *domain, const char *text)
{
    (void)domain;
    return (void *)ranges_name(text);
}

static void *domain_string_w(void *domain, const wchar_t *text)
{
    char room[NVTX_TEXT_MOST];

    (void)domain;
    return (void *)ranges_name(narrow(room, text));
}

static void *domain_create(const char *name)
{
    return (void *)ranges_name(name);
}

/* ---- the injection ---- */

typedef void function(void);
typedef int module_function(unsigned int module, function ****table, unsigned int *size);

struct callbacks {
    size_t size;
    module_function *module_table;
};

struct entry {
    unsigned int place;
    function *ours;
};

#define ENTRY(at, f)                                                                               \
    {                                                                                              \
        at, (function *)(f)                                                                        \
    }
static const struct entry core[] = {
    ENTRY(1, mark_ex), ENTRY(2, mark_a),  ENTRY(3, mark_w), ENTRY(4, start_ex),
    ENTRY(5, start_a), ENTRY(6, start_w), ENTRY(7, end),    ENTRY(8, push_ex),
    ENTRY(9, push),    ENTRY(10, push_w), ENTRY(11, pop),
};
static const struct entry core2[] = {
    ENTRY(1, domain_mark),      ENTRY(2, domain_start),   ENTRY(3, domain_end),
    ENTRY(4, domain_push),      ENTRY(5, domain_pop),     ENTRY(10, domain_string),
    ENTRY(11, domain_string_w), ENTRY(12, domain_create),
};

static void fill(module_function *ask, unsigned int module, const struct entry *entries,
                 size_t count)
{
    function ***table = NULL;
    unsigned int size = 0;

    if (!ask(module, &table, &size) || !table)
        return;
    for (size_t i = 0; i < count; i++)
        if (entries[i].place < size && table[entries[i].place])
            *table[entries[i].place] = entries[i].ours;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t));

EXPORT int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t))
{
    const struct callbacks *c = process_recorded() && export_table ? export_table(CALLBACKS) : NULL;

    if (!c || c->size < sizeof(*c) || !c->module_table)
        return 0;
    fill(c->module_table, CORE, core, sizeof(core) / sizeof(core[0]));
    fill(c->module_table, CORE2, core2, sizeof(core2) / sizeof(core2[0]));
    return 1;
}
