/* elf - see elf.h. */
#include "inject/elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#define PAGE 4096u

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
    case DT_RPATH:
    case DT_RUNPATH:
        e->own_paths = true;
        break;
    default:
        break;
    }
}

/* The headers of a loaded object are its first bytes, where a linker has put them as usual. */
static void find_relro(struct elf *e, const struct link_map *map)
{
    struct dl_find_object where;
    const Elf64_Ehdr *h;
    const Elf64_Phdr *p;
    size_t size;

    if (_dl_find_object(map->l_ld, &where) != 0)
        return;
    h = where.dlfo_map_start;
    size = (size_t)((const char *)where.dlfo_map_end - (const char *)h);
    if (size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_phoff > size ||
        h->e_phnum > (size - h->e_phoff) / sizeof(*p))
        return;
    p = (const Elf64_Phdr *)((const char *)h + h->e_phoff);
    for (unsigned int i = 0; i < h->e_phnum; i++) {
        if (p[i].p_type != PT_GNU_RELRO)
            continue;
        e->relro_from = (e->base + p[i].p_vaddr) & ~(uintptr_t)(PAGE - 1);
        e->relro_to = (e->base + p[i].p_vaddr + p[i].p_memsz) & ~(uintptr_t)(PAGE - 1);
    }
}

bool elf_open(struct elf *e, const struct link_map *map)
{
    memset(e, 0, sizeof(*e));
    e->base = map->l_addr;
    for (const Elf64_Dyn *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
        take_dynamic(e, map, d);
    if (!e->symbols || !e->strings)
        return false;
    find_relro(e, map);
    return true;
}

static bool defines(const struct elf *e, uint32_t symbol, const char *name)
{
    const Elf64_Sym *s = &e->symbols[symbol];

    return s->st_shndx != SHN_UNDEF && s->st_value && ELF64_ST_TYPE(s->st_info) <= STT_FUNC &&
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
