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

static bool in_program(int fd, unsigned char *room)
{
    Elf64_Phdr h[HEADERS_MOST];
    Elf64_Ehdr e;
    ssize_t got;
    int count;

    if (pread(fd, &e, sizeof(e), 0) != (ssize_t)sizeof(e) ||
        memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    got = pread(fd, h, sizeof(h), (off_t)e.e_phoff);
    count = got < 0 ? 0 : (int)(got / (ssize_t)sizeof(h[0]));
    if (count > e.e_phnum)
        count = e.e_phnum;
    return has_loader(h, count) && in_headers(fd, h, count, room);
}

/* ---- what was found before ---- */

/* A small file is looked at as fast as what was found in it before. */
struct verdict {
    char magic[8];
    struct samefile file;
    uint64_t tool, found, check; /* another tool may look for something else */
};

static uint64_t sum(const struct samefile *f, uint64_t start)
{
    uint64_t key = hash_mix(hash_mix(start, f->device), f->inode);

    return hash_mix(hash_mix(hash_mix(key, f->bytes), f->modified_ns), f->changed_ns);
}

static struct verdict verdict_of(const struct stat *st, bool found)
{
    struct verdict v = {.magic = "tidecode", .file = samefile_of(st), .found = found};
    char path[PATH_MAX];
    struct samefile tool;
    struct stat at;

    tool = samefile_of(self_file(path, sizeof(path)) && stat(path, &at) == 0 ? &at : NULL);
    v.tool = sum(&tool, HASH_START);
    v.check = sum(&v.file, v.tool + found);
    return v;
}

static void name_verdict(const struct verdict *v, char out[32])
{
    snprintf(out, 32, "code-%016" PRIx64, sum(&v->file, v->tool));
}

static bool is_remembered(const struct stat *st, bool *found)
{
    struct verdict v, no = verdict_of(st, false), yes = verdict_of(st, true);
    char name[32];
    ssize_t got;
    int fd;

    if (!samefile_is_dated(&no.file) || !kept_any())
        return false;
    name_verdict(&no, name);
    fd = kept_open(name);
    if (fd < 0)
        return false;
    got = pread(fd, &v, sizeof(v), 0);
    close(fd);
    *found = memcmp(&v, &yes, sizeof(v)) == 0;
    return got == (ssize_t)sizeof(v) && (*found || memcmp(&v, &no, sizeof(v)) == 0);
}

static bool write_verdict(int fd, const void *from, size_t size)
{
    return write(fd, from, size) == (ssize_t)size;
}

static void remember(int fd, const struct stat *before, bool found)
{
    struct verdict v = verdict_of(before, found);
    struct samefile now;
    struct stat st;
    char name[32];

    now = samefile_of(fstat(fd, &st) == 0 ? &st : NULL);
    if (looked_at >= BYTES_MOST || !samefile_is_dated(&v.file) || !samefile_is_settled(&v.file) ||
        memcmp(&now, &v.file, sizeof(now)) != 0)
        return;
    name_verdict(&v, name);
    kept_put(name, write_verdict, &v, sizeof(v));
}

static bool look(int fd, const struct stat *st)
{
    unsigned char *room;
    bool found = false, large = st->st_size > LARGE;

    if (large && is_remembered(st, &found))
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
