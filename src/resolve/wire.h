/* wire - what the tool and its helper say to each other: one message asks, one answers.
 *
 * Over a SOCK_SEQPACKET pair, so a message comes whole or not at all; in the machine's own byte
 * order, because both are of one build. Texts follow their lengths, without a zero.
 */
#ifndef RESOLVE_WIRE_H
#define RESOLVE_WIRE_H

#include <stdint.h>

/* The first words of the helper's command line, where it has more rights than it should: an option
 * and what rights_text says. A root directory other than ours is the descriptor WIRE_ROOT.
 */
#define WIRE_RIGHTS "--rights"
#define WIRE_ROOT 3

/* What the helper says first, when it is ready: nothing else is heard from one that cannot start.
 */
#define WIRE_READY "ready"

#define WIRE_MOST 131072        /* bytes of a message */
#define WIRE_NAMES_MOST 256     /* of one address */
#define WIRE_ADDRESSES_MOST 256 /* in one question */

enum wire_kind {
    WIRE_NAMES, /* of these addresses; without any: what is its problem? */
    WIRE_WANT,  /* an index is going to be asked for, with these addresses in it at least */
    WIRE_INDEX  /* all names that may be asked for */
};

struct wire_question { /* addresses, path and build-id follow */
    uint32_t kind, addresses, path_bytes, id_bytes;
    uint32_t most; /* names; of an index: 1 if it should have everything */
    uint32_t reserved;
    uint64_t maker; /* of an index */
};

/* The answer to a question has for each address, for as many as fit but at least for one, a
 * uint32_t with the number of its names, and these from the innermost. To the other question it is
 * the same as for one address: one name, whose function is the sentence, or none; to WIRE_WANT
 * none. To WIRE_INDEX it is a uint64_t with the number of bytes of the index, 0 when there is none
 * to be kept, and then those, in as many messages as it takes.
 */
struct wire_name { /* function and file follow; 0 bytes: unknown */
    uint32_t line, function_bytes, file_bytes;
};

#endif
