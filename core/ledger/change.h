/* SPDX-License-Identifier: Apache-2.0
 *
 * A change: a plain value that describes one alteration of a model. It can be written to bytes,
 * read back elsewhere and applied. The state after a change is a function of the state before it
 * and of the change alone. Pure functions on bytes; any thread.
 *
 * The stored form is self-contained: it has its own format number, its kind, the model's number,
 * the time, the source, and the names of labels and the features that are new with it. The model
 * numbers rows and labels in the order of its changes.
 *
 * Stored form. "varint" is LEB128, 7 bits a byte, lowest first; "string" is a varint with the
 * length, then the bytes (core/base/buffer.h). Every entry begins with
 *
 *     1 byte   format, at most NB_CHANGE_FORMAT
 *     1 byte   kind, enum nb_change_kind
 *     varint   model; 0 in STORE
 *     varint   time
 *     string   source, at most NB_SOURCE_MOST bytes
 *
 * TRAIN, UNTRAIN and FEATURES go on with
 *
 *     1 byte   flags, a sum: 1 truncated, 2 label_name follows, 4 new features follow,
 *              8 replaced and first follow, 16 a score follows, 32 new_rows follow (format 2),
 *              64 reviewed (format 3), 128 judged follows (format 4)
 *     varint   label, at most NB_NO_LABEL
 *     string   label_name     with flag 2
 *     string   id             not in FEATURES; not empty
 *     varint   tokens         not in FEATURES
 *     varint   replaced       with flag 8
 *     varint   first          with flag 8
 *     string   score          with flag 16 (core/model/learner.h)
 *     8 bytes  judged         with flag 64
 *     varint   first_row      with flag 4
 *     varint   new_count      with flag 4; above 0
 *     string   features       with flag 4 (core/ledger/features_coding.h)
 *     string   new_rows       with flag 32: a bag (core/ledger/bag_coding.h) without counts;
 *                             new_count rows, the first is first_row. Without the flag the rows
 *                             are first_row, first_row + 1 ...
 *     rest     bag            (core/ledger/bag_coding.h); empty in UNTRAIN and FEATURES
 *
 * RENAME_LABEL goes on with
 *
 *     varint   label
 *     string   label_name     the new name
 *
 * All other kinds go on with five members. A member that the kind does not use is empty, or 0:
 *
 *     string   name           CREATE, IMPORT, COMPLETE; DELETE requested by a caller
 *     string   settings       CREATE, SETTINGS, COMPLETE (core/bayes/settings.h); STORE:
 *                             the names of the fields, each a string, in the order of their
 *                             numbers; UNDO: the request (core/jobs/undo/undo.h)
 *     string   key            CREATE, COMPLETE: the model's own key (nb_own_key_write); STORE: the
 *                             store's key, NB_KEY_BYTES bytes
 *     string   weights        COMPLETE: the stack's learned weights (nb_stack_weights_write)
 *     varint   other          COMPLETE: the model that is replaced; UNDO: number of documents;
 *                             REFIT: enum nb_refit_part
 */
#ifndef NB_CORE_LEDGER_CHANGE_H
#define NB_CORE_LEDGER_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/ledger/bag_coding.h"

/* Raised when the stored form changes. Changes with `judged` are written in format 4, others that
 * are reviewed in format 3, others with `new_rows` in format 2, all others in format 1, as before.
 */
enum { NB_CHANGE_FORMAT = 4 };

/* Stored: never renumber, only append. */
enum nb_change_kind {
    NB_CHANGE_TRAIN = 1,    /* a document is learned, relabelled, or replaced by other content */
    NB_CHANGE_UNTRAIN = 2,  /* a document is forgotten */
    NB_CHANGE_FEATURES = 3, /* features and a label without a document: the first part of an import,
                               or the remnant of a superseded entry */
    NB_CHANGE_CREATE = 4,   /* a model is made */
    NB_CHANGE_SETTINGS = 5, /* the settings of a model are changed */
    NB_CHANGE_DELETE = 6,   /* a model is deleted, or its import is given up */
    NB_CHANGE_RENAME_LABEL = 7,
    NB_CHANGE_IMPORT = 8,   /* an import begins: a model that has no name yet */
    NB_CHANGE_COMPLETE = 9, /* the import is complete: the model takes its name, and replaces the
                               model that had the name */
    NB_CHANGE_REFIT = 10,   /* a refit of the weights begins, or goes on with one slice */
    NB_CHANGE_STORE = 11,   /* data of the whole store: its key, the names of the fields */
    NB_CHANGE_UNDO = 12, /* a note: the next changes undo others; the note itself changes nothing */
    NB_CHANGE_KINDS
};

