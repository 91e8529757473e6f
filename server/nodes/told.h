/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node tells of itself. A plain value.
 */
#ifndef NB_SERVER_NODES_TOLD_H
#define NB_SERVER_NODES_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/live/relayed.h"

enum {
    NB_MEMBER_NAME_MOST = 64,
    NB_MEMBER_URL_MOST = 255,
    NB_MEMBER_VERSION_MOST = 31,
    NB_MEMBERS_MOST = 1000
};

/* What a node tells of itself. */
struct nb_known_member {
    char name[NB_MEMBER_NAME_MOST + 1];
    char url[NB_MEMBER_URL_MOST + 1];         /* "": it tells none */
    char version[NB_MEMBER_VERSION_MOST + 1]; /* of its program */
    unsigned tokenizer, apply, kinds;         /* versions; operations that it knows */
    uint64_t applied, streams;                /* positions in all; a bit for each stream */
    struct nb_point digested; /* what it has learned; position 0: unknown (core/nodes/compare.h) */
    bool is_self;
    int same;        /* it has learned the same: 1 or 0, -1: it is not known */
    int64_t silence; /* nanoseconds since its last word */
};

#endif
