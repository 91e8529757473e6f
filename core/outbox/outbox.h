/* SPDX-License-Identifier: Apache-2.0
 *
 * A durable queue of messages in a file of its own: what is added is on the disk before
 * nb_outbox_add returns, and stays until it is removed. Entries are numbered from 1; with the
 * outbox's identity, a random number, an entry has a name that no other one ever has. Any thread.
 *
 * The file: 16 bytes of head, a magic and the identity; then of each entry its length, its number
 * and a checksum, 8 bytes each, and the message. Entries are removed durably when the last one is:
 * after a crash removed ones may be there again, so that who reads them has to know what was done
 * with them. A file that is found empty gets another identity.
 */
#ifndef NB_CORE_OUTBOX_OUTBOX_H
#define NB_CORE_OUTBOX_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_outbox;

struct nb_outbox_limits {
    uint64_t bytes, entries; /* that wait */
};

/* Opens the file `outbox` of the folder, or makes it; the caller closes. What follows the last
 * whole entry is cut off: an entry that was being added when the machine stopped. (A byte that the
 * disk has changed in an earlier one looks the same.) Returns 0, NB_CORRUPT (no outbox),
 * NB_NO_MEMORY or a code of nb_error_errno. */
int nb_outbox_open(const char *folder, const struct nb_outbox_limits *limits,
                   struct nb_outbox **outbox, struct nb_error *error);
/* Closes and sets *outbox, which may be NULL, to NULL. */
void nb_outbox_close(struct nb_outbox **outbox);

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
