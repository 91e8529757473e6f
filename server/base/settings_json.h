/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes a model's settings as JSON, by the table in core/bayes/settings.h. Pure
 * functions; any thread.
 *
 * Reading is strict: duplicate keys, invalid UTF-8, unknown members and anything after the value
 * are refused, with the line and column or the member's name. NB_INVALID means 400 (syntax, type,
 * unknown or missing member), NB_UNUSABLE means 422 (a value that cannot be used). Every function
 * that reads may also return NB_NO_MEMORY.
 */
#ifndef NB_SERVER_BASE_SETTINGS_JSON_H
#define NB_SERVER_BASE_SETTINGS_JSON_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/bayes/settings.h"
#include "server/base/emit.h"

struct json_t;

/* Reads the settings of a PUT. A setting that is left out has the default of a preset: the one that
 * the member "preset" names, else that of the `existing` model, else (NULL) the text preset. With
 * `keep_tokenizer` (the model has documents) a `tokenizer` that is left out keeps its fields if the
 * preset stays the same, or if they include all fields of the new preset. `settings` is filled only
 * on success: then the caller deinits it, and it has passed nb_settings_check. */
int nb_json_settings_read(struct nb_string text, const struct nb_settings *existing,
                          bool keep_tokenizer, struct nb_settings *settings,
                          struct nb_error *error);

/* Reads {"settings": {...}}: the members that are given, and what the `existing` settings have for
 * the others; if `preset` is given, the others have its defaults, except for `tokenizer` and
 * `fields`. Otherwise as nb_json_settings_read. */
int nb_json_settings_change(struct nb_string text, const struct nb_settings *existing,
                            struct nb_settings *settings, struct nb_error *error);

/* Write the settings as an object that nb_json_settings_read reads back. */
int nb_json_settings(struct nb_buffer *out, const struct nb_settings *settings);
void nb_emit_settings(struct nb_emitter *e, const struct nb_settings *settings);

/* Like nb_json_settings_read, for a parsed value. */
int nb_json_settings_take(const struct json_t *value, const struct nb_settings *existing,
                          bool keep_tokenizer, struct nb_settings *settings,
                          struct nb_error *error);

#endif
