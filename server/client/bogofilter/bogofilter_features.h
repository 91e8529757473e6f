/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens of bogofilter as the features that this program's tokenizer makes of the same words in
 * a mail. The tables of the tokenizer must be there (nb_text_setup). One thread.
 */
#ifndef NB_CLIENT_BOGOFILTER_FEATURES_H
#define NB_CLIENT_BOGOFILTER_FEATURES_H

#include "server/client/bogofilter/bogofilter_list.h"
#include "tokenizer/bag/bag.h"

/* Fills `bag`, which is emptied first, with the features of a token, hashed with `key`; some tokens
 * are several features. *loss tells why the token is left out when none of its features is a word.
 * Returns 0 or NB_NO_MEMORY. */
int nb_bogofilter_features(struct nb_string token, const struct nb_key *key, struct nb_bag *bag,
                           enum nb_bogofilter_loss *loss);

/* Whether a feature of such a bag is a word and not a mark: the tokenizer counts marks wherever
 * they stand, bogofilter only inside of words. */
bool nb_bogofilter_is_word(uint64_t id, struct nb_string text);

#endif
