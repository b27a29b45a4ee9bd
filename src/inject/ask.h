/* ask - the collector's memory from the collector itself, for a program that its path does not lead
 * to: of another user, in another pid namespace, or without a /proc. And who we are, told to it.
 */
#ifndef INJECT_ASK_H
#define INJECT_ASK_H

#include <stdint.h>

/* A descriptor of the memory that the collector has at this path; -1: there is nobody to ask, or we
 * must not. It is waited for no longer than a second.
 */
int ask_collector(const char *path);

/* Tell the collector that we are the process of this number: the kernel tells it which pid that is,
 * so nobody can present a process but itself. Nothing is waited for.
 */
void ask_to_know(uint32_t process);

#endif
