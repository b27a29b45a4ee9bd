/* itt - Intel's tracing, whose static part programs have in themselves: at its first call it loads
 * the library that INTEL_LIBITTNOTIFY64 names, and hands it the list of its functions to be filled.
 */
#include "inject/ops.h"
#include "inject/process.h"
#include "inject/ranges.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct itt_id {
    unsigned long long parts[3];
};

struct itt_function {
    const char *name;
    void **place;
    void *first, *none; /* what stands there before, and where nobody listens */
    int group;
};

struct itt_global { /* as far as it is used */
    unsigned char magic[8];
    unsigned long version[3];
    volatile long initialized[3];
    pthread_mutex_t mutex;
    void *library, *on_error;
    const char **path;
    struct itt_function *functions; /* up to one without a name */
};

static const unsigned char magic[8] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};

/* ---- its functions ---- */

#define DOMAINS 64

struct itt_domain {
    volatile int enabled;
    const char *name;
    const void *wide;
    int extra;
    void *more[2];
};

/* oneDNN tells of each primitive that it runs, to whoever listens for the program's own tasks:
 * these are no parts of the program. Its domain is not enabled, so that most of its calls end where
 * they are made.
 */
static bool is_library(const char *name)
{
    return name && strncmp(name, "dnnl::", 6) == 0;
}

/* Of whom others are makes no difference to us: the first ones are told apart. */
static struct itt_domain *next_domain(const char *name)
{
    static struct itt_domain domains[DOMAINS];
    static _Atomic unsigned int used;
    unsigned int i = atomic_fetch_add(&used, 1);
    struct itt_domain *d = &domains[i < DOMAINS ? i : DOMAINS - 1];
    const struct ranges_name *kept = ranges_name(name);

    d->name = kept ? kept->text : "";
    d->enabled = 1;
    return d;
}

static struct itt_domain *domain_create(const char *name)
{
    static struct itt_domain unheard = {.name = "dnnl"};

    return is_library(name) ? &unheard : next_domain(name);
}

static const struct ranges_name *string_handle_create(const char *text)
{
    return ranges_name(text);
}

/* A domain that was made before we were asked is the caller's own, and enabled. */
static bool is_heard(const struct itt_domain *d)
{
    return !d || (d->enabled && !is_library(d->name));
}

/* ---- PyTorch ---- */

#define TORCH "PyTorch"

/* Its operators come as tasks of this domain, and what the program itself says to
 * torch.profiler.itt does, too. */
static bool is_torch(const struct itt_domain *d)
{
    return d && ops_wanted() && d->name && strcmp(d->name, TORCH) == 0;
}

/* "Optimizer.step#Adam.step" is the optimizer's own. */
static bool is_op(const char *name)
{
    return strchr(name, '#') || !ranges_is_step(name);
}

static struct thread *own_thread(void)
{
    return local.thread ? local.thread : local.parked;
}

static void begin_torch(const struct ranges_name *name)
{
    bool op = is_op(name->text);
    struct thread *t;

    if (op)
        ops_begin(name);
    else
        ranges_push(name->text);
    t = own_thread();
    if (t)
        t->op_bits = t->op_bits << 1 | op;
}

/* False: the innermost is a range. */
static bool end_torch(void)
{
    struct thread *t = own_thread();
    bool op = t && t->op_bits & 1;

    if (t)
        t->op_bits >>= 1;
    if (op)
        ops_end();
    return op;
}

static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                       const struct ranges_name *name)
{
    (void)id, (void)parent;
    if (is_torch(domain) && name)
        begin_torch(name);
    else if (is_heard(domain))
        ranges_push(name ? name->text : NULL);
}

static void task_end(const struct itt_domain *domain)
{
    if (is_torch(domain) && end_torch())
        return;
    if (is_heard(domain))
        ranges_pop();
}

static void marker(const struct itt_domain *domain, struct itt_id id,
                   const struct ranges_name *name, int scope)
{
    (void)id, (void)scope;
    if (is_heard(domain))
        ranges_mark(name ? name->text : NULL, 0);
}

static void frame_begin(const struct itt_domain *domain, const struct itt_id *id)
{
    (void)id;
    if (is_heard(domain))
        ranges_push("frame");
}

static void frame_end(const struct itt_domain *domain, const struct itt_id *id)
{
    (void)id;
    if (is_heard(domain))
        ranges_pop();
}

static const struct {
    const char *name;
    void *ours;
} entries[] = {
    {"__itt_task_begin", (void *)task_begin},
    {"__itt_task_end", (void *)task_end},
    {"__itt_marker", (void *)marker},
    {"__itt_frame_begin_v3", (void *)frame_begin},
    {"__itt_frame_end_v3", (void *)frame_end},
    {"__itt_domain_create", (void *)domain_create},
    {"__itt_string_handle_create", (void *)string_handle_create},
};

static void fill(const struct itt_function *f)
{
    *f->place = f->none;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (strcmp(f->name, entries[i].name) == 0)
            *f->place = entries[i].ours;
}

void __itt_api_init(struct itt_global *g, int groups);

EXPORT void __itt_api_init(struct itt_global *g, int groups)
{
    (void)groups;
    if (!process_recorded() || !g || memcmp(g->magic, magic, sizeof(magic)) != 0)
        return;
    for (const struct itt_function *f = g->functions; f && f->name; f++)
        if (f->place)
            fill(f);
}
