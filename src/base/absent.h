/* absent - a number that is not known: never written as 0. */
#ifndef BASE_ABSENT_H
#define BASE_ABSENT_H

#include <stdint.h>

#define ABSENT UINT64_MAX

#endif
