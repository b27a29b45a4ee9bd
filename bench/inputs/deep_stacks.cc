/* deep_stacks - as many different stacks as asked for, each so many frames deep and met once.
 *
 *   deep_stacks STACKS DEPTH
 *
 * Which of eight functions calls the next is drawn at each step, so that stacks have little in common but
 * their outermost frames. The innermost makes a vector and drops it.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using function = uint64_t (*)(uint64_t, unsigned int);

extern const function functions[8];

__attribute__((noinline)) uint64_t leaf(uint64_t bits)
{
    std::vector<uint64_t> numbers(8 + bits % 8, bits);

    return numbers.back();
}

template <int N> __attribute__((noinline)) uint64_t deeper(uint64_t bits, unsigned int depth)
{
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    return (depth == 0 ? leaf(bits) : functions[bits >> 61](bits, depth - 1)) + N;
}

const function functions[8] = {deeper<0>, deeper<1>, deeper<2>, deeper<3>,
                               deeper<4>, deeper<5>, deeper<6>, deeper<7>};

} // namespace

int main(int argc, char **argv)
{
    unsigned long stacks = argc > 1 ? strtoul(argv[1], nullptr, 10) : 20000;
    unsigned int depth = argc > 2 ? (unsigned int)strtoul(argv[2], nullptr, 10) : 200;
    uint64_t sum = 0;

    for (unsigned long i = 0; i < stacks; i++)
        sum += functions[i % 8](i * 0x9e3779b97f4a7c15u, depth);
    printf("%lx\n", (unsigned long)sum);
    return 0;
}
