/* parts - what a compiler has cut a function into: code that it takes to run seldom stands
 * elsewhere.
 *
 * Such a part has no name that a program keeps. It is known by the jumps that lead into its middle.
 */
#ifndef INJECT_PARTS_H
#define INJECT_PARTS_H

#include <stdint.h>

struct part {
    uintptr_t low, high;
};

/* The other parts of the function that holds an address, up to `most`, those with most jumps first.
 * Returns how many.
 */
unsigned int parts_find(uintptr_t pc, struct part *parts, unsigned int most);

#endif
