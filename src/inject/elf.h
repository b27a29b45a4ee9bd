/* elf - a loaded object as the loader keeps it: its symbols, its relocations, what is read-only. */
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
    uintptr_t relro_from, relro_to;  /* pages that the loader has made read-only */
    bool own_paths;                  /* says where the libraries are that it loads */
};

/* False: it has no symbols. */
bool elf_open(struct elf *e, const struct link_map *map);

/* A function or an object that it defines; NULL: it does not. */
const Elf64_Sym *elf_symbol(const struct elf *e, const char *name);

/* The address of a function that it defines; 0: it does not. */
uintptr_t elf_find(const struct elf *e, const char *name);

#endif
