/* SPDX-License-Identifier: Apache-2.0
 *
 * A hint for an error about a missing label, where labels are hierarchical: "sci" is a level of
 * "sci/space", or "sci/space" is a label below "sci". Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_LABEL_LEVEL_HINT_H
#define NB_CORE_BASE_LABEL_LEVEL_HINT_H

#include <stdbool.h>

#include "core/base/buffer.h"

enum { NB_LEVEL_HINT = 288 /* bytes of a hint with its NUL: longer labels are cut */ };

struct nb_level_hint {
    bool is_below; /* private: the text is of a label of which the wanted one is a level */
    char text[NB_LEVEL_HINT]; /* follows what says that the label is not there; empty if no label
                                 that was given is above or below it */
};

/* Compares one existing label with the wanted one. The hint is all zero before the first, and names
 * the first label below, or else the first above. */
void nb_level_hint_add(struct nb_level_hint *hint, struct nb_string wanted, struct nb_string label);

#endif
