/* SPDX-License-Identifier: Apache-2.0
 *
 * The setting `smoothing`, read from JSON. Pure functions; any thread.
 */
#ifndef NB_SERVER_MODEL_SETTINGS_SMOOTHING_H
#define NB_SERVER_MODEL_SETTINGS_SMOOTHING_H

#include "core/base/error.h"
#include "core/bayes/settings/settings.h"

struct json_t;

/* A number, or an object whose members say which kind of smoothing it is. `value` is one of both.
 * Returns 0, NB_INVALID, NB_UNUSABLE or NB_NO_MEMORY; what was read so far is freed with the
 * settings. */
int nb_json_take_smoothing(const struct nb_setting *setting, const struct json_t *value,
                           struct nb_settings *settings, struct nb_error *error);

#endif
