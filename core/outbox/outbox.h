/* SPDX-License-Identifier: Apache-2.0
 *
 * A durable queue of messages in a file of its own: what is added is on the disk before
 * nb_outbox_add returns, and stays until it is removed. Entries are numbered from 1; with the
 * outbox's identity, a random number, an entry has a name that no other one ever has. Any thread.
 *
 * The file, in numbers of 8 bytes: a head, which is a magic, the identity and the checksum of both,
 * twice; then of each entry a checksum, its length, its number, the place in the file where the
 * entries begin that were added with it, and the checksum of the entry before (0: it is the first);
 * and the message. The checksum is of all that comes after it, seeded with the identity. Entries
 * are removed durably when the last one is: after a crash removed ones may be there again, so that
 * who reads them has to know what was done with them. A file that is found empty gets another
 * identity.
 *
 * What follows the last whole entry was never acknowledged, unless a whole entry that was added
 * later lies behind it: entries are on the disk before the next ones are written. Then the file is
 * damaged. (Of the entries that were added last nobody can tell.)
 */
#ifndef NB_CORE_OUTBOX_OUTBOX_H
#define NB_CORE_OUTBOX_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/outbox/outbox_limits.h"

struct nb_outbox;

/* Opens the file `outbox` of the folder, or makes it; the caller closes. What follows the last
 * whole entry is cut off: entries that were being added when the machine stopped. Returns 0,
 * NB_CORRUPT (no outbox, or a damaged one: the text says where and what to do), NB_NO_MEMORY or a
 * code of nb_error_errno. */
int nb_outbox_open(const char *folder, const struct nb_outbox_limits *limits,
                   struct nb_outbox **outbox, struct nb_error *error);
/* Closes and sets *outbox, which may be NULL, to NULL. */
void nb_outbox_close(struct nb_outbox **outbox);

/* What nb_outbox_mend found. */
struct nb_outbox_mended {
    bool is_damaged;     /* else nothing was changed */
    uint64_t kept, lost; /* entries */
};

/* Makes the file anew with the entries that are whole, which keep their numbers; the old one stays
 * as `outbox.old`. Nobody has it open. No file is no damage. Returns 0 or a code of nb_outbox_open,
 * with the file as it was: NB_CORRUPT if not even its head is left. */
int nb_outbox_mend(const char *folder, struct nb_outbox_mended *mended, struct nb_error *error);

/* Whether the folder has an outbox with entries, which nobody has opened. */
bool nb_outbox_is_left(const char *folder);

uint64_t nb_outbox_identity(const struct nb_outbox *outbox);

/* Adds all messages or none, with one sync. NB_STOPPING: it is full. NB_NO_MEMORY, NB_IO ...: it is
 * as before. */
int nb_outbox_add(struct nb_outbox *outbox, const struct nb_string *messages, size_t count,
                  struct nb_error *error);

/* Sets *entry to the number of the oldest entry, 0 if there is none, and `message` to its bytes.
 * Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_outbox_first(struct nb_outbox *outbox, uint64_t *entry, struct nb_buffer *message,
                    struct nb_error *error);
/* Removes the entries up to this number. */
void nb_outbox_remove(struct nb_outbox *outbox, uint64_t entry);

/* How many entries there are; and their bytes, if that is not NULL. */
uint64_t nb_outbox_entries(struct nb_outbox *outbox, uint64_t *bytes);

#endif
