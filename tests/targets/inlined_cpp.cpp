// inlined_cpp - as inlined.c, with a template and a member function in a namespace.
#include <cstdint>
#include <cstdio>

#define INLINE inline __attribute__((always_inline))

__attribute__((noinline)) static void here(int innermost, int outer)
{
    std::uintptr_t back = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));

    std::printf("%lx %d %d 0\n", static_cast<unsigned long>(back - 1), innermost, outer);
}

namespace shop
{
template <class T> struct shelf {
    INLINE void put(T, int outer)
    {
        here(__LINE__, outer);
        __asm__ volatile("");
    }
};

__attribute__((noinline)) void fill(shelf<long> &s)
{
    s.put(1, __LINE__);
}
} // namespace shop

int main()
{
    shop::shelf<long> s;

    shop::fill(s);
    return 0;
}
