/* visible - see visible.h. */
#include "devices/visible.h"

#include <stdlib.h>
#include <string.h>

enum match { NO, YES, INVALID, UNKNOWN };

static enum match match_one(const char *word, size_t length, bool by_bus, const char *id,
                            const char *index)
{
    if (length > 4 && (!memcmp(word, "GPU-", 4) || !memcmp(word, "MIG-", 4)))
        return !strncmp(word, id, length) ? YES : NO;
    if (!length || strspn(word, "0123456789") < length)
        return INVALID;
    if (!by_bus)
        return UNKNOWN;
    return strlen(index) == length && !memcmp(word, index, length) ? YES : NO;
}

/* CUDA stops at the first word that it does not understand. */
int visible_ordinal(const char *visible, bool by_bus, const char *id, const char *index)
{
    if (!visible)
        return by_bus && !strchr(index, '.') ? atoi(index) : DEVICE_CUDA_UNKNOWN;
    for (int n = 0; *visible; n++) {
        size_t length = strcspn(visible, ",");

        switch (match_one(visible, length, by_bus, id, index)) {
        case YES:
            return n;
        case INVALID:
            return DEVICE_CUDA_HIDDEN;
        case UNKNOWN:
            return DEVICE_CUDA_UNKNOWN;
        case NO:
            break;
        }
        visible += length + (visible[length] != '\0');
    }
    return DEVICE_CUDA_HIDDEN;
}
