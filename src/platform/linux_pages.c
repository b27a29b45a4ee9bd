/* linux_pages - what is resident of some memory of a process, by its pages: see platform.h.
 *
 * Since 6.7 the kernel says which pages are there without a word for each (PAGEMAP_SCAN), and steps
 * over what is empty; before, each has its word in pagemap. Both may be read by who may trace the
 * process. The process waits if it maps memory meanwhile, so it is asked in portions, and of so
 * many pages at most.
 */
#include "platform/platform.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PORTION (1ull << 30)       /* addresses of one question */
#define SCAN_MOST (1ull << 42)     /* addresses, where empty ones cost next to nothing */
#define PRESENT_MOST (16ull << 30) /* bytes that are there: of these each page costs */
#define READ_MOST (4ull << 30)     /* addresses, where each page costs */
#define PRESENT (1ull << 63)       /* in a word of pagemap */
#define REGIONS 512

/* As the kernel has them; headers of older systems lack them. */
struct page_range {
    uint64_t start, end, categories;
};

struct page_scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define ASK_SCAN _IOWR('f', 16, struct page_scan)
#define IS_PRESENT (1u << 3)

struct pages {
    int pagemap;
    uint64_t page;
    bool scans;                     /* the kernel knows how */
    uint64_t scanned, seen, walked; /* addresses, bytes that were there, addresses by words */
};

/* What is there up to where the kernel came; false: it does not know how. */
static bool scan_once(struct pages *p, uint64_t *at, uint64_t end, uint64_t *present)
{
    struct page_range found[REGIONS] = {0};
    struct page_scan ask = {.size = sizeof(ask),
                            .start = *at,
                            .end = end,
                            .vec = (uint64_t)(uintptr_t)found,
                            .vec_len = REGIONS,
                            .category_mask = IS_PRESENT,
                            .return_mask = IS_PRESENT};
    int count = ioctl(p->pagemap, ASK_SCAN, &ask);

    if (count < 0 || count > REGIONS || ask.walk_end <= *at)
        return false;
    for (int i = 0; i < count; i++)
        *present += found[i].end - found[i].start;
    *at = ask.walk_end;
    return true;
}

static bool scan(struct pages *p, uint64_t at, uint64_t end, uint64_t *present)
{
    if (end - at > SCAN_MOST - p->scanned)
        return false;
    p->scanned += end - at;
    while (at < end) {
        uint64_t to = end - at < PORTION ? end : at + PORTION;

        if (p->seen + *present > PRESENT_MOST || !scan_once(p, &at, to, present))
            return false;
    }
    p->seen += *present;
    return true;
}

static bool read_words(struct pages *p, uint64_t at, uint64_t end, uint64_t *present)
{
    uint64_t words[REGIONS];

    if (end - at > READ_MOST - p->walked)
        return false;
    p->walked += end - at;
    for (at /= p->page, end /= p->page; at < end;) {
        uint64_t want = end - at < REGIONS ? end - at : REGIONS;
        ssize_t got = pread(p->pagemap, words, want * 8, (off_t)(at * 8));

        if (got < 8)
            return false;
        for (ssize_t i = 0; i < got / 8; i++)
            *present += words[i] & PRESENT ? p->page : 0;
        at += (uint64_t)got / 8;
    }
    return true;
}

/* Pages that are its own alone: an allocator writes beside a block, so that what is at its ends
 * says nothing of it. Where all others are there, so are these.
 */
static void look(struct pages *p, struct residence_range *r)
{
    uint64_t end = r->bytes > UINT64_MAX - r->start ? UINT64_MAX : r->start + r->bytes;
    uint64_t first = (r->start + p->page - 1) / p->page * p->page, last = end / p->page * p->page;
    uint64_t present = 0;

    if (first >= last)
        return;
    if (p->scans)
        r->known = scan(p, first, last, &present);
    else
        r->known = read_words(p, first, last, &present);
    r->resident = present == last - first ? r->bytes : present;
}

static bool can_scan(struct pages *p)
{
    uint64_t at = 0, present = 0;

    return scan_once(p, &at, p->page, &present);
}

bool residence_ranges(int pid, struct residence_range *ranges, size_t count)
{
    struct pages p = {.page = (uint64_t)sysconf(_SC_PAGESIZE)};
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
    p.pagemap = open(path, O_RDONLY | O_CLOEXEC);
    if (p.pagemap < 0)
        return false;
    p.scans = can_scan(&p);
    for (size_t i = 0; i < count; i++)
        look(&p, &ranges[i]);
    close(p.pagemap);
    return true;
}
