/* peek - read the memory of a recorded process; it is not stopped for it. */
#ifndef COLLECT_PEEK_H
#define COLLECT_PEEK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* How many bytes were read, from the first on. */
static inline size_t peek(uint32_t pid, uintptr_t at, void *to, size_t bytes)
{
    struct iovec mine = {to, bytes}, theirs = {(void *)at, bytes};
    ssize_t got = process_vm_readv((pid_t)pid, &mine, 1, &theirs, 1, 0);

    return got > 0 ? (size_t)got : 0;
}

#endif
