/* elf - a loaded object as the loader keeps it: its symbols, its relocations, its segments. */
#ifndef INJECT_ELF_H
#define INJECT_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf {
    uintptr_t base; /* what addresses of its file are moved by */
    const Elf64_Sym *symbols;
    const char *strings;
    const Elf64_Rela *relocations[2]; /* of data, of the procedure linkage table */
    size_t counts[2];
    const uint32_t *gnu_hash, *hash; /* NULL: it has none */
    const uint16_t *versions;        /* of its symbols; NULL: they have none */
    const Elf64_Phdr *headers;       /* NULL: not known */
    size_t header_count;
    bool own_paths; /* says where the libraries are that it loads */
};

/* False: it has no symbols. */
bool elf_open(struct elf *e, const struct link_map *map);

/* The program's own headers need not be where its other segments are: whoever walks the loader's
 * list (dl_iterate_phdr) hands on what that says of its first object.
 */
void elf_program(const struct dl_phdr_info *first);

/* The headers of an object whose memory begins at `start`; NULL: they are not there. */
const Elf64_Phdr *elf_headers(const struct link_map *map, const void *start, const void *end,
                              size_t *count);

/* What the loader lets be done (PROT_...) with a byte of it; -1: it is in none of the segments. */
int elf_rights(const struct elf *e, uintptr_t at);

/* A function or an object that it defines; NULL: it does not. */
const Elf64_Sym *elf_symbol(const struct elf *e, const char *name);

/* The address of a function that it defines; 0: it does not. */
uintptr_t elf_find(const struct elf *e, const char *name);

/* As dlsym finds it with RTLD_NEXT: a function of the first object besides ours that defines it, in
 * the order of loading; 0: none does.
 */
uintptr_t elf_next(const char *name);

/* The first object of the program that defines something of this name; NULL: none. The loader's
 * list stands still meanwhile.
 */
const struct link_map *elf_defining(const char *name);

#endif
