/* symbols - see symbols.h. Sections say what is code; of several names for one address the one that
 * people write is kept (rank_of).
 */
#include "namer/symbols.h"

#include "namer/functions.h"
#include "namer/unpack.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS_MOST 65536

/* Which sections hold code: one byte for each. */
struct code_sections {
    char *is_code;
    size_t count;
};

static void add(struct symbols *s, struct arena *arena, struct span span, const char *name)
{
    arena_fit(arena, s->names, s->room, s->count + 1);
    span.what = (uint32_t)s->count;
    s->names[s->count++] = name;
    spans_add(&s->spans, arena, span);
}

/* Of several names for one address: malloc rather than __libc_malloc, global rather than local. */
static uint16_t rank_of(const char *name, const GElf_Sym *symbol)
{
    size_t underscores = strspn(name, "_");
    unsigned int binding = GELF_ST_BIND(symbol->st_info);
    unsigned int rank = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 0 : 16;

    rank += (underscores < 3 ? 3 - (unsigned int)underscores : 0) * 4;
    return (uint16_t)(rank + (binding == STB_GLOBAL ? 2 : binding == STB_WEAK));
}

static bool is_function(const GElf_Sym *symbol, const struct code_sections *sections)
{
    unsigned int type = GELF_ST_TYPE(symbol->st_info);

    return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
           symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < sections->count &&
           sections->is_code[symbol->st_shndx] && symbol->st_value != 0;
}

static void read_table(struct symbols *s, struct arena *arena, Elf *elf, Elf_Scn *table,
                       const struct code_sections *sections)
{
    Elf_Data *data = elf_getdata(table, NULL);
    GElf_Shdr header;
    GElf_Sym symbol;

    if (!data || !gelf_getshdr(table, &header))
        return;
    for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
        const char *name;
        uint64_t high = symbol.st_value + symbol.st_size;

        if (!is_function(&symbol, sections))
            continue;
        name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (!name || !name[0] || name[0] == '$') /* $x, $d: marks for disassemblers */
            continue;
        high = high > symbol.st_value ? high : symbol.st_value;
        add(s, arena,
            (struct span){.low = symbol.st_value, .high = high, .rank = rank_of(name, &symbol)},
            name);
    }
}

static void find_code(struct code_sections *c, struct symbols *s, struct arena *arena, Elf *elf)
{
    Elf_Scn *section = NULL;
    size_t count = 0;

    elf_getshdrnum(elf, &count);
    c->count = count < SECTIONS_MOST ? count : SECTIONS_MOST;
    c->is_code = arena_alloc(arena, c->count + 1);
    while ((section = elf_nextscn(elf, section))) {
        size_t index = elf_ndxscn(section);
        GElf_Shdr header;

        if (index >= c->count || !gelf_getshdr(section, &header) ||
            !(header.sh_flags & SHF_EXECINSTR))
            continue;
        c->is_code[index] = 1;
        /* What has no size in a table ends at the latest where its section does. */
        spans_add(&s->spans, arena,
                  (struct span){.low = header.sh_addr + header.sh_size, .what = SPANS_NOTHING});
    }
}

/* Reads all tables of one type; returns whether there is one. */
static bool read_tables(struct symbols *s, struct arena *arena, Elf *elf, GElf_Word type)
{
    struct code_sections sections;
    Elf_Scn *section = NULL;
    bool found = false;

    if (!elf)
        return false;
    find_code(&sections, s, arena, elf);
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;

        if (!gelf_getshdr(section, &header) || header.sh_type != type)
            continue;
        read_table(s, arena, elf, section, &sections);
        found = true;
    }
    return found;
}

static void read_mini(struct symbols *s, struct arena *arena, struct image *code)
{
    Elf_Data *packed = code->elf ? image_section(code, ".gnu_debugdata") : NULL;
    size_t size;

    if (!packed)
        return;
    s->mini_bytes = unpack_xz(packed->d_buf, packed->d_size, &size);
    s->mini = s->mini_bytes ? elf_memory(s->mini_bytes, size) : NULL;
    if (s->mini && elf_kind(s->mini) == ELF_K_ELF)
        read_tables(s, arena, s->mini, SHT_SYMTAB);
}

void symbols_read(struct symbols *s, struct arena *arena, struct image *code, struct image *debug)
{
    bool whole = read_tables(s, arena, debug->elf, SHT_SYMTAB) ||
                 read_tables(s, arena, code->elf, SHT_SYMTAB);

    if (!whole) {
        read_mini(s, arena, code);
        read_tables(s, arena, code->elf, SHT_DYNSYM);
    }
    spans_sort(&s->spans);
    if (!whole)
        functions_read(&s->spans, arena, code);
}

void symbols_close(struct symbols *s)
{
    elf_end(s->mini);
    free(s->mini_bytes);
}

const char *symbols_at(const struct symbols *s, uint64_t address)
{
    const struct span *span = spans_at(&s->spans, address);

    return span && span->what != SPANS_START ? s->names[span->what] : NULL;
}

bool symbols_start(const struct symbols *s, uint64_t address, uint64_t *start)
{
    const struct span *span = spans_at(&s->spans, address);

    *start = span ? span->low : 0;
    return span && span->what == SPANS_START;
}
