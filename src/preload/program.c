/* program - see program.h. A program that defines malloc always exports it, since libc asks for it.
 */
#include "preload/program.h"

#include "arch/arch.h"
#include "preload/dynamic.h"

#include <string.h>

/* that a libc must have; the library uses none that is newer */
#define NEEDED_VERSION "GLIBC_2.17"

static const char *last_part(const char *path, size_t bytes)
{
    const char *at = path + bytes;

    while (at > path && at[-1] != '/')
        at--;
    return at;
}

static bool begins(const char *text, size_t bytes, const char *with)
{
    return bytes >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static bool is_sanitizer(const char *path, size_t bytes)
{
    static const char *const names[] = {
        "libasan.so",       "libtsan.so",         "liblsan.so",
        "libhwasan.so",     "libclang_rt.asan",   "libclang_rt.tsan",
        "libclang_rt.lsan", "libclang_rt.hwasan", "libclang_rt.msan",
    };
    const char *name = last_part(path, bytes);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (begins(name, bytes - (size_t)(name - path), names[i]))
            return true;
    return false;
}

bool program_lists_sanitizer(const char *list)
{
    for (; list && *list; list += strcspn(list, ": ")) {
        list += strspn(list, ": ");
        if (is_sanitizer(list, strcspn(list, ": ")))
            return true;
    }
    return false;
}

static void take_needed(struct dynamic *f, const Elf64_Dyn *d, void *sanitized)
{
    char name[DYNAMIC_NAME];

    if (d->d_tag == DT_NEEDED && f->strings)
        *(bool *)sanitized |= is_sanitizer(name, dynamic_text(f, name, f->strings + d->d_un.d_val));
}

/* Without a loader of its own: static, or a loader that is told what to run. */
static enum program_kind kind_of_loader(struct dynamic *f)
{
    dynamic_find(f);
    return dynamic_defines(f, "__tls_get_addr") && !dynamic_has_version(f, ARCH_LOADER_VERSION)
             ? PROGRAM_OLD_LOADER
             : PROGRAM_STATIC;
}

static enum program_kind kind_of_symbols(struct dynamic *f)
{
    static const char *const runtimes[] = {"__asan_init", "__tsan_init", "__msan_init",
                                           "__hwasan_init", "__lsan_init"};

    bool sanitized = false;

    dynamic_find(f);
    dynamic_each(f, take_needed, &sanitized);
    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]) && !sanitized; i++)
        sanitized = dynamic_defines(f, runtimes[i]);
    if (sanitized)
        return PROGRAM_SANITIZED;
    return dynamic_defines(f, "malloc") ? PROGRAM_OWN_MALLOC : PROGRAM_PLAIN;
}

static bool get_loader(const struct dynamic *f, char *path, size_t room)
{
    if (!f->loader_bytes || f->loader_bytes > room ||
        !dynamic_get(f, path, f->loader_bytes, f->loader_at))
        return false;
    path[f->loader_bytes - 1] = '\0';
    return true;
}

static bool has_our_loader(const struct dynamic *f)
{
    char path[4 * DYNAMIC_NAME];

    return get_loader(f, path, sizeof(path)) &&
           strcmp(last_part(path, strlen(path)), ARCH_LOADER) == 0;
}

enum program_kind program_kind(int fd, program_read *read)
{
    struct dynamic f = {.fd = fd, .read = read};
    Elf64_Ehdr e;

    if (!dynamic_get(&f, &e, sizeof(e), 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return PROGRAM_UNKNOWN;
    if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != ARCH_MACHINE)
        return PROGRAM_OTHER_MACHINE;
    if (!dynamic_headers(&f, &e))
        return PROGRAM_UNKNOWN;
    if (!f.loader_bytes)
        return kind_of_loader(&f);
    return has_our_loader(&f) ? kind_of_symbols(&f) : PROGRAM_OTHER_LOADER;
}

bool program_loader(int fd, program_read *read, char *out, size_t room)
{
    struct dynamic f = {.fd = fd, .read = read};

    return dynamic_open(&f) && get_loader(&f, out, room);
}

bool program_libc(const char *loader, unsigned int nth, char *out, size_t room)
{
    static const char name[] = "libc.so.6";
    size_t folder = (size_t)(last_part(loader, strlen(loader)) - loader);

    if (nth == 0 && folder + sizeof(name) <= room) {
        memcpy(out, loader, folder);
        memcpy(out + folder, name, sizeof(name));
        return true;
    }
    if (nth != 1 || sizeof(ARCH_LIBC) > room ||
        (!begins(loader, folder, "/lib/") && !begins(loader, folder, "/lib64/")))
        return false;
    memcpy(out, ARCH_LIBC, sizeof(ARCH_LIBC));
    return true;
}

bool program_libc_suits(int fd, program_read *read)
{
    struct dynamic f = {.fd = fd, .read = read};

    if (!dynamic_open(&f))
        return false;
    dynamic_find(&f);
    return dynamic_has_version(&f, NEEDED_VERSION);
}

bool program_script(int fd, program_read *read, char *out, size_t room)
{
    long got = read(fd, out, room, 0);
    size_t bytes = got > 0 ? (size_t)got : 0, from = 2, to;

    if (bytes < 3 || out[0] != '#' || out[1] != '!')
        return false;
    while (from < bytes && (out[from] == ' ' || out[from] == '\t'))
        from++;
    for (to = from; to < bytes && !strchr(" \t\n", out[to]); to++)
        ;
    if (to == from || to == room) /* cut: a longer name than there is room for */
        return false;
    memmove(out, out + from, to - from);
    out[to - from] = '\0';
    return true;
}

bool program_refuses(enum program_kind kind)
{
    return kind >= PROGRAM_SANITIZED;
}
