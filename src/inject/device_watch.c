/* device_watch - see device_watch.h.
 *
 * A look is a command that reads, in the same queue: in one that works in order it sees what the
 * command before it has left, and nothing that follows. In others it waits for a marker, and what
 * follows may run beside it; so may commands of another queue, or of another thread. That is told
 * with the command, and no order is forced.
 */
#include "inject/device_watch.h"

#include "inject/lookup.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "inject/watch_tell.h"

#include <errno.h>
#include <string.h>

#define QUEUE_PROPERTIES 0x1093u
#define OUT_OF_ORDER 1u
#define COMPLETE 0
/* bytes that are read back at one time, but for one */
#define ON_THE_WAY_MOST ((size_t)256 << 20)
#define BUSY 1u
#define BY_MOST 84

typedef int read_function(uintptr_t, uint64_t, uint32_t, size_t, size_t, void *, uint32_t,
                          const uintptr_t *, uintptr_t *);
typedef int when_function(uintptr_t, int32_t, void (*)(uintptr_t, int32_t, void *), void *);
typedef int let_go_function(uintptr_t);
typedef int queue_function(uintptr_t, uint32_t, size_t, void *, size_t *);
typedef int marker_function(uintptr_t, uint32_t, const uintptr_t *, uintptr_t *);

static struct slot {
    _Atomic uint64_t object; /* 0: free, BUSY: somebody fills it */
    uint64_t root;
    size_t bytes;
    _Atomic uint32_t inside;  /* threads that are between before and after */
    _Atomic uint32_t pending; /* looks that have not ended */
    _Atomic uint32_t last;    /* the number of the last look */
    _Atomic uintptr_t queue;  /* which that is in */
} slots[DEVICE_WATCHES];

struct look { /* and its bytes behind it */
    uint64_t object;
    uint32_t number;
    unsigned int slot;
    size_t bytes;
    let_go_function *let_go;
    unsigned char data[];
};

static struct lookup roots, sizes; /* of objects */
static _Atomic uint32_t count, numbers;
static _Atomic size_t on_the_way;
static _Atomic uint32_t owner; /* process.forks of whose they are */

/* ---- objects ---- */

static uint64_t get(struct lookup *t, uint64_t object)
{
    uint64_t value;

    return object > 1 && lookup_get(t, object, &value) ? value : 0;
}

void device_watch_object(uint64_t object, uint64_t bytes, uint64_t of)
{
    uint64_t root = of == object ? object : get(&roots, of);

    lookup_set(&sizes, object, bytes);
    lookup_set(&roots, object, root ? root : of);
}

bool device_watch_any(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed) &&
           atomic_load_explicit(&owner, memory_order_relaxed) == atomic_load(&process.forks);
}

/* ---- begin and end ---- */

static struct slot *find(uint64_t object)
{
    for (unsigned int i = 0; object > BUSY && i < DEVICE_WATCHES; i++)
        if (atomic_load(&slots[i].object) == object)
            return &slots[i];
    return NULL;
}

static struct slot *take_free(void)
{
    for (unsigned int i = 0; i < DEVICE_WATCHES; i++) {
        uint64_t none = 0;

        if (!atomic_load(&slots[i].pending) && !atomic_load(&slots[i].inside) &&
            atomic_compare_exchange_strong(&slots[i].object, &none, BUSY))
            return &slots[i];
    }
    return NULL;
}

static bool end(uint64_t object, enum ring_watch kind, struct caller c)
{
    struct slot *s = device_watch_any() ? find(object) : NULL;

    if (!s || !atomic_compare_exchange_strong(&s->object, &object, 0))
        return false;
    atomic_fetch_sub(&count, 1);
    watch_tell(kind, s->bytes, object, NULL, c);
    return true;
}

bool device_watch_end(uint64_t object, struct caller c)
{
    return end(object, RING_WATCH_ENDED, c);
}

void device_watch_gone(uint64_t object)
{
    uint64_t value;

    end(object, RING_WATCH_FREED, CALLER());
    lookup_remove(&roots, object, &value);
    lookup_remove(&sizes, object, &value);
}

void device_watch_leave(void)
{
    for (unsigned int i = 0; i < DEVICE_WATCHES; i++)
        if (atomic_exchange(&slots[i].object, 0) > BUSY)
            atomic_fetch_sub(&count, 1);
}

/* What a forked child has of its parent's: OpenCL does not work there, nor do looks. */
static void forget_inherited(void)
{
    uint32_t now = atomic_load(&process.forks);

    if (atomic_exchange(&owner, now) == now)
        return;
    memset(slots, 0, sizeof(slots));
    atomic_store(&count, 0);
    atomic_store(&on_the_way, 0);
}

