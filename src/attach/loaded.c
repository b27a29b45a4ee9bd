/* loaded - see loaded.h. Everything is read from its memory: the file may have been replaced. */
#include "attach/loaded.h"

#include "base/memory.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADERS_MOST 64u
#define DYNAMIC_MOST 256u
#define TABLE_MOST (16u << 20)

bool loaded_read(const struct loaded *l, uint64_t at, void *to, size_t bytes)
{
    return pread(l->memory, to, bytes, (off_t)at) == (ssize_t)bytes;
}

bool loaded_write(const struct loaded *l, uint64_t at, const void *from, size_t bytes)
{
    return pwrite(l->memory, from, bytes, (off_t)at) == (ssize_t)bytes;
}

/* Symbols */

struct tables { /* of an object, in its memory */
    uint64_t base, dynamic, symbols, strings, string_bytes;
};

static bool find_dynamic(const struct loaded *l, const struct loaded_object *o, struct tables *t)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
    Elf64_Phdr p[HEADERS_MOST];
    Elf64_Ehdr h;
    bool first = true;

    if (!loaded_read(l, o->from, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phnum > HEADERS_MOST ||
        !loaded_read(l, o->from + h.e_phoff, p, h.e_phnum * sizeof(p[0])))
        return false;
    for (unsigned int i = 0; i < h.e_phnum; i++) {
        if (p[i].p_type == PT_LOAD && first) {
            t->base = o->from - (p[i].p_vaddr & ~page);
            first = false;
        }
        if (p[i].p_type == PT_DYNAMIC)
            t->dynamic = p[i].p_vaddr;
    }
    t->dynamic += t->base;
    return !first && t->dynamic != t->base;
}

static bool find_tables(const struct loaded *l, const struct loaded_object *o, struct tables *t)
{
    Elf64_Dyn d;

    memset(t, 0, sizeof(*t));
    if (!find_dynamic(l, o, t))
        return false;
    for (unsigned int i = 0; i < DYNAMIC_MOST; i++) {
        if (!loaded_read(l, t->dynamic + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
            break;
        /* The loader has moved these, but for what it may not write to. */
        if (d.d_tag == DT_SYMTAB || d.d_tag == DT_STRTAB)
            *(d.d_tag == DT_SYMTAB ? &t->symbols : &t->strings) = d.d_un.d_ptr < t->base
                                                                    ? d.d_un.d_ptr + t->base
                                                                    : d.d_un.d_ptr;
        if (d.d_tag == DT_STRSZ)
            t->string_bytes = d.d_un.d_val;
    }
    /* Linkers put the names right behind the symbols, whose number is written nowhere. */
    return t->symbols && t->strings > t->symbols && t->strings - t->symbols < TABLE_MOST &&
           t->string_bytes && t->string_bytes < TABLE_MOST;
}

static int by_address(const void *a, const void *b)
{
    const struct loaded_symbol *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static void read_symbols(const struct loaded *l, struct loaded_object *o)
{
    struct tables t;
    Elf64_Sym *all;
    size_t count;

    if (!find_tables(l, o, &t))
        return;
    count = (t.strings - t.symbols) / sizeof(*all);
    all = memory_zeroed(count * sizeof(*all) + 1);
    o->names = memory_zeroed(t.string_bytes + 1);
    o->symbols = memory_zeroed(count * sizeof(*o->symbols) + 1);
    if (loaded_read(l, t.symbols, all, count * sizeof(*all)) &&
        loaded_read(l, t.strings, o->names, t.string_bytes)) {
        for (size_t i = 0; i < count; i++)
            if (ELF64_ST_TYPE(all[i].st_info) == STT_FUNC && all[i].st_shndx != SHN_UNDEF &&
                all[i].st_value && all[i].st_name < t.string_bytes)
                o->symbols[o->symbol_count++] = (struct loaded_symbol){
                    t.base + all[i].st_value, all[i].st_size, o->names + all[i].st_name};
    }
    memory_sort(o->symbols, o->symbol_count, sizeof(*o->symbols), by_address);
    free(all);
}

uint64_t loaded_symbol(const struct loaded_object *o, const char *name)
{
    for (size_t i = 0; i < o->symbol_count; i++)
        if (strcmp(o->symbols[i].name, name) == 0)
            return o->symbols[i].at;
    return 0;
}

const struct loaded_object *loaded_find(const struct loaded *l, const char *name, uint64_t *at)
{
    for (size_t i = 0; i < l->count; i++)
        if ((*at = loaded_symbol(&l->objects[i], name)) != 0)
            return &l->objects[i];
    return NULL;
}

bool loaded_around(const struct loaded_object *o, const char *name, uint64_t *from, uint64_t *to)
{
    uint64_t at = loaded_symbol(o, name), end = at;

    if (!at)
        return false;
    *from = o->code_from;
    *to = o->code_to;
    for (size_t i = 0; i < o->symbol_count; i++) {
        const struct loaded_symbol *s = &o->symbols[i];

        if (s->at == at && s->at + s->bytes > end)
            end = s->at + s->bytes;
        if (s->at < at && s->at + s->bytes > *from && s->at + s->bytes <= at)
            *from = s->at + s->bytes;
    }
    for (size_t i = o->symbol_count; i-- > 0;)
        if (o->symbols[i].at >= end && o->symbols[i].at < *to)
            *to = o->symbols[i].at;
    return true;
}

/* Maps */

static void take_map(struct loaded *l, const char *line)
{
    uint64_t from, to, offset;
    char rights[5] = "", path[256] = "";
    struct loaded_object *o = l->count ? &l->objects[l->count - 1] : NULL;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %255[^\n]", &from, &to,
               rights, &offset, path) < 4 ||
        path[0] != '/')
        return;
    if (!o || strcmp(o->path, path) != 0 || offset == 0) {
        if (offset != 0)
            return;
        memory_fit(l->objects, l->room, l->count + 1);
        o = &l->objects[l->count++];
        *o = (struct loaded_object){.from = from};
        memcpy(o->path, path, sizeof(path));
    }
    o->to = to;
    if (rights[2] != 'x')
        return;
    o->code_from = o->code_from ? o->code_from : from;
    o->code_to = to;
}

int loaded_open(struct loaded *l, int pid, const char *part)
{
    char path[64], line[4096];
    FILE *maps;

    *l = (struct loaded){.pid = pid};
    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    l->memory = open(path, O_RDWR | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    maps = l->memory < 0 ? NULL : fopen(path, "re");
    if (!maps) {
        loaded_close(l);
        return -1;
    }
    while (fgets(line, sizeof(line), maps))
        if (!part || strstr(line, part))
            take_map(l, line);
    fclose(maps);
    for (size_t i = 0; i < l->count; i++)
        if (l->objects[i].code_to)
            read_symbols(l, &l->objects[i]);
    return 0;
}

void loaded_close(struct loaded *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->objects[i].symbols);
        free(l->objects[i].names);
    }
    free(l->objects);
    if (l->memory >= 0)
        close(l->memory);
    *l = (struct loaded){.memory = -1};
}
