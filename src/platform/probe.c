/* probe - the probes of this system, whose names the build gives: PROBES is X(io) X(other) ... */
#include "platform/probe.h"

#define X(name) extern const struct probe probe_##name;
PROBES
#undef X

const struct probe *const probes[] = {
#define X(name) &probe_##name,
    PROBES
#undef X
        NULL,
};
