/* loader - this library as a part of the program: its start, and objects that come and go.
 *
 * Whom dlopen loads for depends on who calls it: a jump leaves that as it is, a call of ours would
 * hide the caller. So objects are looked at after a call of ours where the caller makes no
 * difference, and otherwise when the program next looks for a function in one.
 */
#include "inject/admits.h"
#include "inject/cpu.h"
#include "inject/device_files.h"
#include "inject/elf.h"
#include "inject/event.h"
#include "inject/frameworks.h"
#include "inject/got.h"
#include "inject/last_look.h"
#include "inject/launch_tell.h"
#include "inject/modules.h"
#include "inject/objects.h"
#include "inject/process.h"
#include "inject/pymem.h"
#include "inject/python.h"
#include "inject/rank_said.h"
#include "inject/real.h"
#include "inject/record.h"
#include "inject/torch_start.h"

#include <dlfcn.h>
#include <string.h>

__attribute__((constructor)) static void start(void)
{
    real_now();
    event_start();
    ranks_start(CALLER());
    admits_start();
    python_start();
    pymem_start();
    got_more();
    if (frameworks_came())
        event_limit_fell();
    torch_start_came();
}

/* The program ends: what its last thread has used since its last sample. */
__attribute__((destructor)) static void finish(void)
{
    struct thread *t = process_mode() == RING_OFF ? NULL : record_enter(CALLER().sp);

    if (t) {
        cpu_end(t);
        launch_tell_all(t);
        last_look(t);
        record_leave();
    }
}

static bool caller_matters(const char *file, const void *caller)
{
    struct object where;
    struct elf e;

    if (!file)
        return false;
    if (strchr(file, '$'))
        return true;
    return !strchr(file, '/') && objects_find((const void *)caller, &where) &&
           elf_open(&e, where.map) && e.own_paths;
}

static bool bound_elsewhere(int flags)
{
    return flags & RTLD_DEEPBIND || got_taken_over();
}

/* Only what would not be bound to us anyway is looked at, and what may copy. */
static bool of_interest(int flags)
{
    return process_recorded() && !(flags & RTLD_NOLOAD) &&
           (bound_elsewhere(flags) || got_copying());
}

static OUTLINE void *open_and_look(const char *file, int flags)
{
    void *handle = real.dlopen(file, flags);

    objects_came(NULL);
    if (handle && of_interest(flags))
        got_loaded(bound_elsewhere(flags));
    if (handle && process_recorded() && devices_came())
        got_anew();
    if (handle && frameworks_came())
        event_limit_fell();
    if (handle)
        torch_start_came();
    return handle;
}

EXPORT void *dlopen(const char *file, int flags)
{
    real_now();
    if (!process_recorded() && !objects_are_ours())
        return real.dlopen(file, flags);
    if (!caller_matters(file, __builtin_return_address(0)))
        return open_and_look(file, flags);
    if (of_interest(flags))
        got_expect(bound_elsewhere(flags));
    return real.dlopen(file, flags);
}

static OUTLINE void *open_space_and_look(Lmid_t space, const char *file, int flags)
{
    void *handle = real.dlmopen(space, file, flags);

    objects_came(handle);
    if (handle)
        got_loaded(true);
    return handle;
}

EXPORT void *dlmopen(Lmid_t space, const char *file, int flags)
{
    real_now();
    if (!process_recorded() || caller_matters(file, __builtin_return_address(0)))
        return real.dlmopen(space, file, flags);
    return open_space_and_look(space, file, flags);
}

EXPORT int dlclose(void *handle)
{
    struct objects_closing closing = objects_close(handle);
    int result = real_now()->dlclose(handle);
    struct thread *t;

    objects_closed(&closing);
    got_unloaded();
    if (result || process_mode() == RING_OFF)
        return result;
    t = record_enter(CALLER().sp);
    if (t) {
        modules_unloaded(t);
        record_leave();
    }
    return result;
}
