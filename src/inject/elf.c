/* elf - see elf.h. */
#include "inject/elf.h"
#include "inject/objects.h"

#include "arch/arch.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define VERSION_HIDDEN 0x8000u /* not for new programs */

static void *pointer(const struct link_map *map, uintptr_t value)
{
    /* The loader has moved these where it could; in what the kernel gave it, it could not. */
    return (void *)(value < map->l_addr ? value + map->l_addr : value);
}

static void take_dynamic(struct elf *e, const struct link_map *map, const Elf64_Dyn *d)
{
    switch (d->d_tag) {
    case DT_SYMTAB:
        e->symbols = pointer(map, d->d_un.d_ptr);
        break;
    case DT_STRTAB:
        e->strings = pointer(map, d->d_un.d_ptr);
        break;
    case DT_RELA:
        e->relocations[0] = pointer(map, d->d_un.d_ptr);
        break;
    case DT_RELASZ:
        e->counts[0] = d->d_un.d_val / sizeof(Elf64_Rela);
        break;
    case DT_JMPREL:
        e->relocations[1] = pointer(map, d->d_un.d_ptr);
        break;
    case DT_PLTRELSZ:
        e->counts[1] = d->d_un.d_val / sizeof(Elf64_Rela);
        break;
    case DT_GNU_HASH:
        e->gnu_hash = pointer(map, d->d_un.d_ptr);
        break;
    case DT_HASH:
        e->hash = pointer(map, d->d_un.d_ptr);
        break;
    case DT_VERSYM:
        e->versions = pointer(map, d->d_un.d_ptr);
        break;
    case DT_RPATH:
    case DT_RUNPATH:
        e->own_paths = true;
        break;
    default:
        break;
    }
}

static const Elf64_Phdr *_Atomic program_headers;
static size_t program_count;

void elf_program(const struct dl_phdr_info *first)
{
    if (first->dlpi_name != _r_debug.r_map->l_name)
        return; /* we are in a namespace of its own */
    program_count = first->dlpi_phnum;
    atomic_store(&program_headers, first->dlpi_phdr);
}

/* They are its first bytes, where a linker has put them as usual. */
static const Elf64_Phdr *first_bytes(const Elf64_Ehdr *h, size_t size, size_t *count)
{
    if (size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_phoff > size ||
        h->e_phnum > (size - h->e_phoff) / sizeof(Elf64_Phdr))
        return NULL;
    *count = h->e_phnum;
    return (const Elf64_Phdr *)((const char *)h + h->e_phoff);
}

const Elf64_Phdr *elf_headers(const struct link_map *map, const void *start, const void *end,
                              size_t *count)
{
    const Elf64_Phdr *known = map == _r_debug.r_map ? atomic_load(&program_headers) : NULL;

    *count = known ? program_count : 0;
    return known ? known
                 : first_bytes(start, (size_t)((const char *)end - (const char *)start), count);
}

static void find_headers(struct elf *e, const struct link_map *map)
{
    struct object where;

    if (objects_find((const void *)map->l_ld, &where))
        e->headers = elf_headers(map, where.start, where.end, &e->header_count);
}

/* What it has made read-only when all was relocated: whole pages, which end where others begin. */
static bool is_relro(const struct elf *e, const Elf64_Phdr *p, uintptr_t at)
{
    uintptr_t from = e->base + p->p_vaddr, to = from + p->p_memsz;

    return p->p_type == PT_GNU_RELRO && at / ARCH_PAGE_LEAST >= from / ARCH_PAGE_LEAST &&
           at / ARCH_PAGE_LEAST < to / ARCH_PAGE_LEAST;
}

int elf_rights(const struct elf *e, uintptr_t at)
{
    bool relro = false;
    int rights = -1;

    for (size_t i = 0; i < e->header_count; i++) {
        const Elf64_Phdr *p = &e->headers[i];

        relro |= is_relro(e, p, at);
        if (p->p_type == PT_LOAD && at - e->base - p->p_vaddr < p->p_memsz)
            rights = (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) |
                     (p->p_flags & PF_X ? PROT_EXEC : 0);
    }
    return relro && rights >= 0 ? PROT_READ : rights;
}

