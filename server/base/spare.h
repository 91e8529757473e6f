/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the memory of one large body for a while, for the next one. Pages that are new to a process
 * cost more time than the rest of receiving a body: 2.5 us each on a virtual machine, 5 us for a
 * mail in a list of mails. Any thread.
 */
#ifndef NB_SERVER_BASE_SPARE_H
#define NB_SERVER_BASE_SPARE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/buffer.h"

/* Smaller bodies do not lie in pages of their own (server/main.c); larger ones exceed the memory
 * that a daemon may hold outside of the budgets for bodies. */
enum { NB_SPARE_LEAST = 1 << 20, NB_SPARE_MOST = 8 << 20 };

struct nb_spare;
typedef _Atomic(struct nb_spare *) nb_spare_place; /* NULL: none is kept */

/* Gives `body` the kept memory, if that is larger, together with the content of `body`. */
void nb_spare_take(nb_spare_place *place, struct nb_buffer *body);

/* Empties `body` and keeps its memory in place of the memory kept so far, unless it is small or
 * very large. `now` is nb_clock_monotonic. */
void nb_spare_give(nb_spare_place *place, struct nb_buffer *body, uint64_t now);

/* Frees memory that was given before that time, unless it has been taken since. */
void nb_spare_drop(nb_spare_place *place, uint64_t before);

#endif
