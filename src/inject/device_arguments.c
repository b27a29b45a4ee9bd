/* device_arguments - see device_arguments.h.
 *
 * A library forbids two threads to set arguments of one kernel at once, and to launch it meanwhile:
 * only which kernels and objects there are is known to several threads.
 */
#include "inject/device_arguments.h"

#include "inject/lookup.h"
#include "inject/process.h"
#include "inject/sys.h"

#include <stddef.h>

#define ARGUMENTS 64 /* of a kernel; what is beyond is not counted */
#define ROOM_BYTES ((size_t)16 << 20)

struct argument {
    uint64_t object; /* 0: none */
    uint64_t bytes;
    unsigned int may;
};

struct kernel {
    uint64_t asked, read, written, told; /* a bit for each argument */
    bool beyond;                         /* it has more of them than there is room for */
    uint32_t count, life;
    struct argument given[ARGUMENTS];
};

static struct lookup objects; /* bytes << 2 | what may be done with it */
static struct lookup wholes;  /* of each: the one whose memory it has */
static struct lookup kernels; /* struct kernel */

bool arguments_wanted(void)
{
    return process.control->wants & (RING_WANTS_LAUNCHES | RING_WANTS_ACCESSES);
}

/* ---- objects ---- */

uint64_t arguments_whole(uint64_t object)
{
    uint64_t whole;

    return object > 1 && lookup_get(&wholes, object, &whole) ? whole : 0;
}

/* A part of a part has no memory of its own, either. */
void arguments_object(uint64_t object, uint64_t bytes, unsigned int may, uint64_t of)
{
    uint64_t whole = of == object ? object : arguments_whole(of);

    lookup_set(&objects, object, bytes << 2 | may);
    if (whole)
        lookup_set(&wholes, object, whole);
}

void arguments_object_gone(uint64_t object)
{
    uint64_t value;

    lookup_remove(&objects, object, &value);
    lookup_remove(&wholes, object, &value);
}

/* ---- kernels ---- */

/* Room that is never given back: handles of kernels are used again and again. */
static struct kernel *take_kernel(void)
{
    static _Atomic(char *) room;
    static _Atomic size_t used;
    char *there = atomic_load(&room), *none = NULL;
    size_t at;

    if (!there && (there = sys_memory(ROOM_BYTES)) &&
        !atomic_compare_exchange_strong(&room, &none, there)) {
        sys_unmap(there, ROOM_BYTES);
        there = none;
    }
    at = there ? atomic_fetch_add(&used, sizeof(struct kernel)) : ROOM_BYTES;
    return at + sizeof(struct kernel) <= ROOM_BYTES ? (struct kernel *)(void *)(there + at) : NULL;
}

static struct kernel *find(uint64_t kernel)
{
    uint64_t value;

    return lookup_get(&kernels, kernel, &value) ? (struct kernel *)(uintptr_t)value : NULL;
}

void arguments_kernel(uint64_t kernel)
{
    struct kernel *k = find(kernel);

    if (k) {
        *k = (struct kernel){.life = k->life + 1};
        return;
    }
    k = take_kernel();
    if (!k)
        return;
    k->life = 1;
    lookup_put(&kernels, kernel, (uintptr_t)k);
}

static unsigned int use_of(struct kernel *k, uint64_t kernel, uint32_t index,
                           unsigned int (*may)(void *, uint64_t, uint32_t), void *context)
{
    uint64_t bit = (uint64_t)1 << index;

    if (!(k->asked & bit)) {
        unsigned int use = may(context, kernel, index);

        k->asked |= bit;
        k->read |= use & ARGUMENT_READ ? bit : 0;
        k->written |= use & ARGUMENT_WRITE ? bit : 0;
        k->told |= use & ARGUMENT_TOLD ? bit : 0;
    }
    return (k->read & bit ? ARGUMENT_READ : 0) | (k->written & bit ? ARGUMENT_WRITE : 0) |
           (k->told & bit ? ARGUMENT_TOLD : 0);
}

void arguments_set(uint64_t kernel, uint32_t index, uint64_t object,
                   unsigned int (*may)(void *context, uint64_t kernel, uint32_t index),
                   void *context)
{
    struct kernel *k = find(kernel);
    uint64_t value;

    if (k && index >= ARGUMENTS)
        k->beyond = true;
    if (!k || index >= ARGUMENTS)
        return;
    if (index >= k->count)
        k->count = index + 1;
    k->given[index].object = 0;
    if (object > 1 && lookup_get(&objects, object, &value))
        k->given[index] = (struct argument){object, value >> 2,
                                            ((unsigned int)value | ARGUMENT_TOLD) &
                                                use_of(k, kernel, index, may, context) &
                                                (ARGUMENT_BOTH | ARGUMENT_TOLD)};
}

/* ---- launches ---- */

/* An object that is given twice counts once, and is used in both ways. */
static bool is_first(const struct kernel *k, uint32_t index, unsigned int *may)
{
    const struct argument *g = &k->given[index];

    for (uint32_t i = 0; i < k->count; i++) {
        if (k->given[i].object != g->object)
            continue;
        if (i < index)
            return false;
        *may |= k->given[i].may;
    }
    return true;
}

bool arguments_known(uint64_t kernel)
{
    const struct kernel *k = find(kernel);

    return k && !k->beyond;
}

bool arguments_sum(uint64_t kernel, struct arguments_sum *sum)
{
    const struct kernel *k = find(kernel);

    if (k)
        sum->life = k->life;
    for (uint32_t i = 0; k && i < k->count; i++) {
        unsigned int may = 0;

        if (!k->given[i].object || !is_first(k, i, &may))
            continue;
        sum->given += k->given[i].bytes;
        sum->read += may & ARGUMENT_READ ? k->given[i].bytes : 0;
        sum->written += may & ARGUMENT_WRITE ? k->given[i].bytes : 0;
    }
    return k;
}

void arguments_each(uint64_t kernel, void (*take)(void *context, uint64_t object, unsigned int may),
                    void *context)
{
    const struct kernel *k = find(kernel);

    for (uint32_t i = 0; k && i < k->count; i++) {
        unsigned int may = 0;

        if (k->given[i].object && is_first(k, i, &may))
            take(context, k->given[i].object, may);
    }
}
