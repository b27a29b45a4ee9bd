/* untold - see untold.h. An instruction is no proof that it is ever run: what is said then is only
 * that something is not known. Code of libraries is not looked at.
 */
#include "watch/untold.h"

#include "arch/arch.h"
#include "base/hash.h"
#include "base/kept.h"
#include "base/samefile.h"
#include "platform/platform.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (256u << 10)
#define LARGE (1 << 20)
#define AROUND 64u /* what is read twice: an instruction is looked at with its neighbours */
#define HEADERS_MOST 64
#define NOTES_MOST 4096
#define BYTES_MOST (1ull << 30) /* of code, in all */

static uint64_t looked_at;

/* ---- the code ---- */

static bool in_segment(int fd, unsigned char *room, const Elf64_Phdr *h)
{
    uint64_t from = 0;

    while (from < h->p_filesz && looked_at < BYTES_MOST) {
        uint64_t left = h->p_filesz - from;
        ssize_t got = pread(fd, room, left < PIECE ? (size_t)left : PIECE,
                            (off_t)(h->p_offset + from));

        if (got <= 0)
            return false;
        if (arch_may_exec(room, (size_t)got))
            return true;
        looked_at += (uint64_t)got;
        from += (uint64_t)got > AROUND && (uint64_t)got < left ? (uint64_t)got - AROUND
                                                               : (uint64_t)got;
    }
    return false;
}

/* Go starts programs by itself; its linker says that a file is of it. */
static bool is_of_go(int fd, const Elf64_Phdr *h)
{
    unsigned char note[NOTES_MOST];
    ssize_t got = pread(fd, note, h->p_filesz < sizeof(note) ? (size_t)h->p_filesz : sizeof(note),
                        (off_t)h->p_offset);

    return got > 0 && memmem(note, (size_t)got, "\4\0\0\0Go\0\0", 8);
}

static bool in_headers(int fd, const Elf64_Phdr *h, int count, unsigned char *room)
{
    for (int i = 0; i < count; i++) {
        if (h[i].p_type == PT_NOTE && is_of_go(fd, &h[i]))
            return true;
        if (h[i].p_type == PT_LOAD && (h[i].p_flags & PF_X) && in_segment(fd, room, &h[i]))
            return true;
    }
    return false;
}

/* The loader, which is the only one here without one, starts nothing. */
static bool has_loader(const Elf64_Phdr *h, int count)
{
    for (int i = 0; i < count; i++)
        if (h[i].p_type == PT_INTERP)
            return true;
    return false;
}

/* How many there are; 0: it is no program. */
static int read_headers(int fd, Elf64_Phdr h[HEADERS_MOST])
{
    Elf64_Ehdr e;
    ssize_t got;
    int count;

    if (pread(fd, &e, sizeof(e), 0) != (ssize_t)sizeof(e) ||
        memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    got = pread(fd, h, HEADERS_MOST * sizeof(h[0]), (off_t)e.e_phoff);
    count = got < 0 ? 0 : (int)(got / (ssize_t)sizeof(h[0]));
    return count < e.e_phnum ? count : e.e_phnum;
}

static bool in_program(int fd, unsigned char *room)
{
    Elf64_Phdr h[HEADERS_MOST];
    int count = read_headers(fd, h);

    return has_loader(h, count) && in_headers(fd, h, count, room);
}

/* ---- its build-id, as a number; 0: it has none ---- */

static uint64_t id_in_notes(const unsigned char *at, size_t left)
{
    Elf64_Nhdr n;

    while (left >= sizeof(n)) {
        uint64_t name, all;

        memcpy(&n, at, sizeof(n));
        name = ((uint64_t)n.n_namesz + 3) & ~3ull;
        all = sizeof(n) + name + (((uint64_t)n.n_descsz + 3) & ~3ull);
        if (all > left)
            break;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz &&
            memcmp(at + sizeof(n), "GNU", 4) == 0)
            return hash_bytes(HASH_START, at + sizeof(n) + name, n.n_descsz) | 1;
        at += all;
        left -= all;
    }
    return 0;
}

