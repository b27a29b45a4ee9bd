/* native_name - see native_name.h. */
#include "collect/native_name.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AUXILIARY_MOST 64
#define HEADERS_MOST 64u
#define DYNAMIC_MOST 512u
#define LOADED_MOST 16384 /* of a list that may go in a circle */

static bool read_auxiliary(uint32_t pid, uintptr_t *headers, size_t *count)
{
    Elf64_auxv_t of[AUXILIARY_MOST];
    char path[32];
    ssize_t bytes;
    int fd;

    snprintf(path, sizeof(path), "/proc/%u/auxv", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    bytes = fd < 0 ? -1 : read(fd, of, sizeof(of));
    if (fd >= 0)
        close(fd);
    *headers = *count = 0;
    for (size_t i = 0; bytes > 0 && i < (size_t)bytes / sizeof(*of); i++) {
        if (of[i].a_type == AT_PHDR)
            *headers = of[i].a_un.a_val;
        else if (of[i].a_type == AT_PHNUM)
            *count = of[i].a_un.a_val;
    }
    return *headers && *count && *count <= HEADERS_MOST;
}

/* Where the program's own dynamic section is; 0: it has none. */
static uintptr_t find_dynamic(const struct far *memory, uint32_t pid)
{
    Elf64_Phdr p[HEADERS_MOST];
    uintptr_t headers, bias = 0, dynamic = 0;
    size_t count;

    if (!read_auxiliary(pid, &headers, &count) || !far_read(memory, headers, p, count * sizeof(*p)))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (p[i].p_type == PT_PHDR)
            bias = headers - p[i].p_vaddr;
        if (p[i].p_type == PT_DYNAMIC)
            dynamic = p[i].p_vaddr;
    }
    return dynamic ? dynamic + bias : 0;
}

/* The first of the loader's list. */
static uintptr_t find_list(const struct far *memory, uint32_t pid)
{
    Elf64_Dyn d[DYNAMIC_MOST];
    uintptr_t dynamic = find_dynamic(memory, pid);
    size_t got = dynamic ? far_read_some(memory, dynamic, d, sizeof(d)) / sizeof(*d) : 0;
    struct r_debug debug;

    for (size_t i = 0; i < got && d[i].d_tag != DT_NULL; i++)
        if (d[i].d_tag == DT_DEBUG)
            return far_read(memory, d[i].d_un.d_ptr, &debug, sizeof(debug)) ? (uintptr_t)debug.r_map
                                                                            : 0;
    return 0;
}

static int read_name(const struct far *memory, uintptr_t at, char name[NATIVE_NAME_MOST])
{
    size_t bytes = at ? far_read_some(memory, at, name, NATIVE_NAME_MOST) : 0;
    size_t length = strnlen(name, bytes);

    return length < bytes ? (int)length : -1;
}

int native_name(const struct far *memory, uint32_t pid, const struct far_image *image,
                char name[NATIVE_NAME_MOST])
{
    uintptr_t at = image->dynamic ? find_list(memory, pid) : 0;
    struct link_map map;

    for (int i = 0; at && i < LOADED_MOST; i++, at = (uintptr_t)map.l_next) {
        if (!far_read(memory, at, &map, sizeof(map)))
            return -1;
        if ((uintptr_t)map.l_ld == image->dynamic)
            return read_name(memory, (uintptr_t)map.l_name, name);
    }
    return -1;
}
