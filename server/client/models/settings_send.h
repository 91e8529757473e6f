/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives a model settings. Main thread.
 */
#ifndef NB_CLIENT_SETTINGS_SEND_H
#define NB_CLIENT_SETTINGS_SEND_H

#include <jansson.h>
#include <stdbool.h>

#include "server/client/base/client.h"

/* PUTs settings, all that are to be other than the defaults of the preset. `source` may be NULL.
 * With is_new a model of this name is not changed. *row, owned by the caller, is the model with all
 * its settings. Returns 0, NB_CONFLICT when is_new and there is a model, or a code of nb_call_make.
 */
int nb_settings_send(const struct nb_client *client, const json_t *settings, const char *source,
                     bool is_new, json_t **row, struct nb_error *error);

#endif
