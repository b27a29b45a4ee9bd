/* loader - this library as a part of the program: its start, and modules that go. */
#include "inject/event.h"
#include "inject/modules.h"
#include "inject/real.h"

#include <dlfcn.h>

__attribute__((constructor)) static void start(void)
{
    real_now();
    event_start();
}

EXPORT int dlclose(void *handle)
{
    struct thread *t;
    int result = real_now()->dlclose(handle);

    if (result || process_mode() == RING_OFF)
        return result;
    t = record_enter(CALLER().sp);
    if (t) {
        modules_unloaded(t);
        record_leave();
    }
    return result;
}
