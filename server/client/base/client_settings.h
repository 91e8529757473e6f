/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of a model as people type them: NAME=VALUE. Pure functions; any thread.
 */
#ifndef NB_SERVER_CLIENT_BASE_CLIENT_SETTINGS_H
#define NB_SERVER_CLIENT_BASE_CLIENT_SETTINGS_H

#include <jansson.h>

#include "core/base/error.h"

/* Puts one setting into `settings`, an object. The value is parsed as JSON; if it is not JSON, it
 * is taken as a string. It may hold spaces. An empty value is null. Returns 0, or NB_CLIENT_USAGE
 * when `text` is not NAME=VALUE or is not UTF-8. */
int nb_settings_put(json_t *settings, const char *text, struct nb_error *error);

/* Puts settings that are separated by spaces: "smoothing=0.5 decision=bayes". Returns as
 * nb_settings_put. */
int nb_settings_put_all(json_t *settings, const char *text, struct nb_error *error);

#endif
