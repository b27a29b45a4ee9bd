/* modules - see modules.h. */
#include "inject/modules.h"

#include "inject/buffer.h"
#include "inject/elf.h"
#include "inject/frameworks.h"
#include "inject/objects.h"
#include "inject/python.h"
#include "inject/sys.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#define BUILD_ID_MOST 32u

static void (*_Atomic came)(const struct link_map *map);
static void (*_Atomic gone)(void);

void modules_watch(void (*on_module)(const struct link_map *map), void (*on_unloaded)(void))
{
    atomic_store(&came, on_module);
    atomic_store(&gone, on_unloaded);
}

/* Copy the GNU build-id out of one segment of notes; 0: none there. */
static size_t note_build_id(const char *at, size_t size, unsigned char id[BUILD_ID_MOST])
{
    Elf64_Nhdr n;

    while (size >= sizeof(n)) {
        size_t name, body;

        memcpy(&n, at, sizeof(n));
        name = (n.n_namesz + 3u) & ~3u;
        body = (n.n_descsz + 3u) & ~3u;
        if (name + body > size - sizeof(n))
            return 0;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz <= BUILD_ID_MOST &&
            !memcmp(at + sizeof(n), "GNU", 4)) {
            memcpy(id, at + sizeof(n) + name, n.n_descsz);
            return n.n_descsz;
        }
        at += sizeof(n) + name + body;
        size -= sizeof(n) + name + body;
    }
    return 0;
}

static size_t find_build_id(const struct cfi_module *m, unsigned char id[BUILD_ID_MOST])
{
    const struct link_map *map = m->map;
    struct elf e = {.base = map->l_addr};
    size_t bytes = 0;

    e.headers = elf_headers(map, m->start, m->end, &e.header_count);
    for (size_t i = 0; i < e.header_count && !bytes; i++) {
        const Elf64_Phdr *p = &e.headers[i];
        uintptr_t at = e.base + p->p_vaddr;

        if (p->p_type == PT_NOTE && p->p_memsz && elf_rights(&e, at) > 0 &&
            elf_rights(&e, at + p->p_memsz - 1) > 0)
            bytes = note_build_id((const char *)at, p->p_memsz, id);
    }
    return bytes;
}

/* As in buffer_told: whoever sees a later tick sees the record. */
static void told_now(const struct thread *t)
{
    uint64_t tick = atomic_load(&process.control->tick),
             later = atomic_load(&process.modules_later);

    if (tick < t->tick)
        tick = t->tick;
    while (later <= tick && !atomic_compare_exchange_weak(&process.modules_later, &later, tick + 1))
        ;
}

static void tell(struct thread *t, const struct cfi_module *module)
{
    const struct link_map *map = module->map;
    uint64_t words[7] = {0};
    size_t text = strnlen(map->l_name, RING_TEXT_MOST);
    size_t id = find_build_id(module, (unsigned char *)&words[3]);

    words[0] = (uint64_t)((const char *)module->end - (const char *)module->start);
    words[1] = map->l_addr;
    words[2] = (uint64_t)text << 32 | id;
    buffer_put(t, buffer_word(RING_MODULE, 0, (uintptr_t)module->start), words, 7, map->l_name,
               text);
}

void modules_seen(struct thread *t, const struct cfi_module *module)
{
    void (*watcher)(const struct link_map *);
    struct lookup_entry *entry;
    uint32_t number;
    enum lookup_claim claim = lookup_claim_entry(&process.modules, (uintptr_t)module->start | 2,
                                                 &number, &entry);

    if (claim == LOOKUP_FULL ||
        (buffer_knows(t, &entry->value) && !atomic_load(&process.unloading)))
        return;
    buffer_now(t); /* after what made it unknown */
    tell(t, module);
    buffer_told(t, &entry->value);
    told_now(t);
    if (claim != LOOKUP_ADDED)
        return;
    python_module(module->map);
    frameworks_module(module->map);
    python_tell(t);
    watcher = atomic_load(&came);
    if (watcher)
        watcher(module->map);
}

void modules_again(struct thread *t, const uint64_t *frames, size_t count)
{
    struct object o;

    if (likely(atomic_load_explicit(&process.modules_later, memory_order_acquire) <= t->tick &&
               !atomic_load_explicit(&process.unloading, memory_order_acquire) &&
               atomic_load_explicit(&process.generation, memory_order_relaxed) == t->generation))
        return;
    for (size_t i = 0; i < count; i++) {
        uintptr_t pc = frames[i] & RING_FRAME_ADDRESS;

        if (!(frames[i] &
              (RING_FRAME_ELIDED | RING_FRAME_CUT | RING_FRAME_PYTHON | RING_FRAME_OUTSIDE)) &&
            pc && objects_find((const void *)(pc - 1), &o))
            modules_seen(t, &(struct cfi_module){o.start, o.end, o.map});
    }
}

/* In a tick of its own: whoever sees that nothing is known of modules tells them in a later one. */
static void put_unloaded(struct thread *t)
{
    if (sys_silent) /* a clock may ask the kernel */
        buffer_now(t);
    else
        buffer_moment(t);
    buffer_free(t, RING_UNLOADED);
    buffer_after(t);
}

/* Meanwhile others tell modules with each stack, whatever is known of them: they do not see when it
 * is that the collector forgets. Afterwards who has walked by what it remembers looks at them
 * again.
 */
void modules_unloaded(struct thread *t)
{
    void (*watcher)(void) = atomic_load(&gone);

    atomic_fetch_add(&process.unloading, 1);
    put_unloaded(t);
    lookup_forget(&process.rows);
    lookup_forget(&process.modules);
    python_unloaded();
    if (watcher)
        watcher();
    atomic_fetch_add(&process.generation, 1);
    told_now(t);
    atomic_fetch_sub(&process.unloading, 1);
}
