/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns values of attributes into features. Any thread; a tokenizing belongs to one.
 */
#ifndef NB_TOKENIZER_VALUES_H
#define NB_TOKENIZER_VALUES_H

#include "core/base/attribute.h"
#include "tokenizer/bag/tokenizing.h"
#include "tokenizer/mail/mail_values.h"

/* Counts the values of a document, which nb_values_check has accepted for these attributes:
 * - a category, and each value of a set, as a whole ("country=DE"), without folding;
 * - a number by its value ("amount=12.5"), however it is written;
 * - the words of a text, folded, with the attribute's name in front ("title:free"), without derived
 *   features (capitals, pairs, n-grams);
 * - for a text and a set also that it is present, by the name ("title").
 * Where the attributes are open, values of unknown attributes are skipped. Returns 0 or
 * NB_NO_MEMORY. */
int nb_tokenize_values(struct nb_tokenizing *t, struct nb_values values,
                       struct nb_attributes attributes);

/* Counts the known mail values for those categories among the attributes that have such a name
 * (nb_mail_value_names) and of which the document has no value of its own. */
int nb_tokenize_mail_values(struct nb_tokenizing *t, const struct nb_mail_values *known,
                            struct nb_values given, struct nb_attributes attributes);

#endif
