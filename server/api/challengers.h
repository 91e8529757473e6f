/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that keeps all challengers up with their models (core/jobs/challenger/challenger.h).
 * Without a challenger it sleeps. Any thread, except where a function says otherwise.
 */
#ifndef NB_SERVER_API_CHALLENGERS_H
#define NB_SERVER_API_CHALLENGERS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_challengers;
struct nb_engine;

/* Starts the thread, which finds the challengers that there are. `engine` is borrowed. Returns 0,
 * NB_IO or NB_NO_MEMORY. Main thread. */
int nb_challengers_start(struct nb_engine *engine, struct nb_challengers **challengers,
                         struct nb_error *error);
/* Ends the thread, and sets *challengers to NULL; *challengers may be NULL. Main thread. */
void nb_challengers_stop(struct nb_challengers **challengers);

/* Tells the thread that a challenger was made. */
void nb_challengers_wake(struct nb_challengers *challengers);

struct nb_challenger_state {
    bool is_following;           /* it has learned all that its model has; else it catches up */
    char problem[NB_ERROR_TEXT]; /* why it does not go on; "": it does */
};
/* How the challenger of a model gets on. */
void nb_challengers_state(struct nb_challengers *challengers, struct nb_string model,
                          struct nb_challenger_state *state);

#endif
