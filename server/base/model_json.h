/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes models, learned documents and vocabularies as JSON. Pure functions; any thread. Writing
 * appends to a buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was before
 * the call (emit.h).
 */
#ifndef NB_SERVER_BASE_MODEL_JSON_H
#define NB_SERVER_BASE_MODEL_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/engine/engine.h"

/* Writes the row of a model; {"name", "state": "damaged", "reason"} for a damaged one. With
 * `settings` the row has the settings too (GET of one model). */
int nb_json_model(struct nb_buffer *out, const struct nb_model_info *info, bool settings);

/* Writes {"models": [rows]}; with `more` also "next", the name of the last model, after which the
 * next page begins. */
int nb_json_models(struct nb_buffer *out, const struct nb_model_info *infos, size_t count,
                   bool more);

/* Writes {"status": "ready"}, the names of damaged models if there are any, and how far the upgrade
 * is while models of an older version are computed anew. */
int nb_json_ready(struct nb_buffer *out, char *const *damaged, size_t count,
                  const struct nb_engine_statistics *statistics, const char *warning);

/* Reads {"name": "...", "merge": true or false}, where "name" is the new name of a label, or the
 * label into which it is merged. Appends the name, which has passed nb_check_label, to `name`, and
 * sets *merges. Returns 0, NB_INVALID, NB_UNUSABLE or NB_NO_MEMORY. */
int nb_json_rename_read(struct nb_string text, struct nb_buffer *name, bool *merges,
                        struct nb_error *error);

/* Writes {"id", "label", "learned": RFC 3339 in UTC with milliseconds, "source", "tokens"}. */
int nb_json_document_info(struct nb_buffer *out, struct nb_string id,
                          const struct nb_document_info *info);

/* A listing of the vocabulary, written token by token. Each function returns 0 or NB_NO_MEMORY. */
struct nb_json_vocabulary {
    struct nb_buffer *out;
    const char *const *labels; /* borrowed until the end */
    size_t label_count;
    size_t listed; /* tokens listed so far */
};
int nb_json_vocabulary_begin(struct nb_json_vocabulary *v, uint64_t size, const char *const *labels,
                             size_t label_count);
int nb_json_vocabulary_token(struct nb_json_vocabulary *v, const struct nb_telling_token *token);
int nb_json_vocabulary_end(struct nb_json_vocabulary *v);

#endif
