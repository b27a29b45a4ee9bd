/* device - see device.h: what a call meant, told once it is known whether it was carried out. */
#include "inject/device.h"

#include "inject/device_accesses.h"
#include "inject/device_tell.h"
#include "inject/device_watch.h"
#include "inject/launches.h"
#include "inject/process.h"
#include "inject/space_tell.h"

#include <errno.h>
#include <string.h>

typedef uintptr_t words_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                 uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                 uintptr_t, uintptr_t);

static uintptr_t pass(uintptr_t real, const uintptr_t *a)
{
    return ((words_function *)real)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9],
                                    a[10], a[11], a[12], a[13]);
}

/* What the library calls of itself, and what we ask it, is no call of the program. */
static uintptr_t pass_alone(uintptr_t real, const uintptr_t *a)
{
    uintptr_t result;

    local.device++;
    result = pass(real, a);
    local.device--;
    return result;
}

static bool is_done(uintptr_t result)
{
    return (uint32_t)result == 0;
}

/* ---- what a call meant ---- */

static uint32_t current_device(const struct device_library *l)
{
    int number = 0;

    local.device++;
    if (l->helpers[DEVICE_CURRENT])
        ((int (*)(int *))l->helpers[DEVICE_CURRENT])(&number);
    local.device--;
    return (uint32_t)number;
}

static uint64_t current_owner(const struct device_library *l)
{
    void *owner = NULL;

    local.device++;
    if (l->helpers[DEVICE_OWNER])
        ((int (*)(void **))l->helpers[DEVICE_OWNER])(&owner);
    local.device--;
    return (uintptr_t)owner;
}

static uint32_t device_of(const struct device_call *call, struct device_library *l,
                          const uintptr_t *a, uint64_t handle)
{
    uint32_t device = 0;
    bool known;

    if (call->device)
        return (uint32_t)a[call->device - 1];
    local.device++;
    known = handle && call->on && call->on(l, handle, &device);
    local.device--;
    return known ? device : current_device(l);
}

static uint64_t owner_of(const struct device_call *call, const struct device_library *l,
                         const uintptr_t *a)
{
    if (call->owner < 0)
        return 0;
    if (l->vendor->by_device)
        return 1 + (uint64_t)current_device(l);
    return call->owner ? a[call->owner - 1] : current_owner(l);
}

static uint64_t bytes_of(const struct device_call *call, const uintptr_t *a, bool done)
{
    return call->bytes ? call->bytes(a, done) : call->size < 0 ? 0 : a[call->size];
}

struct outcome {
    bool done;
    uint64_t handle, status;
};

static struct outcome outcome_of(const struct device_call *call, const uintptr_t *a,
                                 uintptr_t result)
{
    bool done = call->returns ? result != 0 : is_done(result);

    if (!call->returns)
        return (struct outcome){done, done ? *(const uintptr_t *)a[call->handle] : 0,
                                (uint32_t)result};
    return (struct outcome){done, result,
                            call->at < 0 || done ? 0 : *(const uint32_t *)a[call->at]};
}

static bool is_made(const struct device_call *call, struct device_library *l, const uintptr_t *a,
                    struct device_event *e)
{
    bool made = true;

    local.device++;
    if (call->made)
        made = call->made(l, a, e->handle, &e->bytes);
    local.device--;
    return made && e->handle && e->bytes;
}

static void allocated(const struct device_call *call, struct device_library *l, const uintptr_t *a,
                      uintptr_t result, struct caller c)
{
    struct outcome o = outcome_of(call, a, result);
    struct device_event e = {.what = o.done ? RING_SPACE_ALLOC : RING_SPACE_FAILED,
                             .call = call,
                             .vendor = l->vendor,
                             .kind = call->kind,
                             .handle = o.handle};

    e.bytes = bytes_of(call, a, o.done);
    if (o.done && !is_made(call, l, a, &e))
        return;
    if (call->place)
        call->place(l, a, &e.kind, &e.device, e.called);
    else if (call->kind == RING_SPACE_ON_DEVICE)
        e.device = device_of(call, l, a, e.handle);
    e.owner = !o.done                          ? o.status
            : call->on && l->vendor->by_device ? 1 + (uint64_t)e.device
                                               : owner_of(call, l, a);
    if (o.done)
        device_find_bus(l, &e);
    device_tell(&e, c);
    if (o.done && call->filled && call->filled(a))
        accesses_tell(l->vendor, e.handle, ARGUMENT_WRITE, call->name);
}

static uintptr_t on_alloc(const struct device_call *call, struct device_library *l, uintptr_t real,
                          const uintptr_t *given, struct caller c)
{
    uintptr_t a[DEVICE_WORDS], result;
    uint32_t status = 0;
    int kept;

    memcpy(a, given, sizeof(a));
    if (call->returns && call->at >= 0 && !a[call->at])
        a[call->at] = (uintptr_t)&status; /* the program does not ask for it, but we do */
    result = pass_alone(real, a);
    kept = errno;
    allocated(call, l, a, result, c);
    errno = kept;
    return result;
}

