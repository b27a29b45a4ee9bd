/* subject - the parts of the campaign's program; subject.c says what they do. */
#ifndef CAMPAIGN_SUBJECT_H
#define CAMPAIGN_SUBJECT_H

#include <stdint.h>

#define SUBJECT_CHILD 42 /* how a child that came to its own end exits */

uint64_t subject_number(char **args, int at);

int subject_child(char **args);
int subject_forks(char **args);
int subject_vforks(char **args);
int subject_spawns(char **args);
int subject_daemons(char **args);
int subject_preforks(char **args);
int subject_reuses(char **args);
int subject_after(char **args);
int subject_storm(char **args);
int subject_alarms(char **args);

/* Make so many children by fork that make so many calls; how many of them were harmed. */
int subject_fork_all(uint64_t children, uint64_t calls);

#endif
