/* giver - who descends from us and cannot open our memory by its path (another user, another pid
 * namespace, no /proc) is given it through a socket without a file. See inject/ask.c for the other
 * side.
 */
#ifndef COLLECT_GIVER_H
#define COLLECT_GIVER_H

/* A descriptor to wait for, named after us and `door`; -1: nobody can come. */
int giver_listen(const char *door);

/* Somebody has come: its pid by the kernel's word, and in *fd the socket to give it through; 0:
 * nobody.
 */
int giver_accept(int listener, int *fd);

#endif
