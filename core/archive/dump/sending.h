/* SPDX-License-Identifier: Apache-2.0
 *
 * An import that is asked of one node of several: its records go into the stream, piece by piece
 * (staged.h), and all nodes make the import when the end has come. One thread at a time; each call
 * may wait for the stream. What is wrong with the records is found in the end.
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
    uint64_t pieces;         /* that were sent */
    struct nb_buffer record; /* owned: bytes that are not sent yet */
    struct nb_buffer parent; /* owned: the name of the one that the model gets; empty: none */
};

void nb_sending_init(struct nb_sending *sending, struct nb_engine *engine, struct nb_string model,
                     struct nb_string source);
void nb_sending_deinit(struct nb_sending *sending);

/* The records, in their order. Each returns 0, NB_NO_MEMORY, or what nb_relay_ask does. */
int nb_sending_header(struct nb_sending *sending, const struct nb_dump_header *header,
                      struct nb_error *error);
int nb_sending_words(struct nb_sending *sending, const struct nb_dump_words *words,
                     struct nb_error *error);
int nb_sending_document(struct nb_sending *sending, const struct nb_dump_document *document,
                        struct nb_error *error);

/* Sends a piece without records, for its numbers alone. Returns as the records do. */
int nb_sending_empty(struct nb_sending *sending, struct nb_error *error);

/* The model gets a parent, NULL: none. A header says so itself. Returns 0 or NB_NO_MEMORY. */
int nb_sending_parent(struct nb_sending *sending, const char *parent, struct nb_error *error);

/* Sends the rest, and has all nodes make the import: of the records, which are to have these totals
 * (NULL: it is not known), or of the model `from` as it is then, if that is not empty. Returns as
 * nb_import_commit. After a failure the caller gives it up. */
int nb_sending_end(struct nb_sending *sending, const struct nb_dump_totals *totals,
                   struct nb_string from, bool only_new, struct nb_relayed_change_done *done,
                   struct nb_error *error);
/* All nodes give up what was sent. Those that do not hear of it do so later. */
void nb_sending_give_up(struct nb_sending *sending);

#endif
