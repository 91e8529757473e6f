/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of settings, read from JSON, by the type of the setting
 * (server/model/settings_json.c). Pure functions; any thread. Each returns 0, NB_INVALID (a wrong
 * type inside of an object), NB_UNUSABLE (a value that cannot be used) or NB_NO_MEMORY; `error`
 * says of which member. `value` has one of the types that settings.c asks for, and is only read.
 */
#ifndef NB_SERVER_MODEL_SETTINGS_VALUES_H
#define NB_SERVER_MODEL_SETTINGS_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/bayes/settings/settings.h"

struct json_t;

/* How many names there are before the NULL. */
size_t nb_json_count_names(const char *const *names);

/* The index of a string among the first `count` names; those that are NULL cannot be given. */
int nb_json_take_enum(const char *member, const struct json_t *value, const char *const *names,
                      size_t count, int *index, struct nb_error *error);
int nb_json_take_count(const char *member, const struct json_t *value, uint64_t *count,
                       struct nb_error *error);

/* A name, or weights. */
int nb_json_take_prior(const struct nb_setting *setting, const struct json_t *value,
                       struct nb_settings *settings, struct nb_error *error);

/* {"fields": [names]}; `mask` stays as it is where no fields are named. */
int nb_json_take_fields(const struct nb_setting *setting, const struct json_t *value,
                        uint32_t *mask, struct nb_error *error);

/* A name of a host or of a model, a copy that the settings own; stays NULL for null. */
int nb_json_take_host(const struct json_t *value, char **name, struct nb_error *error);
int nb_json_take_model(const struct nb_setting *setting, const struct json_t *value, char **name,
                       struct nb_error *error);

/* A number of at least 0, or "auto" (NB_WEIGHT_AUTO). */
int nb_json_take_weight_or_auto(const struct nb_setting *setting, const struct json_t *value,
                                double *weight, struct nb_error *error);

/* {"field": kind, ...}. Fields that `existing` (NULL: there are none) has keep their numbers; new
 * ones have the next, in their order. */
int nb_json_take_attributes(const struct nb_setting *setting, const struct json_t *value,
                            const struct nb_settings *existing, struct nb_settings *settings,
                            struct nb_error *error);

/* For settings that do not say which fields there are: they stay as they are. */
int nb_json_keep_attributes(const struct nb_settings *existing, struct nb_settings *settings,
                            struct nb_error *error);

/* The setting `smoothing`, read from JSON. Pure functions; any thread. */

/* A number, or an object whose members say which kind of smoothing it is. `value` is one of both.
 * Returns 0, NB_INVALID, NB_UNUSABLE or NB_NO_MEMORY; what was read so far is freed with the
 * settings. */
int nb_json_take_smoothing(const struct nb_setting *setting, const struct json_t *value,
                           struct nb_settings *settings, struct nb_error *error);

#endif
