/* ask - the collector's memory from the collector itself, for a program that its path does not lead
 * to: of another user, in another pid namespace, or without a /proc.
 */
#ifndef INJECT_ASK_H
#define INJECT_ASK_H

/* A descriptor of the memory that the collector has at this path; -1: there is nobody to ask, or we
 * must not. It is waited for no longer than a second.
 */
int ask_collector(const char *path);

#endif