void device_watch_begin(uint64_t object, const char *name, struct caller c)
{
    uint64_t bytes = get(&sizes, object);
    struct slot *s;

    if (!process_recorded())
        return;
    forget_inherited();
    device_watch_end(object, c);
    s = bytes ? take_free() : NULL;
    if (!s) {
        watch_tell(bytes ? RING_WATCH_NO_SLOT : RING_WATCH_UNKNOWN, bytes, object, name, c);
        return;
    }
    s->root = get(&roots, object);
    s->bytes = bytes;
    atomic_store(&s->last, 0);
    atomic_store(&s->queue, 0);
    watch_tell(RING_WATCH_BEGAN, bytes, object, name, c);
    watch_tell(RING_WATCH_LOOKED, RING_WHY_DEVICE, object, NULL, c);
    atomic_fetch_add(&count, 1);
    atomic_store(&s->object, object);
}

/* ---- looks ---- */

/* Its halves are mixed into each other last: their sum would be without the last word. */
static uint32_t hash_of(const unsigned char *data, size_t bytes)
{
    return (uint32_t)(watched_hash(bytes, data, bytes) * 0x9e3779b97f4a7c15u >> 32);
}

static void tell_result(uint64_t object, uint32_t number, bool read, uint32_t hash, struct caller c)
{
    uint64_t value = (uint64_t)number << 33 | (uint64_t)!read << 32 | hash;

    watch_tell(RING_WATCH_RESULT, value, object, NULL, c);
}

static void forget(struct look *k)
{
    atomic_fetch_sub(&on_the_way, k->bytes);
    atomic_fetch_sub(&slots[k->slot].pending, 1);
    sys_unmap(k, sizeof(*k) + k->bytes);
}

/* By a thread of the library's, which must not wait. */
static void seen(uintptr_t event, int32_t status, void *context)
{
    struct look *k = context;
    int kept = errno;
    bool read = status == COMPLETE;

    if (atomic_load(&owner) == atomic_load(&process.forks))
        tell_result(k->object, k->number, read, read ? hash_of(k->data, k->bytes) : 0, CALLER());
    k->let_go(event);
    forget(k);
    errno = kept;
}

static struct look *take_look(struct slot *s, uint64_t object, uint32_t number, size_t bytes)
{
    size_t before = atomic_fetch_add(&on_the_way, bytes);
    bool room = !before || (bytes <= ON_THE_WAY_MOST && before <= ON_THE_WAY_MOST - bytes);
    struct look *k = room ? sys_memory(sizeof(*k) + bytes) : NULL;

    if (!k) {
        atomic_fetch_sub(&on_the_way, bytes);
        return NULL;
    }
    *k = (struct look){object, number, (unsigned int)(s - slots), bytes, NULL};
    atomic_fetch_add(&s->pending, 1);
    return k;
}

static bool is_in_order(const struct device_library *l, uintptr_t queue)
{
    queue_function *ask = (queue_function *)l->helpers[l->vendor->watch->of_queue];
    uint64_t properties = OUT_OF_ORDER;

    return ask && ask(queue, QUEUE_PROPERTIES, sizeof(properties), &properties, NULL) == 0 &&
           !(properties & OUT_OF_ORDER);
}

/* False: nothing was put into the queue. What was, and cannot be heard of, keeps its memory. */
static bool put_look(const struct device_library *l, uintptr_t queue, struct look *k)
{
    const struct device_watch_needs *n = l->vendor->watch;
    read_function *read = (read_function *)l->helpers[n->read];
    when_function *when = (when_function *)l->helpers[n->when_done];
    marker_function *mark = (marker_function *)l->helpers[n->marker];
    uintptr_t after = 0, event = 0;
    bool put;

    k->let_go = (let_go_function *)l->helpers[n->let_go];
    if (!read || !when || !k->let_go ||
        (!is_in_order(l, queue) && (!mark || mark(queue, 0, NULL, &after) != 0)))
        return false;
    put = read(queue, k->object, 0, 0, k->bytes, k->data, after ? 1 : 0, after ? &after : NULL,
               &event) == 0;
    if (after)
        k->let_go(after);
    if (put && when(event, COMPLETE, seen, k) != 0)
        tell_result(k->object, k->number, false, 0, CALLER());
    return put;
}

static void look(const struct device_library *l, struct slot *s, uintptr_t queue, uint64_t object,
                 uint32_t number, struct caller c)
{
    struct look *k = take_look(s, object, number, s->bytes);
    bool put;

    local.device++;
    put = k && put_look(l, queue, k);
    local.device--;
    if (k && !put)
        forget(k);
    if (!put)
        tell_result(object, number, false, 0, c);
}

