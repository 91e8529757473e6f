/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking for JSON and printing it. Main thread.
 */
#ifndef NB_SERVER_CLIENT_BASE_CLIENT_ANSWER_H
#define NB_SERVER_CLIENT_BASE_CLIENT_ANSWER_H

#include <stdint.h>

#include "server/client/base/client.h"

/* GETs /v1/models/MODEL and `rest`, which begins with a slash or is empty. *value is owned by the
 * caller. Returns 0 or a code of nb_call_make. */
int nb_answer_get(const struct nb_client *client, const char *rest, json_t **value,
                  struct nb_error *error);

/* Prints a JSON value in one line on standard output. Returns 0 or NB_IO. */
int nb_answer_print(const json_t *value, struct nb_error *error);

/* Returns a member of an object; 0 or "" if no member has this name and type. The text is
 * borrowed. */
uint64_t nb_answer_number(const json_t *object, const char *name);
const char *nb_answer_text(const json_t *object, const char *name);

#endif
