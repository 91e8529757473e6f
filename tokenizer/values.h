/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of attributes to features. Any thread; a tokenizing belongs to one.
 */
#ifndef NB_TOKENIZER_VALUES_H
#define NB_TOKENIZER_VALUES_H

#include "core/base/attribute.h"
#include "tokenizer/bag/tokenizing.h"
#include "tokenizer/mail/mail_values.h"

/* Counts the values of a document, which nb_values_check has found good for these attributes:
 * - a category, and each value of a set, as a whole ("country=DE"), without folding;
 * - a number as that number ("amount=12.5"): equal numbers are the same however they are written;
 * - the words of a text, folded, with the attribute's name in front ("title:free"), without what is
 *   derived from words (capitals, pairs, n-grams);
 * - of a text and a set that there is one, by the name ("title").
 * Values of attributes that there are not, where these are open, are passed over. Returns 0 or
 * NB_NO_MEMORY. */
int nb_tokenize_values(struct nb_tokenizing *t, struct nb_values values,
                       struct nb_attributes attributes);

/* Counts what a mail's server knows of it, for those categories among the attributes that have such
 * a name (nb_mail_value_names) and of which the document has no value of its own. */
int nb_tokenize_mail_values(struct nb_tokenizing *t, const struct nb_mail_values *known,
                            struct nb_values given, struct nb_attributes attributes);

#endif
