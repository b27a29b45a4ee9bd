/* dynamic - see dynamic.h.
 *
 * Symbols are looked up as the loader does it, by the hash table of the dynamic section: some ten
 * short reads for a program of any size.
 */
#include "preload/dynamic.h"

#include <string.h>

#define HEADERS_MOST 64
#define ENTRIES_MOST 512
#define CHAIN_MOST 4096
#define ENTRIES_AT_ONCE 32
#define HEADERS_AT_ONCE 14
#define VERSIONS_MOST 128

enum { HASH_BUCKETS, HASH_FIRST, HASH_FILTER, HASH_SHIFT }; /* counts; the first symbol's index */

bool dynamic_get(const struct dynamic *f, void *to, size_t bytes, uint64_t offset)
{
    return f->read(f->fd, to, bytes, offset) == (long)bytes;
}

/* Where in the file an address of the loaded program is. */
static bool offset_of(const struct dynamic *f, uint64_t address, uint64_t *offset)
{
    for (unsigned int i = 0; i < f->load_count; i++) {
        uint64_t begin = f->loads[i].address;

        if (address >= begin && address - begin < f->loads[i].bytes) {
            *offset = f->loads[i].offset + (address - begin);
            return true;
        }
    }
    return false;
}

static bool get_at(const struct dynamic *f, void *to, size_t bytes, uint64_t address)
{
    uint64_t offset;

    return offset_of(f, address, &offset) && dynamic_get(f, to, bytes, offset);
}

size_t dynamic_text(const struct dynamic *f, char out[DYNAMIC_NAME], uint64_t address)
{
    uint64_t offset;
    long got = offset_of(f, address, &offset) ? f->read(f->fd, out, DYNAMIC_NAME - 1, offset) : 0;

    out[got > 0 ? got : 0] = '\0';
    return strlen(out);
}

void dynamic_each(struct dynamic *f,
                  void (*take)(struct dynamic *f, const Elf64_Dyn *d, void *context), void *context)
{
    Elf64_Dyn some[ENTRIES_AT_ONCE];

    for (uint64_t from = 0; from < f->dynamic_count; from += ENTRIES_AT_ONCE) {
        long got = f->read(f->fd, some, sizeof(some), f->dynamic + from * sizeof(some[0]));

        for (long i = 0; i < got / (long)sizeof(some[0]); i++) {
            if (some[i].d_tag == DT_NULL || from + (uint64_t)i >= f->dynamic_count)
                return;
            take(f, &some[i], context);
        }
        if (got < (long)sizeof(some))
            return;
    }
}

static void take_place(struct dynamic *f, const Elf64_Dyn *d, void *context)
{
    (void)context;
    if (d->d_tag == DT_STRTAB)
        f->strings = d->d_un.d_ptr;
    else if (d->d_tag == DT_SYMTAB)
        f->symbols = d->d_un.d_ptr;
    else if (d->d_tag == DT_GNU_HASH)
        f->hash = d->d_un.d_ptr;
    else if (d->d_tag == DT_VERDEF)
        f->versions = d->d_un.d_ptr;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

static bool is_symbol(const struct dynamic *f, uint32_t index, const char *name)
{
    char found[DYNAMIC_NAME];
    Elf64_Sym s;

    if (!get_at(f, &s, sizeof(s), f->symbols + index * sizeof(s)))
        return false;
    dynamic_text(f, found, f->strings + s.st_name);
    return s.st_shndx != SHN_UNDEF && strcmp(found, name) == 0;
}

/* The table's filter: most names that are not there are told so by one word. */
static bool may_define(const struct dynamic *f, uint32_t hash)
{
    const uint32_t *head = f->hash_head;
    uint64_t word, bits = 1ull << hash % 64 | 1ull << (hash >> head[HASH_SHIFT] % 32) % 64;

    return head[HASH_FILTER] &&
           get_at(f, &word, sizeof(word),
                  f->hash + sizeof(f->hash_head) + (uint64_t)(hash / 64 % head[HASH_FILTER]) * 8) &&
           (word & bits) == bits;
}

bool dynamic_defines(const struct dynamic *f, const char *name)
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

void dynamic_find(struct dynamic *f)
{
    dynamic_each(f, take_place, NULL);
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

static bool is_version(const struct dynamic *f, uint64_t at, const char *version)
{
    char name[DYNAMIC_NAME];
    Elf64_Verdaux first;

    if (!get_at(f, &first, sizeof(first), at))
        return false;
    dynamic_text(f, name, f->strings + first.vda_name);
    return strcmp(name, version) == 0;
}

bool dynamic_has_version(const struct dynamic *f, const char *version)
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

static void take_header(struct dynamic *f, const Elf64_Phdr *h)
{
    if (h->p_type == PT_INTERP) {
        f->loader_at = h->p_offset;
        f->loader_bytes = h->p_filesz;
    } else if (h->p_type == PT_DYNAMIC) {
        f->dynamic = h->p_offset;
        f->dynamic_count = h->p_filesz / sizeof(Elf64_Dyn);
        if (f->dynamic_count > ENTRIES_MOST)
            f->dynamic_count = ENTRIES_MOST;
    } else if (h->p_type == PT_LOAD && f->load_count < DYNAMIC_LOADS) {
        f->loads[f->load_count].address = h->p_vaddr;
        f->loads[f->load_count].bytes = h->p_filesz;
        f->loads[f->load_count++].offset = h->p_offset;
    }
}

bool dynamic_headers(struct dynamic *f, const Elf64_Ehdr *e)
{
    unsigned int count = e->e_phnum < HEADERS_MOST ? e->e_phnum : HEADERS_MOST, some;
    Elf64_Phdr h[HEADERS_AT_ONCE];

    for (unsigned int from = 0; from < count; from += some) {
        some = count - from < HEADERS_AT_ONCE ? count - from : HEADERS_AT_ONCE;
        if (!dynamic_get(f, h, some * sizeof(h[0]), e->e_phoff + from * sizeof(h[0])))
            return false;
        for (unsigned int i = 0; i < some; i++)
            take_header(f, &h[i]);
    }
    return true;
}

bool dynamic_open(struct dynamic *f)
{
    Elf64_Ehdr e;

    return dynamic_get(f, &e, sizeof(e), 0) && memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 &&
           e.e_ident[EI_CLASS] == ELFCLASS64 && dynamic_headers(f, &e);
}
