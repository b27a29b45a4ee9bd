/* linux_self - what platform.h says of ourselves. */
#include "platform/platform.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* What we may still touch before exec, and what the kernel may count late. */
#define EXEC_GROWTH (384u << 10)

const char platform_name[] = "linux";

/* The second number of statm, without a library's help: whatever is called comes back into memory.
 */
static uint64_t resident_pages(const char *statm)
{
    uint64_t pages = 0;

    while (*statm && *statm != ' ')
        statm++;
    for (statm += *statm == ' '; *statm >= '0' && *statm <= '9'; statm++)
        pages = pages * 10 + (uint64_t)(*statm - '0');
    return pages;
}

uint64_t self_shrink(void)
{
    const ElfW(Phdr) *h = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM), page = getauxval(AT_PAGESZ);
    char text[64] = "";
    int fd;

    /* Code and constants come back from the page cache when they are next touched. */
    for (unsigned long i = 0; getauxval(AT_BASE) == 0 && i < count; i++)
        if (h[i].p_type == PT_LOAD && !(h[i].p_flags & PF_W)) {
            uintptr_t from = h[i].p_vaddr & ~(page - 1);

            madvise((void *)from, h[i].p_vaddr + h[i].p_memsz - from, MADV_DONTNEED);
        }
    fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "5", 1); /* the mark starts again from what we hold now */
        close(fd);
    }
    fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    return resident_pages(text) * page + EXEC_GROWTH;
}

void self_adopt(bool on)
{
    prctl(PR_SET_CHILD_SUBREAPER, on ? 1 : 0);
}

bool self_file(char *out, size_t room)
{
    ssize_t n = readlink("/proc/self/exe", out, room - 1);

    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

bool self_descriptor(int fd, char out[SELF_PATH])
{
    snprintf(out, SELF_PATH, "/proc/self/fd/%d", fd);
    return access(out, R_OK) == 0;
}

int signals_open(void)
{
    sigset_t all;

    sigfillset(&all);
    return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_read(int fd, struct signal_told *out, int most)
{
    int count = 0;

    for (struct signalfd_siginfo s; count < most && read(fd, &s, sizeof(s)) == sizeof(s); count++)
        out[count] = (struct signal_told){(int)s.ssi_signo, (int)s.ssi_pid, s.ssi_code <= 0};
    return count;
}