bool elf_open(struct elf *e, const struct link_map *map)
{
    memset(e, 0, sizeof(*e));
    e->base = map->l_addr;
    for (const Elf64_Dyn *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
        take_dynamic(e, map, d);
    if (!e->symbols || !e->strings)
        return false;
    find_headers(e, map);
    return true;
}

static bool is_code_or_data(const Elf64_Sym *s)
{
    return ELF64_ST_TYPE(s->st_info) <= STT_FUNC || ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC;
}

/* Of several versions, the one that programs are linked with. */
static bool defines(const struct elf *e, uint32_t symbol, const char *name)
{
    const Elf64_Sym *s = &e->symbols[symbol];

    return s->st_shndx != SHN_UNDEF && s->st_value && is_code_or_data(s) &&
           !(e->versions && e->versions[symbol] & VERSION_HIDDEN) &&
           strcmp(e->strings + s->st_name, name) == 0;
}

static uint32_t find_gnu(const struct elf *e, const char *name)
{
    const uint32_t *head = e->gnu_hash, *buckets = head + 4 + head[2] * 2u;
    const uint32_t *chains = buckets + head[0];
    uint32_t h = 5381, symbol;

    for (const char *c = name; *c; c++)
        h = h * 33 + (unsigned char)*c;
    symbol = head[0] ? buckets[h % head[0]] : 0;
    if (symbol < head[1])
        return 0;
    for (;; symbol++) {
        uint32_t there = chains[symbol - head[1]];

        if ((there | 1) == (h | 1) && defines(e, symbol, name))
            return symbol;
        if (there & 1)
            return 0;
    }
}

static uint32_t find_old(const struct elf *e, const char *name)
{
    for (uint32_t symbol = 1; symbol < e->hash[1]; symbol++)
        if (defines(e, symbol, name))
            return symbol;
    return 0;
}

const Elf64_Sym *elf_symbol(const struct elf *e, const char *name)
{
    uint32_t symbol = e->gnu_hash ? find_gnu(e, name) : e->hash ? find_old(e, name) : 0;

    return symbol ? &e->symbols[symbol] : NULL;
}

uintptr_t elf_find(const struct elf *e, const char *name)
{
    const Elf64_Sym *s = elf_symbol(e, name);

    return s && ELF64_ST_TYPE(s->st_info) == STT_FUNC ? e->base + s->st_value : 0;
}

struct next {
    const char *name;
    uintptr_t function;
};

/* Of a function in several kinds, libc says which suits this processor. */
static uintptr_t chosen(const struct elf *e, const Elf64_Sym *s)
{
    uintptr_t at = e->base + s->st_value;

    if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
        return ((uintptr_t(*)(void))at)();
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC ? at : 0;
}

static int look_next(struct dl_phdr_info *info, size_t size, void *context)
{
    struct next *n = context;
    const Elf64_Sym *s;
    struct elf e;

    (void)info, (void)size;
    for (const struct link_map *map = _r_debug.r_map; map && !n->function; map = map->l_next)
        if (map->l_ld != _DYNAMIC && elf_open(&e, map) && (s = elf_symbol(&e, n->name)))
            n->function = chosen(&e, s);
    return 1;
}

uintptr_t elf_next(const char *name)
{
    struct next n = {name, 0};

    dl_iterate_phdr(look_next, &n);
    return n.function;
}

struct wanted {
    const char *name;
    const struct link_map *map;
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    struct wanted *w = context;
    struct elf e;

    (void)size;
    elf_program(info);
    for (const struct link_map *map = _r_debug.r_map; map && !w->map; map = map->l_next)
        if (elf_open(&e, map) && elf_symbol(&e, w->name))
            w->map = map;
    return 1;
}

const struct link_map *elf_defining(const char *name)
{
    struct wanted w = {name, NULL};

    dl_iterate_phdr(look, &w);
    return w.map;
}