static uint64_t build_id(int fd)
{
    Elf64_Phdr h[HEADERS_MOST];
    unsigned char notes[NOTES_MOST];
    int count = read_headers(fd, h);
    uint64_t id = 0;

    for (int i = 0; i < count && !id; i++) {
        size_t bytes = h[i].p_filesz < sizeof(notes) ? (size_t)h[i].p_filesz : sizeof(notes);
        ssize_t got = h[i].p_type == PT_NOTE ? pread(fd, notes, bytes, (off_t)h[i].p_offset) : 0;

        id = got > 0 ? id_in_notes(notes, (size_t)got) : 0;
    }
    return id;
}

/* ---- what was found before ---- */

/* A small file is looked at as fast as what was found in it before. */
struct verdict {
    char magic[8];
    struct samefile file;
    uint64_t id;                 /* tells files apart where their dates do not */
    uint64_t tool, found, check; /* another tool may look for something else */
};

static uint64_t sum(const struct samefile *f, uint64_t start)
{
    uint64_t key = hash_mix(hash_mix(start, f->device), f->inode);

    return hash_mix(hash_mix(hash_mix(key, f->bytes), f->modified_ns), f->changed_ns);
}

static struct verdict verdict_of(int fd, const struct stat *st, bool found)
{
    struct verdict v = {
        .magic = "tidecod2", .file = samefile_of(st), .id = build_id(fd), .found = found};
    char path[PATH_MAX];
    struct samefile tool;
    struct stat at;

    tool = samefile_of(self_file(path, sizeof(path)) && stat(path, &at) == 0 ? &at : NULL);
    v.tool = sum(&tool, HASH_START);
    v.check = sum(&v.file, hash_mix(v.tool, v.id + found));
    return v;
}

static void name_verdict(const struct verdict *v, char out[32])
{
    snprintf(out, 32, "code-%016" PRIx64, sum(&v->file, v->tool));
}

/* Dates of an image of a file system prove little by themselves. */
static bool can_be_known(const struct verdict *v)
{
    return v->id || samefile_is_dated(&v->file);
}

static bool is_remembered(int fd, const struct stat *st, bool *found)
{
    struct verdict v, no = verdict_of(fd, st, false), yes = verdict_of(fd, st, true);
    char name[32];
    ssize_t got;
    int kept;

    if (!can_be_known(&no) || !kept_any())
        return false;
    name_verdict(&no, name);
    kept = kept_open(name);
    if (kept < 0)
        return false;
    got = pread(kept, &v, sizeof(v), 0);
    close(kept);
    *found = memcmp(&v, &yes, sizeof(v)) == 0;
    return got == (ssize_t)sizeof(v) && (*found || memcmp(&v, &no, sizeof(v)) == 0);
}

static bool write_verdict(int fd, const void *from, size_t size)
{
    return write(fd, from, size) == (ssize_t)size;
}

static void remember(int fd, const struct stat *before, bool found)
{
    struct verdict v = verdict_of(fd, before, found);
    struct samefile now;
    struct stat st;
    char name[32];

    now = samefile_of(fstat(fd, &st) == 0 ? &st : NULL);
    if (looked_at >= BYTES_MOST || !can_be_known(&v) || !samefile_is_settled(&v.file) ||
        memcmp(&now, &v.file, sizeof(now)) != 0)
        return;
    name_verdict(&v, name);
    kept_put(name, write_verdict, &v, sizeof(v));
}

static bool look(int fd, const struct stat *st)
{
    unsigned char *room;
    bool found = false, large = st->st_size > LARGE;

    if (large && is_remembered(fd, st, &found))
        return found;
    room = malloc(PIECE);
    if (room)
        found = in_program(fd, room);
    if (room && large)
        remember(fd, st, found);
    free(room);
    return found;
}

/* The program told us the name: what is no file is not opened. */
bool untold_in_file(const char *file)
{
    struct stat st;
    bool found = false;
    int fd;

    if (stat(file, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        found = look(fd, &st);
    close(fd);
    return found;
}
