/* module - see module.h. A name from DWARF is preferred, since it knows lines and what was inlined;
 * the symbol table has the last word where DWARF names a clone or nothing.
 */
#include "namer/module.h"

#include "base/hash.h"
#include "base/text.h"
#include "namer/demangled.h"
#include "namer/inlines.h"
#include "namer/lines.h"
#include "namer/locate.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(struct module *m, struct strings *strings, const char *what)
{
    char *text = arena_printf(&m->arena, "%s %s.", m->path, what);

    m->problem = strings_keep(strings, text);
}

/* The file itself, if it is still the one that ran. */
static void open_code(struct module *m, struct strings *strings)
{
    if (!image_open(&m->code, m->path)) {
        say(m, strings,
            access(m->path, F_OK) < 0
                ? "is not there any more, so its functions have no names"
                : "is not a code file that can be read, so its functions have no names");
    } else if (m->id[0] && strcmp(m->id, m->code.id) != 0) {
        image_close(&m->code);
        say(m, strings,
            "has changed since it ran (its build-id differs), so its functions have no names");
    }
}

static bool read_dwarf(struct module *m, struct image *from)
{
    m->units = (struct units){.arena = &m->arena};
    if (!from->elf || !image_has_dwarf(from))
        return false;
    m->units.dwarf = dwarf_begin_elf(from->elf, DWARF_C_READ, NULL);
    if (!m->units.dwarf)
        return false;
    units_read(&m->units);
    return m->units.count > 0;
}

/* Some debug information is in a file that several share (dwz), which libdw looks for in these
 * places.
 */
static void see_shared(struct module *m, const struct image *from)
{
    const char *name;
    const unsigned char *id;
    char path[PATH_MAX], file[PATH_MAX];
    ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(m->units.dwarf, &name, (const void **)&id);
    size_t used;

    if (bytes <= 1 || bytes > IMAGE_ID_MOST || !realpath(from->path, file)) {
        m->seen.uncertain |= bytes > 0;
        return;
    }
    used = (size_t)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", id[0]);
    for (ssize_t i = 1; i < bytes; i++)
        used += (size_t)snprintf(path + used, sizeof(path) - used, "%02x", id[i]);
    snprintf(path + used, sizeof(path) - used, ".debug");
    seen_path(&m->seen, path);
    *(strrchr(file, '/') + 1) = '\0';
    if (snprintf(path, sizeof(path), "%s%s", name[0] == '/' ? "" : file, name) < (int)sizeof(path))
        seen_path(&m->seen, path);
    m->seen.uncertain |= getenv("DEBUGINFOD_URLS") != NULL; /* which libdw may ask on its own */
}

static void see_others(struct module *m)
{
    if (m->units.dwarf)
        see_shared(m, image_has_dwarf(&m->code) ? &m->code : &m->debug);
    m->seen.uncertain |= m->units.split;
}

void module_open(struct module *m, const struct resolver_options *o, struct strings *strings)
{
    bool detailed;

    m->open = true;
    m->problem = NULL;
    m->seen = (struct seen){.strings = strings};
    m->code.seen = m->debug.seen = &m->seen;
    open_code(m, strings);
    if (m->code.elf && image_has_dwarf(&m->code)) {
        detailed = read_dwarf(m, &m->code);
    } else {
        /* Found by its build-id, it is right even where the file itself is gone. */
        locate_debug(o, m->path, &m->code, m->code.elf ? m->code.id : m->id, &m->debug);
        detailed = read_dwarf(m, &m->debug);
    }
    if (!m->code.elf && !m->debug.elf) {
        module_close(m);
        m->unusable = true;
        return;
    }
    m->problem = NULL;
    see_others(m);
    symbols_read(&m->symbols, &m->arena, &m->code, &m->debug);
    if (!detailed)
        say(m, strings,
            m->symbols.count
                ? "has no debug information here: functions are named from its symbol table, "
                  "without lines and without what was inlined"
                : "has neither debug information nor symbols here: functions are named by where "
                  "they begin");
}

void module_close(struct module *m)
{
    if (!m->open)
        return;
    dwarf_end(m->units.dwarf);
    symbols_close(&m->symbols);
    image_close(&m->debug);
    image_close(&m->code);
    arena_free(&m->arena);
    m->arena = (struct arena){0};
    m->symbols = (struct symbols){0};
    m->units = (struct units){0};
    m->wanted = NULL;
    m->wanted_count = m->wanted_room = 0;
    m->open = false;
}

size_t module_bytes(const struct module *m)
{
    return m->units.bytes + m->symbols.spans.room * sizeof(struct span) +
           m->symbols.room * sizeof(char *);
}

static const char *readable(struct strings *strings, const char *name)
{
    char out[DEMANGLED_MOST];

    return name ? strings_keep(strings, demangled(name, out)) : NULL;
}

/* The name that the symbol table has, without the version that a linker may have put behind it. */
static const char *symbol_name(struct module *m, struct strings *strings, uint64_t address)
{
    const char *symbol = symbols_at(&m->symbols, address);
    const char *at = symbol ? strchr(symbol, '@') : NULL;
    char plain[512];

    if (at && at > symbol && at - symbol < (ptrdiff_t)sizeof(plain)) {
        snprintf(plain, sizeof(plain), "%.*s", (int)(at - symbol), symbol);
        symbol = plain;
    }
    return readable(strings, symbol);
}

