/* torch_start - see torch_start.h. */
#include "inject/torch_start.h"

#include "inject/elf.h"
#include "inject/objects.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "tidemark.h"

#include <errno.h>
#include <string.h>

#define LIBRARY "libtorch_python.so"
#define FILE_INPUT 257 /* Py_file_input */
#define HEAD_BYTES (160 + 2 * RING_WATCH_BYTES)

extern const struct tidemark_api marks_api __attribute__((visibility("hidden"))); /* marks.c */

static struct {
    int (*later)(int (*)(void *), void *); /* Py_AddPendingCall */
    void *(*dict)(void);                   /* PyDict_New */
    void *(*run)(const char *, int, void *, void *, void *);
    void (*drop)(void *);  /* Py_DecRef */
    void (*forget)(void);  /* PyErr_Clear */
    void *(*raised)(void); /* PyErr_Occurred */
} api;

static _Atomic uint32_t started; /* the recording for which that was done */

/* ---- in the interpreter ---- */

static size_t put_line(char *to, const char *name, uint64_t value)
{
    char digits[24];
    size_t bytes = strlen(name), n = sizeof(digits);

    memcpy(to, name, bytes);
    do
        digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(to + bytes, digits + n, sizeof(digits) - n);
    bytes += sizeof(digits) - n;
    to[bytes] = '\n';
    return bytes + 1;
}

/* In hexadecimal digits, whatever the names have in them. */
static size_t put_watch(char *to)
{
    static const char digits[] = "0123456789abcdef", head[] = "WATCH = '";
    const char *names = process.control->watch;
    size_t bytes = strnlen(names, RING_WATCH_BYTES - 1), at = sizeof(head) - 1;

    memcpy(to, head, at);
    for (size_t i = 0; i < bytes; i++) {
        to[at++] = digits[(unsigned char)names[i] >> 4];
        to[at++] = digits[names[i] & 15];
    }
    memcpy(to + at, "'\n", 2);
    return at + 2;
}

static size_t put_head(char *to)
{
    uint32_t wants = process.control->wants;
    size_t at = put_line(to, "TABLE = ", (uintptr_t)&marks_api);

    at += put_line(to + at, "OPS = ", (wants & RING_WANTS_OPS) != 0);
    at += put_line(to + at, "ACCESSES = ", (wants & RING_WANTS_ACCESSES) != 0);
    return at + put_watch(to + at);
}

/* By the interpreter, with its lock, between two instructions of the program. */
static int run_it(void *context)
{
    size_t room = HEAD_BYTES + torch_start_bytes, at;
    char *text = api.raised() ? NULL : sys_memory(room);
    void *names = text ? api.dict() : NULL, *result;

    (void)context;
    if (names) {
        at = put_head(text);
        memcpy(text + at, torch_start_text, torch_start_bytes);
        result = api.run(text, FILE_INPUT, names, names, NULL);
        if (result)
            api.drop(result);
        api.drop(names);
    }
    if (text && api.raised())
        api.forget();
    if (text)
        sys_unmap(text, room);
    return 0;
}

/* ---- when PyTorch is there ---- */

static bool find_api(void)
{
    const struct link_map *map = elf_defining("Py_AddPendingCall");
    struct elf e;

    if (!map || !elf_open(&e, map))
        return false;
    api.later = (int (*)(int (*)(void *), void *))elf_find(&e, "Py_AddPendingCall");
    api.dict = (void *(*)(void))elf_find(&e, "PyDict_New");
    api.run = (void *(*)(const char *, int, void *, void *, void *))elf_find(&e,
                                                                             "PyRun_StringFlags");
    api.drop = (void (*)(void *))elf_find(&e, "Py_DecRef");
    api.forget = (void (*)(void))elf_find(&e, "PyErr_Clear");
    api.raised = (void *(*)(void))elf_find(&e, "PyErr_Occurred");
    return api.later && api.dict && api.run && api.drop && api.forget && api.raised;
}

static int look(struct dl_phdr_info *info, size_t size, void *found)
{
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)size;
    *(bool *)found |= slash && strcmp(slash + 1, LIBRARY) == 0;
    return *(bool *)found;
}

static bool is_wanted(void)
{
    return process.control->wants & (RING_WANTS_OPS | RING_WANTS_ACCESSES) ||
           process.control->watch[0];
}

void torch_start_came(void)
{
    int kept = errno;
    bool found = false;

    if (!is_wanted() || atomic_load(&started) == process.session)
        return;
    dl_iterate_phdr(look, &found);
    if (found && find_api() && atomic_exchange(&started, process.session) != process.session)
        api.later(run_it, NULL);
    errno = kept;
}
