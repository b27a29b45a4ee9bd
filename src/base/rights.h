/* rights - what other processes may open, for those who open files that these name.
 *
 * Root may read everything, and a program that root looks at may name any file. Such files are
 * opened by a process that has given up what the program has not: with its user, groups and
 * capabilities, and from its root directory. Of several programs that differ, with the rights that
 * everybody has.
 *
 * For a tool that is not root all this is nothing: it can look only at programs of its own user.
 */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RIGHTS_GROUPS_MOST 64 /* having less of them is having less rights */
#define RIGHTS_TEXT 1024

struct rights {
    bool known; /* somebody was looked at */
    bool mixed; /* several that differ: what everybody may do */
    uid_t uid;
    gid_t gid, groups[RIGHTS_GROUPS_MOST];
    size_t group_count;
    uint64_t capabilities;
    int root;       /* of the file system that it sees; 0: ours */
    char place[64]; /* which that is */
};

/* Look at a process, and have no more rights than it from then on. One that is gone says nothing.
 */
void rights_look(struct rights *r, int pid);

/* Is there anything to give up? */
bool rights_are_less(const struct rights *r);

/* Give up what they are less than ours; -1 when that is impossible: then open nothing. */
int rights_take(const struct rights *r);

/* As one word for the command line of a helper, without the root, and back. */
char *rights_text(const struct rights *r, char out[RIGHTS_TEXT]);
bool rights_parse(struct rights *r, const char *text);

void rights_free(struct rights *r);

#endif
