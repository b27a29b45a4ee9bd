/* program - see program.h.
 *
 * Symbols are looked up as the loader does it, by the hash table of the dynamic section: some ten
 * short reads for a program of any size. A program that defines malloc always exports it, since
 * libc asks for it.
 */
#include "preload/program.h"

#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#define HEADERS_MOST 64
#define LOADS_MOST 12
#define DYNAMIC_MOST 512
#define CHAIN_MOST 4096
#define ENTRIES_AT_ONCE 32
#define HEADERS_AT_ONCE 14
#define NAME_MOST 64
#define VERSIONS_MOST 128
#define NEEDED_VERSION "GLIBC_2.17" /* that a libc must have; the library uses none that is newer */

enum { HASH_BUCKETS, HASH_FIRST, HASH_FILTER, HASH_SHIFT }; /* counts; the first symbol's index */

struct load {
    uint64_t address, bytes, offset;
};

struct file {
    int fd;
    program_read *read;
    struct load loads[LOADS_MOST];
    unsigned int load_count;
    uint64_t dynamic, dynamic_count;           /* offset, entries */
    uint64_t strings, symbols, hash, versions; /* addresses; 0: there are none */
    uint32_t hash_head[4];                     /* see enum */
    uint64_t loader_at, loader_bytes;          /* its path; 0 bytes: there is none */
    bool sanitized;
};

static bool get(const struct file *f, void *to, size_t bytes, uint64_t offset)
{
    return f->read(f->fd, to, bytes, offset) == (long)bytes;
}

/* Where in the file an address of the loaded program is. */
static bool offset_of(const struct file *f, uint64_t address, uint64_t *offset)
{
    for (unsigned int i = 0; i < f->load_count; i++) {
        const struct load *l = &f->loads[i];

        if (address >= l->address && address - l->address < l->bytes) {
            *offset = l->offset + (address - l->address);
            return true;
        }
    }
    return false;
}

static bool get_at(const struct file *f, void *to, size_t bytes, uint64_t address)
{
    uint64_t offset;

    return offset_of(f, address, &offset) && get(f, to, bytes, offset);
}

/* A text, cut where it is too long. */
static size_t get_text(const struct file *f, char out[NAME_MOST], uint64_t address)
{
    uint64_t offset;
    long got = offset_of(f, address, &offset) ? f->read(f->fd, out, NAME_MOST - 1, offset) : 0;

    out[got > 0 ? got : 0] = '\0';
    return strlen(out);
}

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

/* ---- the dynamic section ---- */

/* Call `take` for each entry; many are read at once, since each read is a system call. */
static void each_entry(struct file *f, void (*take)(struct file *f, const Elf64_Dyn *d))
{
    Elf64_Dyn some[ENTRIES_AT_ONCE];

    for (uint64_t from = 0; from < f->dynamic_count; from += ENTRIES_AT_ONCE) {
        long got = f->read(f->fd, some, sizeof(some), f->dynamic + from * sizeof(some[0]));

        for (long i = 0; i < got / (long)sizeof(some[0]); i++) {
            if (some[i].d_tag == DT_NULL || from + (uint64_t)i >= f->dynamic_count)
                return;
            take(f, &some[i]);
        }
        if (got < (long)sizeof(some))
            return;
    }
}

static void take_place(struct file *f, const Elf64_Dyn *d)
{
    if (d->d_tag == DT_STRTAB)
        f->strings = d->d_un.d_ptr;
    else if (d->d_tag == DT_SYMTAB)
        f->symbols = d->d_un.d_ptr;
    else if (d->d_tag == DT_GNU_HASH)
        f->hash = d->d_un.d_ptr;
    else if (d->d_tag == DT_VERDEF)
        f->versions = d->d_un.d_ptr;
}

