/* far_image - see far_image.h. Whatever it reads may be anything, and may change meanwhile: every
 * number is checked after it was copied.
 */
#include "cfi/far_image.h"

#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#define HEADERS_MOST 64u
#define NOTES_MOST 1024u
#define EXTENT_MOST ((uintptr_t)1 << 40)

/* The build-id, out of a segment of notes. */
static void read_notes(const struct far *f, uintptr_t at, size_t size, struct far_image *out)
{
    char notes[NOTES_MOST];
    const char *n = notes;
    Elf64_Nhdr h;

    size = far_read_some(f, at, notes, size < sizeof(notes) ? size : sizeof(notes));
    while (size >= sizeof(h)) {
        size_t name, body;

        memcpy(&h, n, sizeof(h));
        name = ((size_t)h.n_namesz + 3) & ~(size_t)3;
        body = ((size_t)h.n_descsz + 3) & ~(size_t)3;
        if (name + body > size - sizeof(h))
            return;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && h.n_descsz <= sizeof(out->id) &&
            memcmp(n + sizeof(h), "GNU", 4) == 0) {
            memcpy(out->id, n + sizeof(h) + name, h.n_descsz);
            out->id_bytes = h.n_descsz;
            return;
        }
        n += sizeof(h) + name + body;
        size -= sizeof(h) + name + body;
    }
}

/* Where it begins and ends, as the loader has it. False: it has no segments. */
static bool measure(const Elf64_Phdr *p, size_t count, uintptr_t header, struct far_image *out)
{
    uintptr_t low = UINTPTR_MAX, high = 0, first = UINTPTR_MAX;

    for (size_t i = 0; i < count; i++) {
        if (p[i].p_type != PT_LOAD || p[i].p_vaddr > UINTPTR_MAX - p[i].p_memsz)
            continue;
        if (p[i].p_offset < ARCH_PAGE_LEAST && first == UINTPTR_MAX)
            first = p[i].p_vaddr - p[i].p_offset;
        if (p[i].p_vaddr < low)
            low = p[i].p_vaddr;
        if (p[i].p_vaddr + p[i].p_memsz > high)
            high = p[i].p_vaddr + p[i].p_memsz;
    }
    if (first == UINTPTR_MAX || high <= low || high - low > EXTENT_MOST)
        return false;
    out->bias = header - first;
    out->start = out->bias + low / ARCH_PAGE_LEAST * ARCH_PAGE_LEAST;
    out->end = out->bias + high;
    return out->start <= header && header < out->end;
}

static bool is_within(const struct far_image *i, uintptr_t at)
{
    return at - i->start < i->end - i->start;
}

static void take(const struct far *f, const Elf64_Phdr *p, struct far_image *out)
{
    uintptr_t at = out->bias + p->p_vaddr;

    if (!is_within(out, at))
        return;
    if (p->p_type == PT_GNU_EH_FRAME)
        out->table = at;
    else if (p->p_type == PT_DYNAMIC)
        out->dynamic = at;
    else if (p->p_type == PT_NOTE && !out->id_bytes)
        read_notes(f, at, p->p_memsz, out);
}

bool far_image_read(const struct far *f, uintptr_t header, struct far_image *out)
{
    Elf64_Phdr p[HEADERS_MOST];
    Elf64_Ehdr h;

    *out = (struct far_image){0};
    if (!far_read(f, header, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != ARCH_MACHINE ||
        h.e_phentsize != sizeof(*p) || h.e_phnum > HEADERS_MOST ||
        !far_read(f, header + h.e_phoff, p, h.e_phnum * sizeof(*p)) ||
        !measure(p, h.e_phnum, header, out))
        return false;
    for (size_t i = 0; i < h.e_phnum; i++)
        take(f, &p[i], out);
    return true;
}
