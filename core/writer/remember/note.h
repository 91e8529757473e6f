/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes verdicts for the history of a model. Any thread.
 */
#ifndef NB_CORE_WRITER_REMEMBER_NOTE_H
#define NB_CORE_WRITER_REMEMBER_NOTE_H

#include "core/ledger/coding/features_coding.h"
#include "core/writer/remember/remember.h"
#include "tokenizer/bag/bag.h"

/* What is noted with the bag; all borrowed. Strings that are too long are cut. */
struct nb_remember_note {
    struct nb_string id; /* of the document; not empty */
    struct nb_string message_id, subject, source;
    struct nb_string verdict; /* the label */
    double probability;
    uint32_t fields; /* of the tokenizer, which made the bag */
};

/* Whether the texts of words are kept, by the same rule as for learned documents. A model whose
 * features have a key of their own always keeps them, because its ids follow from its texts
 * alone. */
bool nb_remember_keeps_texts(const struct nb_engine *engine, const struct nb_live *live);

/* Notes the verdict about the document with this bag, as nb_remember does. `coder` is used. */
int nb_remember_note(struct nb_engine *engine, struct nb_live *live,
                     const struct nb_remember_note *note, const struct nb_bag *bag,
                     struct nb_features_coder *coder);

/* Fills `bag`, which is emptied first, with the features of a record. `key` is the key that the
 * features are hashed with; `coder` is used. A word whose text was not kept is named by its id.
 * Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_remember_bag(const struct nb_history_record *record, const struct nb_key *key,
                    struct nb_features_coder *coder, struct nb_bag *bag, struct nb_error *error);

#endif