/* ---- commands ---- */

/* Do looks that are on their way, and this command, know no order? */
static bool is_beside(const struct device_library *l, struct slot *s, uintptr_t queue)
{
    return atomic_load(&s->pending) && (atomic_load(&s->queue) != queue || !is_in_order(l, queue));
}

static void tell_and_look(const struct device_library *l, struct slot *s, uintptr_t queue,
                          unsigned int flags, const char *by, struct caller c)
{
    uint64_t object = atomic_load(&s->object);
    uint32_t number;

    if (object <= BUSY)
        return;
    number = atomic_fetch_add(&numbers, 1) + 1;
    if (number >= WATCHED_COMMANDS) {
        atomic_store(&numbers, WATCHED_COMMANDS);
        watch_tell(RING_WATCH_UNTOLD, 1, object, NULL, c);
        return;
    }
    watch_tell(RING_WATCH_COMMAND, (uint64_t)number << 4 | flags, object, by, c);
    look(l, s, queue, object, number, c);
    atomic_store(&s->queue, queue);
    atomic_store(&s->last, number);
}

static void concern(void *context, uint64_t object, unsigned int may)
{
    struct device_looks *k = context;
    uint64_t root = get(&roots, object);

    for (unsigned int i = 0; root && i < DEVICE_WATCHES; i++)
        if (atomic_load(&slots[i].object) > BUSY && slots[i].root == root) {
            k->slots |= 1u << i;
            k->may[i] |= (uint8_t)may;
        }
}

/* A kernel of which nothing is known may write to all of them. */
static void concern_all(struct device_looks *k)
{
    for (unsigned int i = 0; i < DEVICE_WATCHES; i++)
        if (atomic_load(&slots[i].object) > BUSY)
            k->slots |= 1u << i;
}

static void concern_each(const struct device_call *call, const uintptr_t *a, struct device_looks *k)
{
    if (call->does != DEVICE_LAUNCHES)
        concern(k, a[call->target - 1], ARGUMENT_WRITE | ARGUMENT_TOLD);
    else if (arguments_known(a[call->handle]))
        arguments_each(a[call->handle], concern, k);
    else
        concern_all(k);
}

void device_watch_before(const struct device_call *call, struct device_library *l,
                         const uintptr_t *a, struct device_looks *k, struct caller c)
{
    *k = (struct device_looks){0};
    if (!l->vendor->watch || !(call->target || call->given))
        return;
    concern_each(call, a, k);
    for (unsigned int i = 0; i < DEVICE_WATCHES; i++) {
        struct slot *s = &slots[i];

        if (!(k->slots >> i & 1))
            continue;
        if (atomic_fetch_add(&s->inside, 1))
            k->beside |= 1u << i;
        if (!atomic_load(&s->last))
            tell_and_look(l, s, a[0], RING_COMMAND_BEFORE, NULL, c);
        k->numbers[i] = atomic_load(&s->last);
        local.device++;
        if (is_beside(l, s, a[0]))
            k->beside |= 1u << i;
        local.device--;
    }
}

static void name_of(const struct device_call *call, struct device_library *l, const uintptr_t *a,
                    char *by, size_t room)
{
    local.device++;
    if (call->does == DEVICE_LAUNCHES)
        call->named(l, a[call->handle], by, room);
    local.device--;
    if (!by[0])
        memcpy(by, call->name, strnlen(call->name, room));
}

static unsigned int flags_of(const struct device_looks *k, unsigned int i)
{
    unsigned int may = k->may[i];
    bool beside = k->beside >> i & 1 || atomic_load(&slots[i].last) != k->numbers[i];
    unsigned int declared = !may                    ? 0
                          : !(may & ARGUMENT_WRITE) ? RING_COMMAND_UNDECLARED
                          : may & ARGUMENT_TOLD     ? RING_COMMAND_DECLARED
                                                    : 0;

    return declared | (beside ? RING_COMMAND_BESIDE : 0);
}

void device_watch_after(const struct device_call *call, struct device_library *l,
                        const uintptr_t *a, struct device_looks *k, bool done, struct caller c)
{
    char by[BY_MOST] = "";

    if (!k->slots)
        return;
    if (done)
        name_of(call, l, a, by, sizeof(by) - 1);
    for (unsigned int i = 0; i < DEVICE_WATCHES; i++) {
        if (!(k->slots >> i & 1))
            continue;
        if (done)
            tell_and_look(l, &slots[i], a[0], flags_of(k, i), by, c);
        atomic_fetch_sub(&slots[i].inside, 1);
    }
}
