/* descriptor - descriptors that are kept only to save time, and must not use up those that are
 * needed; and such that are given away.
 */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <stdbool.h>

/* The same descriptor, if there are enough besides it; else it is closed and -1 returned, as for
 * -1: open the file again whenever it is needed. errno stays.
 */
int descriptor_keep(int fd);

/* Close a file of a thread of another process, but not yet: only after some more of them. As long
 * as it is open, the thread that ends has nothing to tidy up of it; else, who waits for its process
 * at that moment would turn in circles in the kernel until it is done, for many ms where the
 * machine is busy.
 */
void descriptor_close_late(int fd);

/* Take the places of standard input, output and error where they are closed, so that no file of
 * ours gets such a number and sentences are not written into it. Nothing can be read or written
 * there, and what we start finds them closed.
 */
void descriptor_fill_standard(void);

/* Send it to who has the other end of a socket; false: that did not work, and is not waited for. */
bool descriptor_send(int socket, int fd);

#endif
