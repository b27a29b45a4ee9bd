/* Functions in two parts, as a compiler makes them, and one that only looks so. */
#include "inject/parts.h"

#include "check.h"

/* Jumps between sections are far ones. `whole` has jumps to the starts of others alone, and but few
 * into the middle of one.
 */
__asm__(".pushsection .text.hot_parts, \"ax\", @progbits\n"
        "split: .cfi_startproc\n"
        "    test %edi, %edi\n"
        "    je seldom\n"
        "    je seldom_1\n"
        "    js seldom_1\n"
        "    jne seldom_2\n"
        "    jb seldom_2\n"
        "    call whole\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "whole: .cfi_startproc\n"
        "    je other\n"
        "    jb other\n"
        "    js other\n"
        "    jp other\n"
        "    jne other\n"
        "    jne other_1\n"
        "    js other_1\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".popsection\n"
        ".pushsection .text.cold_parts, \"ax\", @progbits\n"
        "other: .cfi_startproc\n"
        "    nop\n"
        "other_1: ret\n"
        "    .cfi_endproc\n"
        "seldom: .cfi_startproc\n"
        "    nop\n"
        "seldom_1: nop\n"
        "seldom_2: nop\n"
        "    jmp split\n"
        "seldom_end: .cfi_endproc\n"
        ".popsection\n");

extern const char split[], whole[], seldom[], seldom_end[];

static void finds_the_other_part(void)
{
    struct part parts[2];

    if (!CHECK_EQ(parts_find((uintptr_t)split, parts, 2), 1))
        return;
    CHECK_EQ(parts[0].low, (uintptr_t)seldom);
    CHECK_EQ(parts[0].high, (uintptr_t)seldom_end);
}

static void takes_calls_for_no_parts(void)
{
    struct part parts[2];

    CHECK_EQ(parts_find((uintptr_t)whole, parts, 2), 0);
}

static void knows_nothing_of_other_memory(void)
{
    struct part parts[2];

    CHECK_EQ(parts_find((uintptr_t)parts, parts, 2), 0);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"the part of a function that runs seldom is found", finds_the_other_part},
        {"calls without return are no parts", takes_calls_for_no_parts},
        {"an address that is no code's has none", knows_nothing_of_other_memory},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
