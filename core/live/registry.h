/* SPDX-License-Identifier: Apache-2.0
 *
 * The models by name: found, loaded when they are first asked for, dropped from memory when others
 * need it. Any thread, except where a function says otherwise.
 */
#ifndef NB_CORE_LIVE_REGISTRY_H
#define NB_CORE_LIVE_REGISTRY_H

#include "core/live/state.h"

/* Frees all models. At the end. */
void nb_registry_free(struct nb_engine *engine);

/* Finds the model of the name, without loading it; the caller gets a reference. With `unborn`, also
 * a model that the store does not know yet. NB_UNUSABLE (the name), NB_NOT_FOUND. */
int nb_registry_find(struct nb_engine *engine, struct nb_string name, bool unborn,
                     struct nb_live **live, struct nb_error *error);
/* Loads a model that was found, if it is not. NB_DAMAGED: it cannot be used, only replaced and
 * deleted. */
int nb_registry_load(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);
/* Asks that the thread of documents without a label (core/unlabelled/worker.h) looks at the model,
 * after its documents or settings have changed or it was loaded: a look at two numbers, if it has
 * no documents without a label. */
void nb_refining_ask(struct nb_engine *engine, struct nb_live *live);
/* Finds and loads. */
int nb_registry_acquire(struct nb_engine *engine, struct nb_string name, bool unborn,
                        struct nb_live **live, struct nb_error *error);
/* As nb_registry_acquire with `unborn`; if there is no model of the name and `auto_create` allows
 * it, makes an unborn one with these settings. */
int nb_registry_make(struct nb_engine *engine, struct nb_string name,
                     const struct nb_settings *settings, struct nb_live **live,
                     struct nb_error *error);
/* The key under which the features of a model of the name are hashed, if it is not the store's.
 * With counts of that model the same features must have the same ids: who is made as its child has
 * the key too. Not present: the store's key, or there is no such model (or `parent` is NULL). */
void nb_registry_key_of(struct nb_engine *engine, const char *parent, struct nb_own_key *own);
/* Makes an unborn model, whose features are hashed under its parent's key; the caller gets a
 * reference. NB_EXISTS: there is a model of the name. */
int nb_registry_make_unborn(struct nb_engine *engine, struct nb_string name,
                            const struct nb_settings *settings, struct nb_live **live,
                            struct nb_error *error);
/* Gives a reference back and sets *live to NULL, which is allowed inside. An unborn model whose
 * last user this was leaves the registry. */
void nb_registry_release(struct nb_engine *engine, struct nb_live **live);
/* Adds a model; the registry takes the caller's reference. NB_EXISTS, NB_TOO_LARGE. */
int nb_registry_insert(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);
/* Puts `live` in the place of the model that has its name. Returns that model, marked removed; its
 * reference of the registry is now the caller's. NULL, with nothing changed: there was none. */
struct nb_live *nb_registry_replace(struct nb_engine *engine, struct nb_live *live);
/* Takes a model out of the registry, marks it removed and drops the registry's reference. */
void nb_registry_remove(struct nb_engine *engine, struct nb_live *live);

/* The first loaded, persisted and sound model for which `matches` says so, with a reference for the
 * caller. NULL: there is none. On the writer's thread, to which `matches` may look. */
struct nb_live *nb_registry_first(struct nb_engine *engine,
                                  bool (*matches)(const struct nb_live *live));

/* The names of up to `most` persisted models after the name `after` (length 0: from the first), in
 * order. The caller frees each and the array. Sets *more if there are more. */
int nb_registry_names(struct nb_engine *engine, struct nb_string after, size_t most, char ***names,
                      size_t *count, bool *more, struct nb_error *error);

/* Drops a model from memory to which the caller has a reference, unless somebody else uses it, or
 * its weights are soon fitted anew. What a start would replay of it, its next load replays. Returns
 * whether it is gone. On the writer's thread. */
bool nb_registry_drop(struct nb_engine *engine, struct nb_live *live);
/* Drops models from memory that nobody is using, those first that were not used for longest: until
 * the others fit the setting `memory` with an eighth to spare, and beyond the 64 used last all that
 * were not used for a minute. `save` saves a model before it goes, and returns 0 if it may go. Also
 * gives pages of the store back that were read. On the writer's thread. */
void nb_registry_trim(struct nb_engine *engine,
                      int (*save)(struct nb_engine *engine, struct nb_live *live));

#endif