static void take_needed(struct file *f, const Elf64_Dyn *d)
{
    char name[NAME_MOST];

    if (d->d_tag == DT_NEEDED && f->strings)
        f->sanitized |= is_sanitizer(name, get_text(f, name, f->strings + d->d_un.d_val));
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

static bool is_symbol(const struct file *f, uint32_t index, const char *name)
{
    char found[NAME_MOST];
    Elf64_Sym s;

    if (!get_at(f, &s, sizeof(s), f->symbols + index * sizeof(s)))
        return false;
    get_text(f, found, f->strings + s.st_name);
    return s.st_shndx != SHN_UNDEF && strcmp(found, name) == 0;
}

/* The table's filter: most names that are not there are told so by one word. */
static bool may_define(const struct file *f, uint32_t hash)
{
    const uint32_t *head = f->hash_head;
    uint64_t word, bits = 1ull << hash % 64 | 1ull << (hash >> head[HASH_SHIFT] % 32) % 64;

    return head[HASH_FILTER] &&
           get_at(f, &word, sizeof(word),
                  f->hash + sizeof(f->hash_head) + (uint64_t)(hash / 64 % head[HASH_FILTER]) * 8) &&
           (word & bits) == bits;
}

/* Whether the program defines this name for others. */
static bool defines(const struct file *f, const char *name)
{
    const uint32_t *head = f->hash_head;
    uint32_t index, link, hash = hash_of(name);
    uint64_t buckets = f->hash + sizeof(f->hash_head) + (uint64_t)head[HASH_FILTER] * 8;

    if (!head[HASH_BUCKETS] || !f->symbols || !may_define(f, hash) ||
        !get_at(f, &index, sizeof(index), buckets + hash % head[HASH_BUCKETS] * 4) ||
        index < head[HASH_FIRST])
        return false;
    for (unsigned int i = 0; i < CHAIN_MOST; i++, index++) {
        uint64_t at = buckets + ((uint64_t)head[HASH_BUCKETS] + (index - head[HASH_FIRST])) * 4;

        if (!get_at(f, &link, sizeof(link), at))
            return false;
        if ((link | 1) == (hash | 1) && is_symbol(f, index, name))
            return true;
        if (link & 1)
            return false;
    }
    return false;
}

static void find_places(struct file *f)
{
    each_entry(f, take_place);
    if (f->hash && !get_at(f, f->hash_head, sizeof(f->hash_head), f->hash))
        memset(f->hash_head, 0, sizeof(f->hash_head));
}

/* As versions are hashed, which is another way than that of symbols. */
static uint32_t hash_of_version(const char *name)
{
    uint32_t h = 0;

    for (; *name; name++) {
        h = (h << 4) + (unsigned char)*name;
        h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
    }
    return h;
}

static bool is_version(const struct file *f, uint64_t at, const char *version)
{
    char name[NAME_MOST];
    Elf64_Verdaux first;

    if (!get_at(f, &first, sizeof(first), at))
        return false;
    get_text(f, name, f->strings + first.vda_name);
    return strcmp(name, version) == 0;
}

/* Whether it defines a version of what it has for others. */
static bool has_version(const struct file *f, const char *version)
{
    uint32_t hash = hash_of_version(version);
    uint64_t at = f->versions;
    Elf64_Verdef v;

    for (int i = 0; at && i < VERSIONS_MOST && get_at(f, &v, sizeof(v), at); i++) {
        if (v.vd_hash == hash && is_version(f, at + v.vd_aux, version))
            return true;
        if (!v.vd_next)
            return false;
        at += v.vd_next;
    }
    return false;
}

/* Without a loader of its own: static, or a loader that is told what to run. */
static enum program_kind kind_of_loader(struct file *f)
{
    find_places(f);
    return defines(f, "__tls_get_addr") && !has_version(f, ARCH_LOADER_VERSION) ? PROGRAM_OLD_LOADER
                                                                                : PROGRAM_STATIC;
}

static enum program_kind kind_of_symbols(struct file *f)
{
    static const char *const runtimes[] = {"__asan_init", "__tsan_init", "__msan_init",
                                           "__hwasan_init", "__lsan_init"};

    find_places(f);
    each_entry(f, take_needed);
    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]) && !f->sanitized; i++)
        f->sanitized = defines(f, runtimes[i]);
    if (f->sanitized)
        return PROGRAM_SANITIZED;
    return defines(f, "malloc") ? PROGRAM_OWN_MALLOC : PROGRAM_PLAIN;
}

/* ---- the file ---- */

static bool get_loader(const struct file *f, char *path, size_t room)
{
    if (!f->loader_bytes || f->loader_bytes > room || !get(f, path, f->loader_bytes, f->loader_at))
        return false;
    path[f->loader_bytes - 1] = '\0';
    return true;
}

static bool has_our_loader(const struct file *f)
{
    char path[4 * NAME_MOST];

    return get_loader(f, path, sizeof(path)) &&
           strcmp(last_part(path, strlen(path)), ARCH_LOADER) == 0;
}

static void take_header(struct file *f, const Elf64_Phdr *h)
{
    if (h->p_type == PT_INTERP) {
        f->loader_at = h->p_offset;
        f->loader_bytes = h->p_filesz;
    } else if (h->p_type == PT_DYNAMIC) {
        f->dynamic = h->p_offset;
        f->dynamic_count = h->p_filesz / sizeof(Elf64_Dyn);
        if (f->dynamic_count > DYNAMIC_MOST)
            f->dynamic_count = DYNAMIC_MOST;
    } else if (h->p_type == PT_LOAD && f->load_count < LOADS_MOST) {
        f->loads[f->load_count++] = (struct load){h->p_vaddr, h->p_filesz, h->p_offset};
    }
}

static bool read_headers(struct file *f, const Elf64_Ehdr *e)
{
    unsigned int count = e->e_phnum < HEADERS_MOST ? e->e_phnum : HEADERS_MOST, some;
    Elf64_Phdr h[HEADERS_AT_ONCE];

    for (unsigned int from = 0; from < count; from += some) {
        some = count - from < HEADERS_AT_ONCE ? count - from : HEADERS_AT_ONCE;
        if (!get(f, h, some * sizeof(h[0]), e->e_phoff + from * sizeof(h[0])))
            return false;
        for (unsigned int i = 0; i < some; i++)
            take_header(f, &h[i]);
    }
    return true;
}

enum program_kind program_kind(int fd, program_read *read)
{
    struct file f = {.fd = fd, .read = read};
    Elf64_Ehdr e;

    if (!get(&f, &e, sizeof(e), 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return PROGRAM_UNKNOWN;
    if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != ARCH_MACHINE)
        return PROGRAM_OTHER_MACHINE;
    if (!read_headers(&f, &e))
        return PROGRAM_UNKNOWN;
    if (!f.loader_bytes)
        return kind_of_loader(&f);
    return has_our_loader(&f) ? kind_of_symbols(&f) : PROGRAM_OTHER_LOADER;
}

static bool open_image(struct file *f)
{
    Elf64_Ehdr e;

    return get(f, &e, sizeof(e), 0) && memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 &&
           e.e_ident[EI_CLASS] == ELFCLASS64 && read_headers(f, &e);
}

bool program_loader(int fd, program_read *read, char *out, size_t room)
{
    struct file f = {.fd = fd, .read = read};

    return open_image(&f) && get_loader(&f, out, room);
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
    struct file f = {.fd = fd, .read = read};

    if (!open_image(&f))
        return false;
    find_places(&f);
    return has_version(&f, NEEDED_VERSION);
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
