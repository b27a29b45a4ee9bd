/* confine - where syscall(2) goes that the program calls by its name, but for the numbers that
 * confine.c takes. */
#ifndef INJECT_CONFINE_H
#define INJECT_CONFINE_H

typedef long system_call_function(long, long, long, long, long, long, long);

extern system_call_function *confine_next __attribute__((visibility("hidden")));

#endif
