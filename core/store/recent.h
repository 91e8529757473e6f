/* SPDX-License-Identifier: Apache-2.0
 *
 * Recent changes: those that are durable in the journal but not yet in the store's file, kept in
 * memory in the order of their keys. Every reader of the store looks here first.
 *
 * Threads. One writer, and any number of readers at the same time, without locks. Changes have
 * ascending numbers; a reader names the last one that it may see, so its view does not change. It
 * gets that number through something that orders memory (a lock). Nothing is freed before the last
 * reference ends.
 */
#ifndef NB_CORE_STORE_RECENT_H
#define NB_CORE_STORE_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/string.h"

struct nb_recent;

/* A change of one key. Its strings are borrowed as long as the reference to the list is held. */
struct nb_recent_change {
    struct nb_string key;
    struct nb_string value; /* empty if `deleted` */
    unsigned table;
    bool deleted;
};

/* Makes an empty list of changes with one reference. NULL: out of memory. */
struct nb_recent *nb_recent_new(void);
struct nb_recent *nb_recent_ref(struct nb_recent *recent);
/* Ends a reference and sets it to NULL, which it may be. */
void nb_recent_unref(struct nb_recent **recent);

/* ---- the writer ------------------------------------------------------------------------------ */

/* Adds a change, which copies key and value. Returns 0 or NB_NO_MEMORY. */
int nb_recent_add(struct nb_recent *recent, const struct nb_recent_change *change);
/* The number of the last change; 0: there is none. */
uint64_t nb_recent_last(const struct nb_recent *recent);
/* Bytes of memory that the changes take, including those that were taken back. */
uint64_t nb_recent_bytes(const struct nb_recent *recent);
/* Begins a group: all changes that are added from now on belong to it. */
void nb_recent_mark(struct nb_recent *recent);
/* Whether the group has changes. */
bool nb_recent_is_marked(const struct nb_recent *recent);
/* Removes the changes of the group; no reader knows their numbers yet. */
void nb_recent_take_back(struct nb_recent *recent);
/* Calls `visit` for each change of the group, in the order in which they were added, until it
 * returns non-zero, and returns that or 0. */
typedef int nb_recent_visit(void *user, const struct nb_recent_change *change);
int nb_recent_each(const struct nb_recent *recent, nb_recent_visit *visit, void *user);

/* ---- any thread ------------------------------------------------------------------------------ */

/* Each function considers the changes up to number `last`, and of these only the newest of each
 * key. It returns NULL if there is no such change. */

/* The change of `key`. */
const struct nb_recent_change *nb_recent_find(struct nb_recent *recent, uint64_t last,
                                              unsigned table, struct nb_string key);
/* The change of the first key >= `from` in the table. */
const struct nb_recent_change *nb_recent_from(struct nb_recent *recent, uint64_t last,
                                              unsigned table, struct nb_string from);
/* The change of the first key after that of `change`, in the same table. */
const struct nb_recent_change *nb_recent_after(uint64_t last,
                                               const struct nb_recent_change *change);
/* The change of the last key < `key` in the table; of the last key of all if `key` is empty. */
const struct nb_recent_change *nb_recent_before(struct nb_recent *recent, uint64_t last,
                                                unsigned table, struct nb_string key);

#endif
