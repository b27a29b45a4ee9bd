/* reply - what is sent back: a head with the rules that keep the page to itself, and a body. */
#ifndef SERVE_REPLY_H
#define SERVE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLY_HEAD_MOST 1536

struct body { /* shared by those who send it */
    size_t refs, count;
    char *bytes;
};

struct body *body_of(char *bytes, size_t count); /* takes the bytes, which are of malloc */
struct body *body_of_text(const char *text);
struct body *body_share(struct body *b);
void body_drop(struct body *b); /* NULL: nothing */

struct reply {
    int status;
    const char *type;   /* of the body */
    const char *policy; /* Content-Security-Policy of a page; NULL: nothing may be done with it */
    uint64_t version;   /* of data; 0: it is none */
    bool live;          /* there will be newer data */
    struct body *body;
};

/* A refusal, in one sentence. */
struct reply reply_refusal(int status, const char *sentence);
/* Its head; the length. */
size_t reply_head(const struct reply *r, char out[REPLY_HEAD_MOST]);

#endif
