/* device_accesses - see device_accesses.h. */
#include "inject/device_accesses.h"

#include "inject/process.h"
#include "inject/space_tell.h"

#include <string.h>

#define BY_MOST 84 /* as long as names of launches */

bool accesses_wanted(void)
{
    return process.control->wants & RING_WANTS_ACCESSES;
}

static size_t put_by(char *to, const void *context, size_t *all)
{
    const char *by = context;

    *all = strnlen(by, BY_MOST);
    memcpy(to, by, *all);
    return 0;
}

_Static_assert(BY_MOST <= SPACE_TEXT_MOST, "a name has room");

static void tell(const struct device_vendor *v, uint64_t object, unsigned int kind, const char *by)
{
    const struct space_told told = {.what = RING_SPACE_ACCESS,
                                    .class = v->number << RING_SPACE_CLASS_BITS,
                                    .handle = object,
                                    .kind = (uint8_t)kind,
                                    .name = put_by,
                                    .context = by};

    space_tell(&told, CALLER());
}

/* What neither side says it may do is a use all the same. */
void accesses_tell(const struct device_vendor *v, uint64_t object, unsigned int may, const char *by)
{
    uint64_t whole = arguments_whole(object);

    if (whole && accesses_wanted())
        tell(v, whole, may & ARGUMENT_BOTH ? may : may | ARGUMENT_BOTH, by);
}

struct telling {
    const struct device_vendor *vendor;
    char by[BY_MOST];
};

static void tell_one(void *context, uint64_t object, unsigned int may)
{
    const struct telling *t = context;

    accesses_tell(t->vendor, object, may & ARGUMENT_BOTH, t->by);
}

void accesses_launched(const struct device_call *call, struct device_library *l, uint64_t kernel)
{
    struct telling t = {.vendor = l->vendor};

    local.device++;
    call->named(l, kernel, t.by, sizeof(t.by) - 1);
    local.device--;
    if (!t.by[0])
        memcpy(t.by, call->name, strnlen(call->name, sizeof(t.by) - 1));
    arguments_each(kernel, tell_one, &t);
}

void accesses_begin(const struct device_vendor *v)
{
    static _Atomic uint32_t session; /* in which that was said */

    if (accesses_wanted() && atomic_exchange(&session, home.session) != home.session)
        tell(v, 0, RING_ACCESS_ALL, "");
}
