/* count - how many items an array has, which must not be a pointer. */
#ifndef BASE_COUNT_H
#define BASE_COUNT_H

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

#endif