/* The action of a REFIT. Stored: never renumber, only append. */
enum nb_refit_part {
    NB_REFIT_SLICE = 0, /* runs a slice of the refit under way */
    NB_REFIT_BEGIN = 1, /* begins a refit, and drops one that is under way */
    NB_REFIT_WHOLE = 2, /* as BEGIN, requested by a caller: the twin learns anew, too */
};

/* The source of UNTRAIN entries for documents that are removed because of their age. */
#define NB_SOURCE_AGEING "ageing"

/* The label number of a document without a label: the document is stored with its bag, but not
 * counted. A TRAIN that replaces a labelled document by an unlabelled one contains the old score,
 * like an UNTRAIN, and the score is removed. */
enum { NB_NO_LABEL = UINT16_MAX };

/* All strings are borrowed, from the caller or from the stored bytes. Which members count depends
 * on the kind; the others are zero. */
struct nb_change {
    enum nb_change_kind kind;
    uint32_t model;          /* number of the model */
    int64_t time;            /* milliseconds since 1970 */
    struct nb_string source; /* who requested the change: at most NB_SOURCE_MOST bytes */

    /* TRAIN, UNTRAIN */
    struct nb_string id;
    uint32_t label;    /* label of the document; of a forgotten document, the label that it had */
    bool truncated;    /* a limit of the tokenizer cut the document */
    bool is_reviewed;  /* TRAIN: somebody has looked at the document and given the label by its id;
                          it may repeat the label and the bag of the entry that it supersedes */
    uint64_t replaced; /* number of the entry that this one supersedes; 0: none */
    uint64_t first;  /* number of the entry that first learned the document: its place in the order
                        of arrival; 0: this entry. An unlabelled document arrives when it gets its
                        first label */
    uint64_t tokens; /* token positions */
    struct nb_string score; /* score before the document was learned (learner.h); may be empty */
    /* How the document and its worst passage were judged when it was submitted
     * (nb_stack_judged_pack); 0: it was not judged. */
    uint64_t judged;
    struct nb_string bag; /* rows and counts, by nb_bag_encode; empty when forgotten */

    /* TRAIN, FEATURES, RENAME_LABEL */
    struct nb_string label_name; /* name of `label` if the label is new or renamed */
    uint32_t first_row;          /* row number of the first new feature */
    uint32_t new_count;          /* number of new features */
    struct nb_string features;   /* the new features, by nb_features_encode */
    struct nb_string new_rows;   /* their rows, if these are not consecutive or reuse dropped rows;
                                    else empty */

    /* CREATE, SETTINGS, IMPORT, COMPLETE, DELETE */
    struct nb_string name; /* name of the model */
    union {
        struct nb_string settings;    /* by nb_settings_write */
        struct nb_string field_names; /* STORE */
        struct nb_string request;     /* UNDO */
    };
    struct nb_string key;     /* the model's own key, usually empty; STORE: the store's key */
    struct nb_string weights; /* COMPLETE: the learned weights of the stack; may be empty */
    union {
        uint32_t other;            /* as stored */
        uint32_t replaced_model;   /* COMPLETE: its number; 0: none */
        uint32_t undone_documents; /* UNDO: number of documents to undo */
        uint32_t part;             /* REFIT: enum nb_refit_part */
    };
};

/* Appends the stored form. Returns 0 or NB_NO_MEMORY. */
int nb_change_write(const struct nb_change *change, struct nb_buffer *out);
/* Reads the stored form; all strings are borrowed from `stored`. Returns 0, NB_CORRUPT, or
 * NB_VERSION for a format or a kind that this program does not know. */
int nb_change_read(struct nb_change *change, struct nb_string stored, struct nb_error *error);
/* Fills `rows` with the rows of the change's new features, in ascending order. Every row must be
 * below `limit`. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_change_new_rows(const struct nb_change *change, uint64_t limit, struct nb_rows *rows,
                       struct nb_error *error);
/* Sets *remnant to the part of an entry that must stay when its document is superseded: the new
 * label and the new features, borrowed like those of `change`. Returns false, with *remnant
 * unchanged, if the entry has neither: then it can be dropped whole. */
bool nb_change_remnant(const struct nb_change *change, struct nb_change *remnant);

#endif
