/* fuzz_resolve - any bytes as a file of code: no crash, no hang, and two askings agree.
 *
 * The addresses asked are those around the entry point. With libFuzzer (-DFUZZ_ENGINE
 * -fsanitize=fuzzer), or a program that reads each file given as an argument.
 */
#include "namer/indexer.h"
#include "namer/namer.h"

#include "replay.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int truth)
{
    if (!truth)
        abort();
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

/* All at once, as it is kept. */
static void index_all(struct namer *n, const char *path, uint64_t entry)
{
    struct strings strings = {0};
    struct resolved_name out[MOST];
    struct indexed made;
    struct sealed bytes;
    struct index x;

    if (!namer_index(n, path, NULL, true, 1, &made))
        return;
    sealed_of_memory(&bytes, made.bytes, made.size);
    if (index_open(&x, &bytes, path, NULL, 1)) {
        for (uint64_t at = entry - 128; at != entry + 256; at += 4) /* -1: the helper is asked */
            demand(index_names(&x, &strings, index_node(&x, at), out, MOST) <= MOST);
        index_close(&x);
    }
    strings_free(&strings);
    free(made.bytes);
}

static uint64_t ask_around(const char *path, uint64_t entry)
{
    struct resolved_name out[MOST];
    struct err err;
    struct namer *n = namer_create(NULL, &err);
    uint64_t hash = 0;

    for (uint64_t at = entry - 128; at != entry + 256; at += 4) {
        int count = namer_address(n, path, NULL, at, out, MOST);

        demand(count >= 0 && count <= MOST);
        for (int i = 0; i < count; i++) {
            hash = mix_text(mix_text(hash, out[i].function), out[i].file);
            hash += out[i].line;
        }
    }
    hash = mix_text(hash, namer_problem(n, path));
    index_all(n, path, entry);
    namer_free(n);
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    uint64_t entry = 0x401000, first;
    char path[64];

    if (size >= sizeof(Elf64_Ehdr))
        memcpy(&entry, data + offsetof(Elf64_Ehdr, e_entry), sizeof(entry));
    demand(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    first = ask_around(path, entry);
    demand(ask_around(path, entry) == first);
    close(fd);
    return 0;
}
