/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings: the options in force, and the connections to bayesd that they define. Reading the
 * options again replaces the settings as a whole; each mail keeps those it began with. Any thread
 * may take and release them, the main thread makes and publishes them.
 */
#ifndef NB_SERVER_MILTER_MILTER_SETTINGS_H
#define NB_SERVER_MILTER_MILTER_SETTINGS_H

#include "server/milter/command_line.h"
#include "server/milter/milter_ask.h"

struct nb_milter_settings {
    struct nb_milter_options options;
    struct nb_ask ask;
    size_t users; /* private to milter_settings.c */
};

/* Makes settings: reads the token and opens the first call. Takes over `options`, also after a
 * failure. Returns 0 or the codes of nb_access_token_read and nb_ask_init. */
int nb_milter_settings_new(struct nb_milter_options *options, struct nb_milter_settings **made,
                           struct nb_error *error);

/* Puts the settings in force, and releases the previous ones; NULL: none are in force. */
void nb_milter_settings_publish(struct nb_milter_settings *settings);

/* Takes the settings in force; nb_milter_settings_release gives them back and sets the pointer to
 * NULL, which it may be already. */
struct nb_milter_settings *nb_milter_settings_take(void);
void nb_milter_settings_release(struct nb_milter_settings **settings);

/* Reads the options of the command line and its file again, and the token. `first` are the options
 * of the start. Logs what has changed, what needs a restart, or why nothing has changed. */
void nb_milter_settings_reload(int argc, char **argv, const struct nb_milter_options *first);

#endif
