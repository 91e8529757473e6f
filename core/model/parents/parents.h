/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for parents. A parent must count the same things as its child: features under the same key,
 * of the same fields, with the same limit of counts. When it becomes the parent it must know the
 * child's labels; later both may learn further labels. There are at most three levels, and no
 * cycles. While a model has children it cannot be deleted, and its labels cannot be renamed.
 *
 * On the writer's thread, which alone changes parents, unless said otherwise.
 */
#ifndef NB_CORE_MODEL_PARENTS_PARENTS_H
#define NB_CORE_MODEL_PARENTS_PARENTS_H

#include "core/model/live/state.h"

/* Checks whether a model with these settings can have the parent that they name (NULL: none), and
 * keep its children. `live` is the model: it may be unsaved, or about to replace the model of its
 * name. Loads model and parent. Returns 0; NB_UNUSABLE: there is no such parent, it is the model
 * itself or one of its descendants, there are too many levels, or a setting does not allow a
 * parent; NB_CONFLICT: the parent counts other things; NB_DAMAGED, NB_IO, NB_NO_MEMORY. */
int nb_parents_check(struct nb_engine *engine, struct nb_live *live,
                     const struct nb_settings *settings, struct nb_error *error);

/* After nb_parents_check: checks whether the parent `name`, if it is new to the model, knows all
 * labels of the model's documents. A parent that has learned nothing yet passes. The check finds
 * mistyped names. An import skips it, because a model and its parent may have learned different
 * labels since. Returns 0; NB_CONFLICT, naming the label; NB_NOT_FOUND, NB_DAMAGED, NB_IO,
 * NB_NO_MEMORY. */
int nb_parents_check_labels(struct nb_engine *engine, struct nb_live *live, const char *name,
                            struct nb_error *error);

/* The part of nb_parents_check that reads only settings and keys. Any thread. NB_UNUSABLE,
 * NB_CONFLICT. */
int nb_parents_check_pair(const struct nb_live *live, const struct nb_settings *settings,
                          const struct nb_live *parent, const struct nb_settings *parents,
                          struct nb_error *error);

/* Sets the name of the model's parent, and exchanges *name (owned, may be NULL) for the name of the
 * old one. */
void nb_parents_note(struct nb_engine *engine, struct nb_live *live, char **name);

/* Returns NB_CONFLICT if the model has children, else 0. The text names one child and says that
 * `what` cannot be done. */
int nb_parents_check_childless(struct nb_engine *engine, const struct nb_live *live,
                               const char *what, struct nb_error *error);

/* Whether a model and its ancestors are in memory. Damaged and unknown ones count as loaded,
 * because an answer needs no loading. Any thread. */
bool nb_parents_are_loaded(struct nb_engine *engine, struct nb_string name);

#endif
