/* fuzz_import - any bytes as a file of another tool: what an importer takes becomes a trace, and
 * the rest one sentence; no crash, no growth.
 */
#define REPLAY_MUTATE mutate_bytes
#include <stddef.h>
#include <stdint.h>

size_t mutate_bytes(uint8_t *data, size_t size, size_t room, unsigned int seed);

#include "replay.h"

#include "base/hash.h"
#include "import/importer.h"

#include <string.h>

/* A few bytes change, and now and then a part goes or comes twice. */
size_t mutate_bytes(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
    uint64_t lot = hash_number(seed);

    for (unsigned int i = 0; size && i <= seed % 5; i++, lot = hash_mix(lot, i))
        data[lot % size] = (uint8_t)(lot >> 32);
    if (size > 64 && seed % 3 == 0 && size * 2 <= room) {
        size_t from = lot % (size / 2), part = (lot >> 20) % (size / 2);

        memmove(data + from + part, data + from, size - from);
        size += part;
    } else if (size > 64 && seed % 7 == 0) {
        size -= lot % (size / 2);
    }
    return size;
}

static void import(const struct importer *importer, const struct import_file *f)
{
    struct err err = {0};
    struct trace_store *store = trace_store_create("/dev/null", &err);
    struct intake in = {.store = store, .file = "input", .tool = importer->name};

    if (!store)
        return;
    if (importer->read(f, &in, &err) == 0)
        intake_write(&in, &err);
    trace_store_discard(store);
    intake_free(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1); /* of this size, so that a read beyond it is seen */
    struct import_file f = {.bytes = copy, .size = size, .path = "input"};
    struct err err = {0};
    const struct importer *importer;

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    importer = importer_of(&f, &err);
    if (importer)
        import(importer, &f);
    free(copy);
    return 0;
}
