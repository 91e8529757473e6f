/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a model's current entries with a label, in order: for drawing documents at random.
 * On the thread that changes the counts; a list belongs to one model.
 *
 * The list is a view of the ledger: it is made from the index of entries when it is not there, and
 * brought up to date with each change. What is drawn is a function of the current entries alone: it
 * does not depend on which superfluous ones were dropped, nor on the entries of other models. Eight
 * bytes a document; drawing takes a microsecond for a million documents.
 */
#ifndef NB_CORE_LEDGER_ENTRIES_CURRENT_ENTRIES_H
#define NB_CORE_LEDGER_ENTRIES_CURRENT_ENTRIES_H

#include "core/base/random.h"
#include "core/store/lmdb/store.h"

struct nb_current_entries;
/* An empty list. NULL: out of memory. */
struct nb_current_entries *nb_current_entries_new(void);
/* Makes the list from the index of entries. Returns 0 or a code. */
int nb_current_entries_load(const struct nb_view *view, uint32_t model,
                            struct nb_current_entries **current, struct nb_error *error);
void nb_current_entries_free(struct nb_current_entries **current);
/* Bytes that it takes; 0 for NULL. */
size_t nb_current_entries_memory(const struct nb_current_entries *current);

/* The entry has a document; its number is above all others. Returns 0 or NB_NO_MEMORY. */
int nb_current_entries_add(struct nb_current_entries *current, uint64_t number);
/* The entry was superseded. Does nothing if the list does not have it. */
void nb_current_entries_remove(struct nb_current_entries *current, uint64_t number);

/* How many there are. */
uint64_t nb_current_entries_count(const struct nb_current_entries *current);
bool nb_current_entries_has(const struct nb_current_entries *current, uint64_t number);
/* Puts `count` of them, at most all, into `numbers`, in order: each set of so many with the same
 * probability. In time of how many there are, 2 ns each. */
void nb_current_entries_sample(const struct nb_current_entries *current, struct nb_random *random,
                               uint64_t count, uint64_t *numbers);
/* One of them, each with the same probability; there must be one. */
uint64_t nb_current_entries_draw(const struct nb_current_entries *current,
                                 struct nb_random *random);

#endif
