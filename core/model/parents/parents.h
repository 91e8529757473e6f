/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may be whose parent. A parent must count what its child counts: features under the same key,
 * of the same fields, as often; when it becomes the parent it must know the child's labels, of
 * which either may learn further ones later. There are three levels at most, and no circles. While
 * a model has children it cannot be deleted, and its labels cannot be renamed.
 *
 * On the writer's thread, where nobody else changes who is whose parent, unless said otherwise.
 */
#ifndef NB_CORE_MODEL_PARENTS_PARENTS_H
#define NB_CORE_MODEL_PARENTS_PARENTS_H

#include "core/model/live/state.h"

/* Whether a model with these settings can take the parent that they name (NULL: none), and keep the
 * children that it has: `live` is the model, also an unsaved one, or one that is to take the place
 * of the model of its name. Loads both. Returns 0; NB_UNUSABLE: there is no such parent, it is the
 * model itself or one of its descendants, there are too many levels, or a setting does not allow a
 * parent; NB_CONFLICT: the parent counts other things; NB_DAMAGED, NB_IO, NB_NO_MEMORY. */
int nb_parents_check(struct nb_engine *engine, struct nb_live *live,
                     const struct nb_settings *settings, struct nb_error *error);

/* After nb_parents_check: whether the parent `name`, if it is not the model's parent already, knows
 * all labels of the model's documents. A parent that has learned nothing yet may come to know any.
 * It is against slips in a name; what a model and its parent have learned since may differ, so an
 * import does not ask. Returns 0; NB_CONFLICT, naming the label; NB_NOT_FOUND, NB_DAMAGED, NB_IO,
 * NB_NO_MEMORY. */
int nb_parents_check_labels(struct nb_engine *engine, struct nb_live *live, const char *name,
                            struct nb_error *error);

/* The part of it that reads settings and keys alone. Any thread. NB_UNUSABLE, NB_CONFLICT. */
int nb_parents_check_pair(const struct nb_live *live, const struct nb_settings *settings,
                          const struct nb_live *parent, const struct nb_settings *parents,
                          struct nb_error *error);

/* Notes whose child the model is; *name (owned, may be NULL) is exchanged for the name that it had.
 */
void nb_parents_note(struct nb_engine *engine, struct nb_live *live, char **name);

/* Whether a model has children: NB_CONFLICT, with the name of one and `what` cannot be done, else
 * 0. */
int nb_parents_check_childless(struct nb_engine *engine, const struct nb_live *live,
                               const char *what, struct nb_error *error);

/* Whether a model and its ancestors are in memory. Those that are damaged or unknown count as such:
 * an answer needs no loading. Any thread. */
bool nb_parents_are_loaded(struct nb_engine *engine, struct nb_string name);

#endif
