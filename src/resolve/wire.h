/* wire - what the tool and its helper say to each other: one message asks, one answers.
 *
 * Over a SOCK_SEQPACKET pair, so a message comes whole or not at all; in the machine's own byte
 * order, because both are of one build. Texts follow their lengths, without a zero.
 */
#ifndef RESOLVE_WIRE_H
#define RESOLVE_WIRE_H

#include <stdint.h>

#define WIRE_MOST 131072        /* bytes of a message */
#define WIRE_NAMES_MOST 256     /* of one address */
#define WIRE_ADDRESSES_MOST 256 /* in one question */

struct wire_question { /* addresses, path and build-id follow; no addresses: what is its problem? */
    uint32_t addresses, path_bytes, id_bytes, most;
};

/* The answer to a question has for each address, for as many as fit but at least for one, a
 * uint32_t with the number of its names, and these from the innermost. To the other question it is
 * the same as for one address: one name, whose function is the sentence, or none.
 */
struct wire_name { /* function and file follow; 0 bytes: unknown */
    uint32_t line, function_bytes, file_bytes;
};

#endif
