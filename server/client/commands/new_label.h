/* SPDX-License-Identifier: Apache-2.0
 *
 * A guard against mistyped labels: the model keeps a mistyped label, and the right label lacks its
 * documents. Main thread.
 */
#ifndef NB_CLIENT_NEW_LABEL_H
#define NB_CLIENT_NEW_LABEL_H

#include "server/client/base/client.h"

enum { NB_NEW_LABEL_DOCUMENTS = 100 /* a model of this size refuses near labels */ };

/* All zero at the beginning. */
struct nb_new_label {
    json_t *known;      /* owned: the labels of the model, by name; NULL before the first check */
    json_t *good;       /* owned: an object whose names are labels that were checked */
    uint64_t documents; /* of the model */
};

/* Checks a label that is to be learned. The first call asks the daemon for the labels of the
 * client's model. When the model has no documents of the label, but has a label that is nearly the
 * same (difference.h), the function asks the person at the terminal. Without a terminal it refuses
 * the label if the model has NB_NEW_LABEL_DOCUMENTS, or if the two labels look the same
 * (core/base/label/label.h). `name` tells where the label comes from, for the message. Returns 0,
 * NB_INVALID, or a code of nb_call_make. */
int nb_new_label_check(struct nb_new_label *check, const struct nb_client *client,
                       struct nb_string label, const char *name, struct nb_error *error);

void nb_new_label_deinit(struct nb_new_label *check);

#endif
