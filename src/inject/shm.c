/* shm - shared memory of System V: shmat and shmdt, told as maps and unmaps. A segment is attached
 * whole, and detached by its address alone, so its size is remembered here. What is above the limit
 * stays unknown.
 */
#include "inject/maps.h"
#include "inject/real.h"
#include "inject/sys.h"

#include <stdatomic.h>
#include <sys/shm.h>

#define ATTACHED 256

static struct {
    _Atomic uintptr_t at; /* 0: free; 1: being set */
    size_t bytes;
} attached[ATTACHED];

static void remember(const void *at, size_t bytes)
{
    for (int i = 0; i < ATTACHED; i++) {
        uintptr_t none = 0;

        if (!atomic_compare_exchange_strong(&attached[i].at, &none, 1))
            continue;
        attached[i].bytes = bytes;
        atomic_store(&attached[i].at, (uintptr_t)at);
        return;
    }
}

/* Its place, -1: it is not known. */
static int find(const void *at)
{
    int i = ATTACHED - 1;

    while (i >= 0 && atomic_load(&attached[i].at) != (uintptr_t)at)
        i--;
    return i;
}

EXPORT void *shmat(int id, const void *at, int flags)
{
    void *p = real_now()->shmat(id, at, flags);
    struct shmid_ds segment = {0};

    if (p == (void *)-1 || sys_failed(sys_call(SYS_shmctl, id, IPC_STAT, (long)&segment, 0, 0, 0)))
        return p;
    remember(p, segment.shm_segsz);
    maps_shared(p, segment.shm_segsz, 1ull << 62 | (unsigned int)id, CALLER());
    return p;
}

EXPORT int shmdt(const void *at)
{
    int i = at ? find(at) : -1, result;

    if (i < 0)
        return real_now()->shmdt(at);
    maps_gone(at, attached[i].bytes, CALLER().sp);
    result = real_now()->shmdt(at);
    atomic_store(&attached[i].at, 0);
    return result;
}
