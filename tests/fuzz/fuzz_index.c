/* fuzz_index - any bytes as the names that were kept of a file of code, in a file and in memory: no
 * crash, no hang, nothing read outside of them, and whatever is answered is within its bounds.
 *
 * The checksums of a file are made to fit, or no change of its contents would ever be read.
 */
#include "resolve/index.h"

#include "replay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATH "/fuzz/file"
#define ID "abcd"
#define MAKER 7u
#define MOST 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int truth)
{
    if (!truth)
        abort();
}

static void look(struct index *x)
{
    struct strings strings = {0};
    struct resolved_name out[MOST];
    uint64_t known[MOST];

    demand(index_known(x, known, MOST) <= MOST);
    index_holds(x, true);
    index_problem(x, &strings);
    for (uint64_t at = x->head.base - 64, i = 0; i < 512; i++, at += i) {
        uint32_t node = index_node(x, at);
        int count = index_names(x, &strings, node, out, MOST);

        demand(count >= -1 && count <= MOST && (count < 0 || node != INDEX_UNKNOWN));
    }
    index_close(x);
    strings_free(&strings);
}

/* What the file must say to be looked at any further: the fuzzer need not guess it. */
static void make_ours(uint8_t *bytes, size_t size)
{
    struct index_head head;

    if (size < sizeof(head) || bytes[0] % 4 == 0)
        return;
    memcpy(&head, bytes, sizeof(head));
    head.format = INDEX_FORMAT;
    head.maker = MAKER;
    memcpy(bytes, &head, sizeof(head));
}

static void look_in_file(const uint8_t *bytes, size_t size, int as_is)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct sealed pages;
    struct index x;

    demand(fd >= 0);
    if (as_is)
        demand(write(fd, bytes, size) == (ssize_t)size);
    else
        demand(sealed_write(fd, bytes, size));
    if (sealed_open(&pages, fd) && index_open(&x, &pages, PATH, ID, MAKER))
        look(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    struct sealed pages;
    struct index x;

    demand(bytes != NULL);
    memcpy(bytes, data, size);
    make_ours(bytes, size);
    sealed_of_memory(&pages, bytes, size);
    if (index_open(&x, &pages, PATH, ID, MAKER))
        look(&x);
    look_in_file(bytes, size, 0);
    look_in_file(data, size, 1);
    free(bytes);
    return 0;
}
