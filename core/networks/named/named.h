/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that the store keeps under a name and that are not models: networks. Any thread.
 *
 * They stand in META and not in the ledger: a put says all that there is to know, whatever was
 * there before, so there is no history from which anything would have to be made again. A put or a
 * delete is one transaction of the writer, durable when it returns; it is done in its turn with
 * all other changes; of several nodes, in its turn in their stream. Checksums, backups and restores
 * hold them as they do any value; a rebuild copies them (nb_named_copy). A program that does not
 * know them leaves them alone.
 *
 * Stored form, under "named/KIND/NAME": the version, 1 (a byte); the time in milliseconds since
 * 1970 (8 bytes); the source (a string); and the value to the end. The meaning of the value is its
 * owner's.
 */
#ifndef NB_CORE_NETWORKS_NAMED_NAMED_H
#define NB_CORE_NETWORKS_NAMED_NAMED_H

#include "core/base/buffer.h"
#include "core/engine/engine.h"
#include "core/store/lmdb/store.h"

/* A kind and a name; the name has passed nb_check_model_name. */
struct nb_named_key {
    const char *kind; /* "network" */
    struct nb_string name;
};
/* The kind of these bytes, as a key has it; NULL: there is none. */
const char *nb_named_kind(struct nb_string kind);

struct nb_named {
    int64_t time;            /* of the put */
    struct nb_buffer source; /* of the put; owned */
    struct nb_buffer value;  /* owned */
};
void nb_named_deinit(struct nb_named *named);

/* Keeps the value under the name, in the place of what was there. With `only_new` NB_CONFLICT if
 * something is there. Sets *created to whether nothing was. NB_UNUSABLE (the source), NB_STOPPING,
 * NB_NO_MEMORY, NB_DISK_FULL, NB_IO; NB_TOO_LARGE: nodes cannot share a value of this size. Waits
 * for the disk; not on the writer's thread. */
int nb_named_put(struct nb_engine *engine, const struct nb_named_key *name, struct nb_string value,
                 bool only_new, struct nb_string source, bool *created, struct nb_error *error);

/* Removes it. NB_NOT_FOUND; others as nb_named_put. What is damaged can be removed, too. */
int nb_named_delete(struct nb_engine *engine, const struct nb_named_key *name,
                    struct nb_error *error);

/* On success the caller owns what `named` holds. NB_NOT_FOUND; NB_DAMAGED: the stored bytes are. */
int nb_named_get(struct nb_engine *engine, const struct nb_named_key *name, struct nb_named *named,
                 struct nb_error *error);

/* Calls `visit` for each name of the kind behind `after` (length 0: from the first), in the order
 * of their bytes, until it returns other than 0; returns that, or 0, or a code. */
typedef int nb_named_visit(void *user, struct nb_string name, bool is_damaged);
int nb_named_list(struct nb_engine *engine, const char *kind, struct nb_string after,
                  nb_named_visit *visit, void *user, struct nb_error *error);

/* Calls `visit` with the key and the stored form of all that is kept. Returns as nb_store_scan. */
int nb_named_scan(const struct nb_view *view, nb_store_visit *visit, void *user,
                  struct nb_error *error);

/* For a rebuild. Copies all that is kept, and pieces of imports that are not complete, from one
 * store to another; calls `lost` for each value that is damaged, with its kind and name as the key
 * has them, "network/NAME". Of an entry whose key is damaged, too, nothing can be told, not even
 * whether it was such a value: then the name is empty. Returns 0 or a code. */
typedef void nb_named_lost(void *user, struct nb_string kind_and_name);
int nb_named_copy(const struct nb_view *from, struct nb_store *to, nb_named_lost *lost, void *user,
                  struct nb_error *error);

#endif
