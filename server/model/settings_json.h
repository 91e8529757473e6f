/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's settings as JSON, by the table in core/bayes/settings/settings.h. Pure functions; any
 * thread.
 *
 * Reading is strict: duplicate keys, invalid UTF-8, unknown members and anything after the value
 * are refused, with the line and column or the member's name. NB_INVALID means 400 (syntax, type,
 * unknown or missing member), NB_UNUSABLE means 422 (a value that cannot be used). Every function
 * that reads may also return NB_NO_MEMORY.
 */
#ifndef NB_SERVER_MODEL_SETTINGS_JSON_H
#define NB_SERVER_MODEL_SETTINGS_JSON_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/bayes/settings/settings.h"
#include "server/json/emit.h"

struct json_t;

/* Reads the settings of a PUT: what is left out is its default, of the preset that member "preset"
 * names, else of the `existing` model's, else (NULL) of the text preset. With `keep_tokenizer` (the
 * model has documents) a `tokenizer` that is left out stays what it is, if the preset does or if
 * all is counted that the new one reads. `settings` is filled on success only, the caller's to
 * deinit, and has passed nb_settings_check. */
int nb_json_settings_read(struct nb_string text, const struct nb_settings *existing,
                          bool keep_tokenizer, struct nb_settings *settings,
                          struct nb_error *error);

/* The settings as an object that nb_json_settings_read reads back. */
int nb_json_settings(struct nb_buffer *out, const struct nb_settings *settings);
void nb_emit_settings(struct nb_emitter *e, const struct nb_settings *settings);

/* nb_json_settings_read of a parsed value. */
int nb_json_settings_take(const struct json_t *value, const struct nb_settings *existing,
                          bool keep_tokenizer, struct nb_settings *settings,
                          struct nb_error *error);

#endif
