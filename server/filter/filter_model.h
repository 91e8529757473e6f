/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a user, and its parent, by the patterns of [filter]. Pure functions; any thread.
 */
#ifndef NB_SERVER_FILTER_FILTER_MODEL_H
#define NB_SERVER_FILTER_FILTER_MODEL_H

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_config;

enum { NB_FILTER_MODEL = 129 /* a model's name with its NUL */ };

/* The model of a user: `user` is an address as "Deliver-To:" or "User:" give it (angle brackets are
 * taken off), or of length 0. Without [filter] user_model, or without a user, it is [filter] model.
 * NB_UNUSABLE: the name made from the address cannot be a name of a model. */
int nb_filter_model(const struct nb_config *config, struct nb_string user,
                    char model[NB_FILTER_MODEL], struct nb_error *error);

/* The parent that the model of a user gets when learning makes it: [filter] user_parent, with the
 * domain of the address in it; [filter] model for an address without a domain. `user` as above.
 * NB_UNUSABLE: what comes out cannot be a name of a model. */
int nb_filter_parent(const struct nb_config *config, struct nb_string user,
                     char model[NB_FILTER_MODEL], struct nb_error *error);

/* The options of [filter], held against each other. Pure functions; any thread. */

/* Whether the options of [filter] go together. NB_INVALID says which do not. */
int nb_filter_check_config(const struct nb_config *config, struct nb_error *error);

#endif
