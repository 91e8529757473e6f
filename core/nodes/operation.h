/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation: what travels between nodes that share their changes. A plain value that is written
 * to bytes, read back on another node and applied there: a change of a document with its features
 * as ids and counts, or an errand (core/model/live/relay.h). Models and labels go by name; the time
 * is that of the node that was asked. Pure functions on bytes; any thread.
 *
 * Written form (core/base/pack.h). Every operation begins with
 *
 *     2 bytes  NB_OPERATION_MAGIC: other bytes are no operation, whatever follows
 *     1 byte   format, NB_OPERATION_FORMAT
 *     1 byte   version of the tokenizer that made ids and counts (NB_TOKENIZER_VERSION)
 *     1 byte   version of what applying does (NB_APPLY_VERSION)
 *     1 byte   kind, enum nb_operation_kind
 *     varint   time
 *     string   model's name
 *     string   source
 *
 * A change goes on with
 *
 *     varint   flags, a sum of enum nb_operation_flag
 *     varint   number of the model's first entry where it was made; 0: it had none
 *     1 byte   creates (struct nb_relayed)
 *     varints  last, taken, restored, labelled, note_documents, part
 *     string   id
 *     string   label; of a note what was asked for
 *     string   released
 *     varint   fields of the tokenizer
 *     varint   positions
 *     varint   number of features, of which each has, in ascending order of ids,
 *         8 bytes  id
 *         varint   twice its count, and 1 more if its text follows
 *         string   text
 *
 * Ids are hashes: their differences would take as many bytes as they do. Texts are those that the
 * sender's store does not have; a receiver stores the texts of features that are new to it.
 *
 * An errand goes on with five members: strings `from`, `to` and `settings`, a byte `only_new`, and
 * a varint `last`.
 */
#ifndef NB_CORE_NODES_OPERATION_H
#define NB_CORE_NODES_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/model/live/relayed.h"

#define NB_OPERATION_MAGIC "bo"
enum {
    NB_OPERATION_FORMAT = 2,
    /* Raised whenever the same operations would give other counts, labels or weights: nodes of
     * different versions do not share a stream. */
    NB_APPLY_VERSION = 3,
};

enum { NB_MESSAGE_ID_MOST = 40 }; /* bytes of the id of a message, with a NUL */

enum nb_operation_kind {
    NB_OPERATION_CHANGE,
    NB_OPERATION_ERRAND, /* plus enum nb_errand_kind: to which new ones are added at the end */
    NB_OPERATION_KINDS = NB_OPERATION_ERRAND + NB_ERRANDS
};

enum nb_operation_flag {
    NB_OPERATION_UNTRAIN = 1 << 0,
    NB_OPERATION_QUARANTINED = 1 << 1,
    NB_OPERATION_IS_LABEL = 1 << 2,
    NB_OPERATION_IS_RECALLED = 1 << 3,
    NB_OPERATION_FORGETS = 1 << 4,
    NB_OPERATION_IS_AGED = 1 << 5,
    NB_OPERATION_IS_NOTE = 1 << 6,
    NB_OPERATION_IS_REFIT = 1 << 7,
    NB_OPERATION_TRUNCATED = 1 << 8,
    NB_OPERATION_FLAGS = 1 << 9
};

struct nb_operation_feature {
    uint64_t id;
    uint32_t count;
    bool has_text;
    struct nb_string text; /* borrowed */
};

struct nb_operation {
    enum nb_operation_kind kind;
    int64_t time;
    struct nb_errand errand; /* of all kinds `model` and `source` */
    /* Of a change; all borrowed. */
    uint32_t flags;
    uint64_t born;
    uint8_t creates;
    uint64_t last, taken, restored, labelled;
    uint32_t note_documents, part;
    struct nb_string id, label, released;
    uint32_t fields;
    uint64_t positions;
    size_t feature_count;
    struct nb_string features; /* as written: nb_operation_feature_write, nb_operation_next */
};

/* Appends the operation. Returns 0 or NB_NO_MEMORY. */
int nb_operation_write(const struct nb_operation *operation, struct nb_buffer *out);
/* Appends one feature, for `features`. Returns 0 or NB_NO_MEMORY. */
int nb_operation_feature_write(const struct nb_operation_feature *feature, struct nb_buffer *out);

/* Reads an operation, which borrows from `written`. Every member is within its bounds then: names,
 * labels, ids and sources are what a client may send, features are different ones. NB_VERSION: it
 * is of another version of the format, the tokenizer or of applying, or of an unknown kind; the
 * text says which. NB_CORRUPT: it is no operation. */
int nb_operation_read(struct nb_operation *operation, struct nb_string written,
                      struct nb_error *error);

/* Whether an operation that was written here fits into a message of so many bytes; else
 * NB_TOO_LARGE. */
int nb_operation_check(struct nb_string written, size_t most, struct nb_error *error);
/* The kind of an operation that was written here. */
enum nb_operation_kind nb_operation_kind_of(struct nb_string written);

/* The name of the model that it is about; borrowed. */
struct nb_string nb_operation_model(struct nb_string written);

struct nb_unpacker;
/* The next feature of `features` of an operation that was read. */
struct nb_operation_feature nb_operation_next(struct nb_unpacker *features);

#endif
