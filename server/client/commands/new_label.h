/* SPDX-License-Identifier: Apache-2.0
 *
 * A guard against labels that somebody mistyped: a model keeps such a label, and its documents are
 * missing in the right one. Main thread.
 */
#ifndef NB_CLIENT_NEW_LABEL_H
#define NB_CLIENT_NEW_LABEL_H

#include "server/client/base/client.h"

enum { NB_NEW_LABEL_DOCUMENTS = 100 /* of a model, from which on a mistake is more likely */ };

/* All zero at the beginning. */
struct nb_new_label {
    json_t *known;      /* owned: the labels of the model, by name; NULL before the first check */
    json_t *good;       /* owned: an object whose names are labels that were checked */
    uint64_t documents; /* of the model */
};

/* Checks a label that is to be learned. The first call asks the daemon for the labels of the
 * client's model. Of a label that the model has no documents of, and that is near one that it has
 * (difference.h), the person at the terminal is asked; without one it is refused if the model has
 * NB_NEW_LABEL_DOCUMENTS, or if the two look the same (core/base/label/label.h). `name` is where
 * the label comes from, for the message. Returns 0, NB_INVALID, or a code of nb_call_make. */
int nb_new_label_check(struct nb_new_label *check, const struct nb_client *client,
                       struct nb_string label, const char *name, struct nb_error *error);

void nb_new_label_deinit(struct nb_new_label *check);

#endif
