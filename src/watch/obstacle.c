#include "watch/obstacle.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADERS_MOST 64

/* A program that names a loader is one that the loader brings libraries into. */
static bool has_loader(int fd, const Elf64_Ehdr *e)
{
    Elf64_Phdr h;

    for (unsigned int i = 0; i < e->e_phnum && i < HEADERS_MOST; i++)
        if (pread(fd, &h, sizeof(h), (off_t)(e->e_phoff + i * sizeof(h))) == sizeof(h) &&
            h.p_type == PT_INTERP)
            return true;
    return false;
}

static const char *obstacle_in(int fd)
{
    Elf64_Ehdr e;
    struct stat st;

    if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (e.e_ident[EI_CLASS] != ELFCLASS64)
        return "it is a 32-bit program";
    if (!has_loader(fd, &e))
        return "it is statically linked";
    if (fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) && geteuid() != 0)
        return "it runs with the rights of another user";
    return NULL;
}

const char *obstacle_of(int pid)
{
    const char *obstacle;
    char path[32];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    obstacle = obstacle_in(fd);
    close(fd);
    return obstacle;
}
