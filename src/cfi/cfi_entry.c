/* cfi_entry - see cfi_entry.h. */
#include "cfi/cfi_entry.h"

static bool open_entry(struct bytes *b)
{
    uint32_t size = (uint32_t)bytes_take(b, 4);

    if (b->bad || !size || size == 0xffffffff || size > (size_t)(b->end - b->at))
        return false;
    b->end = b->at + size;
    return true;
}

uint32_t cfi_entry_bytes(const uint8_t head[CFI_ENTRY_HEAD])
{
    struct bytes b = {.at = head, .end = head + CFI_ENTRY_HEAD};
    uint32_t size = (uint32_t)bytes_take(&b, 4);

    return size && size < 0xfffffff0 ? size + 4 : 0;
}

bool cfi_entry_fde(struct bytes *b, uint32_t *back)
{
    if (!open_entry(b))
        return false;
    *back = (uint32_t)bytes_take(b, 4);
    if (!*back || *back < 4) /* that would be a shared one, or within this one */
        return false;
    *back -= 4; /* it is counted from its own place */
    return !b->bad;
}

static void take_letters(struct bytes a, const char *letters, struct cfi_program *p)
{
    while (*++letters) {
        if (*letters == 'R')
            p->encoding = (uint8_t)bytes_take(&a, 1);
        else if (*letters == 'L')
            bytes_take(&a, 1);
        else if (*letters == 'P')
            bytes_pointer(&a, (uint8_t)bytes_take(&a, 1) & 0x7f, 0);
        else if (*letters == 'S')
            p->signal = true;
    }
}

bool cfi_entry_cie(struct bytes b, struct cfi_program *p)
{
    struct bytes a;
    const char *letters;
    uint64_t version;

    if (!open_entry(&b))
        return false;
    bytes_take(&b, 4);
    version = bytes_take(&b, 1);
    letters = (const char *)b.at;
    while (bytes_take(&b, 1))
        ;
    if (b.bad)
        return false;
    if (version == 4)
        bytes_take(&b, 2);
    p->code_align = bytes_uleb(&b);
    p->data_align = bytes_sleb(&b);
    if (version == 1)
        bytes_take(&b, 1);
    else
        bytes_uleb(&b);
    if (*letters == 'z') {
        uint64_t size = bytes_uleb(&b);

        a = b;
        bytes_skip(&b, size);
        a.end = b.at;
        take_letters(a, letters, p);
    }
    p->initial = b;
    return !b.bad;
}

bool cfi_entry_function(struct bytes b, struct cfi_program *p)
{
    p->start = bytes_pointer(&b, p->encoding, 0);
    p->size = bytes_pointer(&b, p->encoding & 0x0f, 0);
    p->rest = b;
    return !b.bad;
}
