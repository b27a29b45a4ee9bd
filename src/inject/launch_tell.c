/* launch_tell - see launch_tell.h. */
#include "inject/launch_tell.h"

#include "inject/buffer.h"

#include <string.h>

void launch_tell(struct thread *t, struct launch *e)
{
    size_t bytes = strnlen(e->name, sizeof(e->name));
    uint64_t words[6] = {e->given, e->count,   (uint64_t)e->stack << 32 | (e->life != 0),
                         e->read,  e->written, (uint64_t)bytes << 32};

    if (!e->call || !e->count || e->session != t->session)
        return;
    buffer_now(t);
    buffer_put(t, buffer_word(RING_SPACE, RING_SPACE_LAUNCHES, 0), words, 6, e->name, bytes);
    e->count = e->given = e->read = e->written = 0;
}

void launch_tell_all(struct thread *t)
{
    if (!(process.control->wants & RING_WANTS_LAUNCHES))
        return; /* there are none, and looking would touch their pages */
    for (unsigned int i = 0; i < THREAD_LAUNCHES; i++)
        launch_tell(t, &t->launches[i]);
}