/* Frees and their kin have the time from before the call, and are told if it was carried out: see
 * collect/spaces.h.
 */
static uintptr_t on_end(const struct device_call *call, struct device_library *l, uintptr_t real,
                        const uintptr_t *a, struct caller c)
{
    struct device_event e = {
        .what = RING_SPACE_FREE, .call = call, .vendor = l->vendor, .when = space_now()};
    uintptr_t result = pass_alone(real, a);
    bool tell = call->returns || is_done(result); /* returns: nothing, so it was carried out */

    switch (call->does) {
    case DEVICE_FREES:
        e.handle = a[call->handle];
        tell = tell && e.handle;
        break;
    case DEVICE_UNMAPS:
        e.what = RING_SPACE_LET_GO;
        e.handle = a[call->at];
        e.bytes = call->size < 0 ? 1 : a[call->size];
        break;
    case DEVICE_ENDS:
        e.what = RING_SPACE_GONE;
        e.owner = owner_of(call, l, a);
        break;
    default:
        e.what = RING_SPACE_GONE;
        local.device++;
        tell = tell && call->ended(l, a, &e.owner);
        local.device--;
    }
    if (tell)
        device_tell(&e, c);
    return result;
}

/* It is held by one more: where it is mapped, or who has its handle as well. */
static uintptr_t on_hold(const struct device_call *call, const struct device_library *l,
                         uintptr_t real, const uintptr_t *a, struct caller c)
{
    struct device_event e = {.what = RING_SPACE_HOLD, .call = call, .vendor = l->vendor};
    uintptr_t result = pass_alone(real, a);

    if (!is_done(result))
        return result;
    e.handle = call->does == DEVICE_MAPS ? a[call->handle] : *(const uintptr_t *)a[call->handle];
    if (call->does == DEVICE_MAPS) {
        e.owner = a[call->at];
        e.bytes = a[call->size];
    }
    device_tell(&e, c);
    return result;
}

static uintptr_t on_find(const struct device_call *call, struct device_library *l, uintptr_t real,
                         const uintptr_t *a)
{
    uintptr_t result = pass_alone(real, a), *found = (uintptr_t *)a[call->at];

    if (is_done(result) && found && *found && a[call->handle])
        *found = device_found(l, (const char *)a[call->handle],
                              call->size ? (unsigned int)a[call->size] : 0, *found);
    return result;
}

static uintptr_t on_launch(const struct device_call *call, struct device_library *l, uintptr_t real,
                           const uintptr_t *a, struct caller c)
{
    uintptr_t result = pass_alone(real, a);

    if (is_done(result) && launches_wanted())
        launches_count(call, l, a, c);
    if (is_done(result) && call->given && accesses_wanted())
        accesses_launched(call, l, a[call->handle]);
    return result;
}

/* What a later launch is told with, and nothing else. */
static uintptr_t on_note(const struct device_call *call, struct device_library *l, uintptr_t real,
                         const uintptr_t *a)
{
    uintptr_t result;
    int kept;

    if (!arguments_wanted())
        return pass(real, a);
    result = pass_alone(real, a);
    kept = errno;
    local.device++;
    call->noted(l, a, result);
    local.device--;
    errno = kept;
    return result;
}

static uintptr_t on_say(const struct device_call *call, const struct device_library *l,
                        uintptr_t real, const uintptr_t *a, struct caller c)
{
    uintptr_t result = pass_alone(real, a);

    return device_said(call, l->vendor, a, result, c);
}

/* What may write to an object whose content is watched. */
static uintptr_t on_watched(const struct device_call *call, struct device_library *l,
                            uintptr_t real, const uintptr_t *a, struct caller c)
{
    struct device_looks looks;
    uintptr_t result;
    int kept;

    device_watch_before(call, l, a, &looks, c);
    result = call->does == DEVICE_LAUNCHES ? on_launch(call, l, real, a, c)
                                           : on_note(call, l, real, a);
    kept = errno;
    device_watch_after(call, l, a, &looks, is_done(result), c);
    errno = kept;
    return result;
}

static bool is_watched(const struct device_call *call)
{
    return unlikely(device_watch_any()) && (call->target || call->does == DEVICE_LAUNCHES);
}

uintptr_t device_called(const struct device_call *call, struct device_library *l, uintptr_t real,
                        const uintptr_t *a, struct caller c)
{
    if (local.device)
        return pass(real, a);
    if (call->does == DEVICE_FINDS)
        return on_find(call, l, real, a);
    if (!process_recorded())
        return pass(real, a);
    if (is_watched(call))
        return on_watched(call, l, real, a, c);
    switch (call->does) {
    case DEVICE_ALLOCATES:
        return on_alloc(call, l, real, a, c);
    case DEVICE_MAPS:
    case DEVICE_HOLDS:
        return on_hold(call, l, real, a, c);
    case DEVICE_LAUNCHES:
        return on_launch(call, l, real, a, c);
    case DEVICE_NOTES:
        return on_note(call, l, real, a);
    case DEVICE_SAYS:
        return on_say(call, l, real, a, c);
    default:
        return on_end(call, l, real, a, c);
    }
}
