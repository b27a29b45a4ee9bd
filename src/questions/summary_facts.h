/* summary_facts - the facts of a run, one line each, for the question summary. */
#ifndef QUESTIONS_SUMMARY_FACTS_H
#define QUESTIONS_SUMMARY_FACTS_H

#include "questions/findings.h"
#include "questions/points.h"
#include "questions/question.h"
#include "questions/space_tables.h"

struct summary_range { /* of what was sampled */
    uint64_t least, most, count;
    unsigned __int128 sum;
};

struct summary {
    struct answer *answer;
    struct table *facts, *processes;
    struct points points;
    struct heap *heap; /* with the run in it */
    const struct selection *options;
    struct findings findings;
    struct space_tables spaces;
    struct summary_range rss, vsz, machine;
};

void summary_facts(struct summary *s);

#endif
