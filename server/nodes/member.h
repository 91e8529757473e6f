/* SPDX-License-Identifier: Apache-2.0
 *
 * What the nodes of a cluster tell each other of themselves, and what follows from it: which
 * changes nobody needs from the stream any more. Pure functions; any thread.
 */
#ifndef NB_SERVER_NODES_MEMBER_H
#define NB_SERVER_NODES_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/string.h"
#include "core/chain/chain.h"
#include "core/live/relayed.h"

enum {
    NB_MEMBER_NAME_MOST = 64,
    NB_MEMBER_URL_MOST = 255,
    NB_MEMBER_VERSION_MOST = 31,
    NB_MEMBERS_MOST = 1000
};

struct nb_member {
    char name[NB_MEMBER_NAME_MOST + 1]; /* is not written: the subject has it */
    uint32_t tokenizer, apply;          /* versions that it has */
    uint32_t kinds;                     /* of operations that it knows: those below this number */
    int64_t heard;                      /* is not written: when, by the clock of NATS, in ns */
    /* Of an older program: empty, as of a node that has none. */
    char url[NB_MEMBER_URL_MOST + 1];
    char version[NB_MEMBER_VERSION_MOST + 1]; /* of its program */
    char follow[NB_FOLLOW_MOST + 1];          /* patterns of the models that it has; empty: all */
    unsigned streams;                         /* so many: */
    struct {
        uint64_t applied;           /* place that is on its disk */
        struct nb_chained told;     /* what it was given (core/chain/chain.h) */
        struct nb_chained digested; /* what it has learned; 0: unknown (core/replica/compare.h) */
    } places[NB_STREAMS_MOST];
};
/* The sum of its places. */
uint64_t nb_member_applied(const struct nb_member *member);

/* Makes what stands for a node in the subject of a message of `text`: other bytes than letters,
 * digits, '-' and '_' become '-'. */
void nb_member_name(char name[NB_MEMBER_NAME_MOST + 1], struct nb_string text);

/* Appends what a node tells. Returns 0 or NB_NO_MEMORY. */
int nb_member_write(const struct nb_member *member, struct nb_buffer *out);
/* Reads that; false: it is something else. A newer node may tell more, an older one less. An URL
 * that cannot be one is left out. */
bool nb_member_read(struct nb_member *member, struct nb_string written);

/* Whether two nodes have learned the same of a stream, by their digests: 1 or 0; -1 where one of
 * them has none. While one of them has not come to the position of the other's digest, `before`:
 * what was found before. */
int nb_member_same(struct nb_chained own, struct nb_chained its, int before);
/* Of so many streams: 0 where they have not learned the same of one of them, 1 where they have of
 * all of which that is known, -1: of none is it known. */
int nb_member_same_of_all(const int8_t *same, unsigned streams);

/* Nanoseconds between two words of a node that knows so many members. Each reads the words of all,
 * so that what the NATS servers do for it grows with the square of their number: from 125 members
 * on it is done less often. */
uint64_t nb_members_round(size_t count);

/* When a member counts. */
struct nb_member_ages {
    int64_t now;   /* by the clock of NATS, as all below in nanoseconds */
    int64_t known; /* who is silent for longer is waited for no more */
    int64_t alive; /* who is silent for longer cannot be asked for its store */
};

/* The last place in one of the streams that no member of `members`, of which `self` is one, needs
 * any more: each keeps the change that it has made last, by which it sees whether the stream is
 * still the same. 0: none; also when nobody else is alive of whom a node that comes later could
 * take the store. */
uint64_t nb_members_cut(const struct nb_member *members, size_t count, const char *self,
                        const struct nb_member_ages *ages, unsigned stream);

/* The member that knows the fewest kinds of operations; NULL: none is known. */
const struct nb_member *nb_members_oldest(const struct nb_member *members, size_t count,
                                          const struct nb_member_ages *ages);

#endif
