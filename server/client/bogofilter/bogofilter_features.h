/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts bogofilter's tokens into the features that this program's tokenizer makes of the same
 * words in a mail. Adds the features that every mail has and bogofilter does not count: marks,
 * words of one and two characters (its tokens have at least three), "by" and "id" of Received. The
 * tables of the tokenizer must be there (nb_text_setup). One thread.
 *
 * A model made from a word list alone would not know these added features. A few mails of one
 * label, learned later, would make each of them speak for that label. So they begin equally
 * frequent in both labels.
 *
 * Measured with a list of 3,000 messages: of 1,027 ham mails 5 score over 0.5 (none over 0.9).
 * After 20 more spam and no ham were learned, 40 do (1 over 0.9); without the added features 405 do
 * (158 over 0.9).
 */
#ifndef NB_CLIENT_BOGOFILTER_FEATURES_H
#define NB_CLIENT_BOGOFILTER_FEATURES_H

#include "server/client/bogofilter/bogofilter_list.h"
#include "tokenizer/bag/bag.h"

/* Fills `bag`, which is emptied first, with the features of a token, hashed with `key`; some tokens
 * are several features. If none of its features is a word, the token is left out, and *loss is the
 * reason. Returns 0 or NB_NO_MEMORY. */
int nb_bogofilter_features(struct nb_string token, const struct nb_key *key, struct nb_bag *bag,
                           enum nb_bogofilter_loss *loss);

/* Returns whether a feature from nb_bogofilter_features is a word and not a mark: the tokenizer
 * counts marks everywhere, bogofilter only inside words. */
bool nb_bogofilter_is_word(uint64_t id, struct nb_string text);

/* Adds the features that bogofilter does not count, unless the list has them already. Returns 0,
 * NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_bogofilter_add_neutral(struct nb_bogofilter_list *list);

#endif
