/* SPDX-License-Identifier: Apache-2.0
 *
 * Named values in the store that are not models: networks. Any thread.
 *
 * They are kept in META and not in the ledger: a put replaces the whole value, so no history is
 * needed to restore it. A put or a delete is one transaction of the writer and is durable when it
 * returns. The writer does it in turn with all other changes; several nodes do it in its turn in
 * their stream. Checksums, backups and restores include these values like any others; a rebuild
 * copies them (nb_named_copy). A program that does not know them leaves them alone.
 *
 * Stored form, under "named/KIND/NAME": the version, 1 (a byte); the time in milliseconds since
 * 1970 (8 bytes); the source (a string); and the value to the end. Only the owner knows the meaning
 * of the value.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_NAMED_H
#define NB_CORE_NETWORKS_NETWORK_NAMED_H

#include "core/base/buffer.h"
#include "core/engine/engine.h"
#include "core/store/store.h"

/* A kind and a name; the name has passed nb_check_model_name. */
struct nb_named_key {
    const char *kind; /* "network" */
    struct nb_string name;
};
/* Returns the kind with this name, as for a key; NULL: there is no such kind. */
const char *nb_named_kind(struct nb_string kind);

struct nb_named {
    int64_t time;            /* of the put */
    struct nb_buffer source; /* of the put; owned */
    struct nb_buffer value;  /* owned */
};
void nb_named_deinit(struct nb_named *named);

/* Stores the value under the name and replaces an earlier one. Sets *created to whether there was
 * none. NB_CONFLICT: with `only_new`, there is one. NB_UNUSABLE (the source), NB_STOPPING,
 * NB_NO_MEMORY, NB_DISK_FULL, NB_IO; NB_TOO_LARGE: nodes cannot share a value of this size. Waits
 * for the disk; not on the writer's thread. */
int nb_named_put(struct nb_engine *engine, const struct nb_named_key *name, struct nb_string value,
                 bool only_new, struct nb_string source, bool *created, struct nb_error *error);

/* Removes the value. NB_NOT_FOUND; others as nb_named_put. A damaged value can be removed, too. */
int nb_named_delete(struct nb_engine *engine, const struct nb_named_key *name,
                    struct nb_error *error);

/* Reads the value. On success the caller owns the contents of `named`. NB_NOT_FOUND; NB_DAMAGED. */
int nb_named_get(struct nb_engine *engine, const struct nb_named_key *name, struct nb_named *named,
                 struct nb_error *error);

/* Calls `visit` for each name of the kind behind `after` (length 0: from the first), in the order
 * of their bytes, until it returns other than 0; returns that, or 0, or a code. */
typedef int nb_named_visit(void *user, struct nb_string name, bool is_damaged);
int nb_named_list(struct nb_engine *engine, const char *kind, struct nb_string after,
                  nb_named_visit *visit, void *user, struct nb_error *error);

/* Calls `visit` with the key and the stored form of each value. Returns as nb_store_scan. */
int nb_named_scan(const struct nb_view *view, nb_store_visit *visit, void *user,
                  struct nb_error *error);

/* For a rebuild. Copies all values, and the pieces of incomplete imports, from one store to
 * another. Calls `lost` for each damaged value, with its kind and name as in the key,
 * "network/NAME". If the key is damaged, too, the name is empty: then it is not even known whether
 * the entry was such a value. Returns 0 or a code. */
typedef void nb_named_lost(void *user, struct nb_string kind_and_name);
int nb_named_copy(const struct nb_view *from, struct nb_store *to, nb_named_lost *lost, void *user,
                  struct nb_error *error);

#endif