/* A function without a name is known by where it begins: all of its code is one, then. */
static const char *place_name(struct module *m, struct strings *strings, uint64_t address)
{
    char name[NAME_MAX + 32];
    uint64_t start;

    if (!symbols_start(&m->symbols, address, &start))
        return NULL;
    text_place(name, sizeof(name), m->path, start);
    return strings_keep(strings, name);
}

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return dwarf_formstring(&attribute);
    return NULL;
}

/* With the directory that the compiler ran in, where the name alone leads nowhere. */
static const char *full_path(struct unit *unit, struct strings *strings, const char *file)
{
    Dwarf_Attribute attribute;
    const char *folder = NULL;
    char path[PATH_MAX];

    if (!file || file[0] == '/')
        return strings_keep(strings, file);
    if (dwarf_attr(&unit->lines_die, DW_AT_comp_dir, &attribute))
        folder = dwarf_formstring(&attribute);
    if (!folder || folder[0] != '/' ||
        snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
        return strings_keep(strings, file);
    return strings_keep(strings, path);
}

/* The same for a name that stays where it is. */
static const char *path_of(struct unit *unit, struct strings *strings, const char *file)
{
    size_t at = hash_number((uint64_t)(uintptr_t)file) % UNITS_PATHS;

    if (unit->paths[at].name != file) {
        unit->paths[at].name = file;
        unit->paths[at].path = full_path(unit, strings, file);
    }
    return unit->paths[at].path;
}

static uint64_t number_of(Dwarf_Die *die, unsigned int name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;

    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
        return 0;
    return value;
}

/* What a header wraps around a function of libc, to check its arguments, is marked as artificial.
 * So are members that a C++ compiler adds, but where they are declared.
 */
static bool is_wrapper(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin;

    return dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
           dwarf_formref_die(&attribute, &origin) && dwarf_hasattr(&origin, DW_AT_artificial);
}

static void name_scope(struct unit *unit, struct strings *strings, struct scope *s)
{
    const char *mangled = unit->plain ? NULL : linkage_name(&s->die);
    uint64_t line = number_of(&s->die, DW_AT_call_line);
    uint64_t file = number_of(&s->die, DW_AT_call_file);

    s->named = true;
    s->hidden = line && is_wrapper(&s->die);
    s->name = readable(strings, mangled ? mangled : dwarf_diename(&s->die));
    s->call_line = line <= INT32_MAX ? (uint32_t)line : 0;
    s->call_file = line ? full_path(unit, strings, lines_file(unit, file)) : NULL;
}

/* Whether the symbol table has a better name than the debug information: mangled where that is bare
 * (C++), or the one that callers write (malloc rather than __libc_malloc).
 */
static bool is_better(const struct unit *unit, const char *symbol, const char *name)
{
    if (!name || !symbol)
        return symbol;
    if (unit->plain)
        return strspn(symbol, "_") < strspn(name, "_");
    return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

static void name_function(struct module *m, struct unit *unit, struct strings *strings,
                          struct function *f)
{
    const char *mangled = unit->plain ? NULL : linkage_name(&f->die);

    f->named = true;
    f->name = readable(strings, mangled ? mangled : dwarf_diename(&f->die));
    if (!mangled && is_better(unit, symbols_at(&m->symbols, f->entry), f->name))
        f->name = symbol_name(m, strings, f->entry);
}

static int names_in_unit(struct module *m, struct unit *unit, struct strings *strings,
                         uint64_t address, struct resolved_name *out, int most)
{
    struct scope *path[INLINES_DEEPEST];
    struct resolved_name name = {0};
    struct function *f = units_function(&m->units, unit, address);
    int depth = f ? inlines_at(&m->units, f, address, path) : 0, n = 0;

    if (lines_at(&m->units, unit, address, &name.file, &name.line))
        name.file = path_of(unit, strings, name.file);
    while (depth-- > 0 && n < most) {
        struct scope *s = path[depth];

        if (!s->named)
            name_scope(unit, strings, s);
        name.function = s->name;
        if (!s->hidden)
            out[n++] = name;
        name = (struct resolved_name){.file = s->call_file, .line = s->call_line};
    }
    if (n == most)
        return n;
    if (f && !f->named)
        name_function(m, unit, strings, f);
    name.function = f && f->name ? f->name : symbol_name(m, strings, address);
    if (n > 0 || name.function || name.file)
        out[n++] = name;
    return n;
}

int module_names(struct module *m, struct strings *strings, uint64_t address,
                 struct resolved_name *out, int most)
{
    struct unit *unit = m->units.dwarf ? units_at(&m->units, address) : NULL;

    if (unit)
        return names_in_unit(m, unit, strings, address, out, most);
    out[0] = (struct resolved_name){.function = symbol_name(m, strings, address)};
    if (!out[0].function)
        out[0].function = place_name(m, strings, address);
    return out[0].function != NULL;
}
