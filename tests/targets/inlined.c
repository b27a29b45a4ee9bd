/* inlined - prints the places of calls whose functions, inlined or not, the tests know: lines of
 * "ADDRESS LINE LINE LINE", the address being that of the call, the lines those of the innermost
 * function and of its callers. It is linked at fixed addresses, so they are those in its file.
 */
#include <stdint.h>
#include <stdio.h>

#define INLINE static inline __attribute__((always_inline))

__attribute__((noinline)) static void here(int innermost, int middle, int outer)
{
    uintptr_t back = (uintptr_t)__builtin_return_address(0);

    printf("%lx %d %d %d\n", (unsigned long)(back - 1), innermost, middle, outer);
}

INLINE void innermost_function(int middle, int outer)
{
    here(__LINE__, middle, outer);
    __asm__ volatile(""); /* no tail call */
}

INLINE void middle_function(int outer)
{
    innermost_function(__LINE__, outer);
}

__attribute__((noinline)) static void outer_function(void)
{
    middle_function(__LINE__);
}

__attribute__((noinline)) static void plain_function(void)
{
    here(__LINE__, 0, 0);
    __asm__ volatile("");
}

int main(void)
{
    outer_function();
    plain_function();
    return 0;
}
