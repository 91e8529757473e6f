/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry: all models, by name. A model is loaded when it is first used, and dropped from
 * memory when others need the memory. Any thread, except where a function says otherwise.
 */
#ifndef NB_CORE_MODEL_REGISTRY_H
#define NB_CORE_MODEL_REGISTRY_H

#include "core/model/state.h"

/* Frees all models, when the engine closes. */
void nb_registry_free(struct nb_engine *engine);

/* Finds the model of the name, without loading it; the caller gets a reference. With `unsaved`,
 * also a model that the store does not know yet. NB_UNUSABLE (the name), NB_NOT_FOUND. */
int nb_registry_find(struct nb_engine *engine, struct nb_string name, bool unsaved,
                     struct nb_live **live, struct nb_error *error);
/* Loads a model that was found, unless it is loaded. NB_DAMAGED: it cannot be used, only replaced
 * or deleted. */
int nb_registry_load(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);
/* Asks the thread that fits documents without a label (core/em/unlabelled.h) to check the
 * model. Called after its documents or settings have changed, or it was loaded. Cheap if the model
 * has no such documents: it compares two numbers. */
void nb_refining_ask(struct nb_engine *engine, struct nb_live *live);
/* Finds and loads a model: nb_registry_find and nb_registry_load. */
int nb_registry_acquire(struct nb_engine *engine, struct nb_string name, bool unsaved,
                        struct nb_live **live, struct nb_error *error);
/* As nb_registry_acquire with `unsaved`. If there is no model of the name, and `auto_create` allows
 * it, makes an unsaved one with the preset's settings. */
int nb_registry_make(struct nb_engine *engine, struct nb_string name, enum nb_preset preset,
                     struct nb_live **live, struct nb_error *error);
/* The key for features of the model `parent`, if it is not the store's. A child must use it too,
 * because the same features must have the same ids in both models. Not present: the store's key is
 * used, there is no such model, or `parent` is NULL. */
void nb_registry_key_of(struct nb_engine *engine, const char *parent, struct nb_own_key *own);
/* Makes an unsaved model, with the key for features of its parent, or of the model whose challenger
 * it is; the caller gets a reference. NB_EXISTS: there is a model of the name. */
int nb_registry_make_unsaved(struct nb_engine *engine, struct nb_string name,
                             const struct nb_settings *settings, struct nb_live **live,
                             struct nb_error *error);
/* Releases a reference and sets *live to NULL; *live may be NULL already. An unsaved model without
 * users is removed from the registry. */
void nb_registry_release(struct nb_engine *engine, struct nb_live **live);
/* Adds a model; the registry takes the caller's reference. NB_EXISTS, NB_TOO_LARGE. */
int nb_registry_insert(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);
/* NB_TOO_LARGE: there is no model of the name, and no room for one. Else 0. Any thread. */
int nb_registry_check_room(struct nb_engine *engine, struct nb_string name, struct nb_error *error);
/* Replaces the model that has the same name by `live`. Returns the old model, marked as removed;
 * the caller takes over the registry's reference to it. NULL, with nothing changed: there was none.
 */
struct nb_live *nb_registry_replace(struct nb_engine *engine, struct nb_live *live);
/* Removes a model from the registry, marks it as removed and releases the registry's reference. */
void nb_registry_remove(struct nb_engine *engine, struct nb_live *live);

/* Returns the first loaded, persisted and undamaged model for which `matches` returns true, with a
 * reference for the caller. NULL: there is none. On the writer's thread, so `matches` may read the
 * writer's members. */
struct nb_live *nb_registry_first(struct nb_engine *engine,
                                  bool (*matches)(const struct nb_live *live));

/* Whether an older version has stored the model, and it is not upgraded yet
 * (core/writer/upgrade.h). */
bool nb_registry_is_older(const struct nb_live *live);
/* Returns the first such model, with a reference for the caller; NULL: there is none. */
struct nb_live *nb_registry_first_older(struct nb_engine *engine);

/* Lists the names of up to `most` persisted models after the name `after` (length 0: from the
 * first), in order. The caller frees each name and the array. Sets *more if there are more. */
int nb_registry_names(struct nb_engine *engine, struct nb_string after, size_t most, char ***names,
                      size_t *count, bool *more, struct nb_error *error);

/* At the start, on one thread: reads the names of all models from the store, without loading any.
 * Finds a model with a damaged record in the ledger, and marks it as damaged: it can be deleted or
 * replaced. NB_CORRUPT: the ledger is damaged as well, so the list of models is not known. */
int nb_roster_read(struct nb_engine *engine, struct nb_error *error);

/* Drops a model, to which the caller has a reference, from memory, unless somebody else uses it or
 * its weights are about to be refitted. Its next load replays the entries that a start would
 * replay. Returns whether it was dropped. On the writer's thread. */
bool nb_trim_model(struct nb_engine *engine, struct nb_live *live);
/* Drops models that have no users from memory, least recently used first: until the rest takes at
 * most 7/8 of the setting `memory`, and all models but the 64 used last that were not used for a
 * minute. `save` saves a model before it is dropped, and returns 0 if it may be. Also releases
 * pages of the store that were read. On the writer's thread. */
void nb_trim_memory(struct nb_engine *engine,
                    int (*save)(struct nb_engine *engine, struct nb_live *live));

#endif
