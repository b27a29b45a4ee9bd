/* device_stubs - the functions that a program calls instead of a vendor's. Which one stands for
 * which is found out when the library comes, so they are all alike, and each knows its place alone.
 *
 * A stub hands on more words than the function may have: those in registers, and those that lie on
 * the stack where further arguments would. What is behind the real ones belongs to the caller.
 */
#include "inject/device.h"

#include <stdatomic.h>

#define STUBS 256

static struct stub {
    const struct device_call *call;
    struct device_library *library;
    _Atomic uintptr_t real; /* stored last */
} stubs[STUBS];
static _Atomic size_t used;

#define HAND_ON(i)                                                                                 \
    static uintptr_t stub_##i(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,     \
                              uintptr_t f, uintptr_t g, uintptr_t h, uintptr_t j, uintptr_t k,     \
                              uintptr_t l, uintptr_t m, uintptr_t n, uintptr_t o)                  \
    {                                                                                              \
        const uintptr_t words[DEVICE_WORDS] = {a, b, c, d, e, f, g, h, j, k, l, m, n, o};          \
                                                                                                   \
        return device_called(stubs[i].call, stubs[i].library, stubs[i].real, words, CALLER());     \
    }
// clang-format off
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define SIXTY_FOUR(X, n) \
    EIGHT(X, n##0) EIGHT(X, n##1) EIGHT(X, n##2) EIGHT(X, n##3) \
    EIGHT(X, n##4) EIGHT(X, n##5) EIGHT(X, n##6) EIGHT(X, n##7)
#define ALL(X) SIXTY_FOUR(X, 0) SIXTY_FOUR(X, 01) SIXTY_FOUR(X, 02) SIXTY_FOUR(X, 03)

ALL(HAND_ON) /* their numbers are octal */

#define ADDRESS(i) stub_##i,
static uintptr_t (*const functions[])(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                      uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                      uintptr_t, uintptr_t, uintptr_t, uintptr_t) = {ALL(ADDRESS)};
// clang-format on
_Static_assert(sizeof(functions) / sizeof(functions[0]) == STUBS, "one function for each");

static size_t count(void)
{
    size_t n = atomic_load(&used);

    return n < STUBS ? n : STUBS;
}

uintptr_t device_stub_of(uintptr_t real)
{
    for (size_t i = 0; i < count(); i++)
        if (atomic_load(&stubs[i].real) == real)
            return (uintptr_t)functions[i];
    return 0;
}

uintptr_t device_stub(struct device_library *l, const struct device_call *call, uintptr_t real)
{
    uintptr_t there = device_stub_of(real);
    size_t i;

    if (there || !real)
        return there;
    i = count() < STUBS ? atomic_fetch_add(&used, 1) : STUBS;
    if (i >= STUBS)
        return real;
    stubs[i].call = call;
    stubs[i].library = l;
    atomic_store(&stubs[i].real, real);
    return (uintptr_t)functions[i];
}

const struct device_call *device_stub_at(size_t place, uintptr_t *ours, uintptr_t *real)
{
    if (place >= count())
        return NULL;
    *ours = (uintptr_t)functions[place];
    *real = stubs[place].library->unnamed ? 0 : atomic_load(&stubs[place].real);
    return stubs[place].call;
}
