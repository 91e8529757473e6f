/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropping a bounded number of changes that wait, in one transaction, so that nodes which share
 * their changes can do it alike: each looks itself which of them still wait. Any thread but the
 * writer's; waits for the disk.
 */
#ifndef NB_CORE_JOBS_QUARANTINE_DROP_H
#define NB_CORE_JOBS_QUARANTINE_DROP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"

struct nb_engine;

/* Appends a change to a list: its id and a hash of its bytes. Returns 0 or NB_NO_MEMORY. */
int nb_quarantine_drop_list(struct nb_buffer *list, struct nb_string id, struct nb_string stored);

/* Drops the changes of the list that wait unchanged; sets *dropped to how many. Returns 0,
 * NB_NOT_FOUND (model), NB_UNUSABLE (the list), or a code of the store. */
int nb_quarantine_drop_listed(struct nb_engine *engine, struct nb_string model,
                              struct nb_string list, uint64_t *dropped, struct nb_error *error);

enum { NB_QUARANTINE_CLEARED = 500 /* changes at once */ };

/* Drops the first changes, also damaged ones; fewer than NB_QUARANTINE_CLEARED: nothing waits any
 * more. Returns 0, NB_NOT_FOUND (model) or a code of the store. */
int nb_quarantine_clear_some(struct nb_engine *engine, struct nb_string model, uint64_t *dropped,
                             struct nb_error *error);

#endif
