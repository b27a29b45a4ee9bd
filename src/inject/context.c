/* context - see context.h. */
#include "inject/context.h"

#include "inject/buffer.h"

#include <string.h>

static _Atomic uint64_t steps; /* that ended in this process */
static uint64_t inherited;     /* that had ended when it was forked */
static bool of_parent;         /* these were its parent's own */
static _Atomic bool heir_untold;

uint64_t context_step(void)
{
    return atomic_fetch_add(&steps, 1) + 1;
}

void context_forked(void)
{
    uint64_t own = atomic_exchange(&steps, 0);

    of_parent = own != 0;
    inherited = own ? own : inherited;
    atomic_store(&heir_untold, inherited != 0);
}

static struct thread_label *find(struct thread *t, const char *key, size_t bytes)
{
    for (struct thread_label *l = t->labels; l < t->labels + t->label_count; l++)
        if (l->first == bytes && !memcmp(l->text, key, bytes))
            return l;
    return NULL;
}

void context_label(struct thread *t, const char *text, size_t first, size_t bytes, bool set)
{
    struct thread_label *l = find(t, text, first);
    struct thread_label *end = t->labels + t->label_count;

    if (set && !l && t->label_count < THREAD_LABELS) {
        l = end;
        t->label_count++;
    }
    if (!l)
        return;
    if (!set) {
        memmove(l, l + 1, (size_t)(end - l - 1) * sizeof(*l));
        t->label_count--;
        return;
    }
    memcpy(l->text, text, bytes);
    l->first = (uint16_t)first;
    l->bytes = (uint16_t)bytes;
}

void context_begin(struct thread *t)
{
    t->label_count = 0;
    t->labels_untold = false;
}

static void put(struct thread *t, enum ring_mark mark, uint64_t value, const char *text,
                size_t first, size_t bytes)
{
    uint64_t words[2] = {value, (uint64_t)bytes << 32 | first};

    buffer_put(t, buffer_word(RING_MARK, mark, 0), words, 2, text, bytes);
}

void context_tell(struct thread *t)
{
    if (atomic_exchange(&heir_untold, false))
        put(t, RING_MARK_HEIR, inherited << 1 | of_parent, NULL, 0, 0);
    if (t->labels_untold)
        put(t, RING_MARK_LABEL, 0, NULL, 0, 0);
    for (unsigned int i = 0; i < t->label_count; i++)
        put(t, RING_MARK_LABEL, 1, t->labels[i].text, t->labels[i].first, t->labels[i].bytes);
    t->labels_untold = false;
}
