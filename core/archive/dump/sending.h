/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends an import to all nodes: the node that got the request writes the records into the stream,
 * piece by piece (staged.h), and all nodes make the import at the end. One thread at a time; each
 * call may wait for the stream. Errors in the records are found at the end.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_SENDING_H
#define NB_CORE_ARCHIVE_DUMP_SENDING_H

#include "core/archive/dump/dump.h"
#include "core/archive/dump/staged.h"
#include "core/base/buffer.h"

struct nb_engine;
struct nb_relayed_change_done;

struct nb_sending {
    struct nb_engine *engine;
    struct nb_string model, source; /* borrowed */
    char id[NB_STAGED_ID + 1];
    uint64_t pieces;         /* pieces sent so far */
    struct nb_buffer record; /* owned: bytes that are not sent yet */
    struct nb_buffer parent; /* owned: the name of the model's parent; empty: none */
};

void nb_sending_init(struct nb_sending *sending, struct nb_engine *engine, struct nb_string model,
                     struct nb_string source);
void nb_sending_deinit(struct nb_sending *sending);

/* Send the records, in their order. Each returns 0, NB_NO_MEMORY, or a code of nb_relay_ask. */
int nb_sending_header(struct nb_sending *sending, const struct nb_dump_header *header,
                      struct nb_error *error);
int nb_sending_words(struct nb_sending *sending, const struct nb_dump_words *words,
                     struct nb_error *error);
int nb_sending_document(struct nb_sending *sending, const struct nb_dump_document *document,
                        struct nb_error *error);

/* Sends a piece without records, only for its numbers. Returns as the functions above do. */
int nb_sending_empty(struct nb_sending *sending, struct nb_error *error);

/* Sets the model's parent; NULL: none. A header sets it by itself. Returns 0 or NB_NO_MEMORY. */
int nb_sending_parent(struct nb_sending *sending, const char *parent, struct nb_error *error);

/* Sends the rest, and lets all nodes make the import: from the records, which must have these
 * totals (NULL: unknown), or, if `from` is not empty, from that model as it is then. Returns as
 * nb_import_commit. After a failure the caller calls nb_sending_give_up. */
int nb_sending_end(struct nb_sending *sending, const struct nb_dump_totals *totals,
                   struct nb_string from, bool only_new, struct nb_relayed_change_done *done,
                   struct nb_error *error);
/* Lets all nodes give up the import. Nodes that miss the message give it up later. */
void nb_sending_give_up(struct nb_sending *sending);

#endif
