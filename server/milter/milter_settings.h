/* SPDX-License-Identifier: Apache-2.0
 *
 * The options that hold, with the connections to bayesd that follow from them. They are replaced
 * whole when they are read again; each mail keeps those it began with. Any thread may take and
 * release them, the main thread makes and publishes them.
 */
#ifndef NB_SERVER_MILTER_MILTER_SETTINGS_H
#define NB_SERVER_MILTER_MILTER_SETTINGS_H

#include "server/milter/command_line.h"
#include "server/milter/milter_ask.h"

struct nb_milter_settings {
    struct nb_milter_options options;
    struct nb_ask ask;
    size_t users; /* private to settings.c */
};

/* Reads the token and opens the first call. `options` is moved in, also after a failure. Returns 0
 * or what nb_access_token_read and nb_ask_init return. */
int nb_milter_settings_new(struct nb_milter_options *options, struct nb_milter_settings **made,
                           struct nb_error *error);

/* Makes them the ones that hold, and releases those that did; NULL: none hold. */
void nb_milter_settings_publish(struct nb_milter_settings *settings);

/* Those that hold; nb_milter_settings_release gives them back and sets the pointer to NULL, which
 * it may be already. */
struct nb_milter_settings *nb_milter_settings_take(void);
void nb_milter_settings_release(struct nb_milter_settings **settings);

/* Reads the options of the command line and its file again, and the token. `first` are those of the
 * start. Says in the log what has changed, what needs a restart, or why nothing has changed. */
void nb_milter_settings_reload(int argc, char **argv, const struct nb_milter_options *first);

#endif
