/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of one large body, kept a while for the next one. Pages that are new to a process take
 * longer than all else that receiving a body does: 2.5 us each on a virtual machine, 5 us of a mail
 * in a list of mails. Any thread.
 */
#ifndef NB_SERVER_BASE_SPARE_H
#define NB_SERVER_BASE_SPARE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/buffer.h"

/* The least is what lies in pages of its own (server/main.c); the most is what a daemon may hold
 * beside the bodies that are accounted for. */
enum { NB_SPARE_LEAST = 1 << 20, NB_SPARE_MOST = 8 << 20 };

struct nb_spare;
typedef _Atomic(struct nb_spare *) nb_spare_place; /* NULL: none is kept */

/* Gives `body` the memory that is kept, if it is larger, with all that `body` holds. */
void nb_spare_take(nb_spare_place *place, struct nb_buffer *body);

/* Empties `body`; keeps its memory in place of that which is kept, if it is neither small nor very
 * large. `now` is nb_clock_monotonic. */
void nb_spare_give(nb_spare_place *place, struct nb_buffer *body, uint64_t now);

/* Frees what was given before that time, if it has not been taken since. */
void nb_spare_drop(nb_spare_place *place, uint64_t before);

#endif
