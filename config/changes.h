/* SPDX-License-Identifier: Apache-2.0
 *
 * What a configuration that is read while the daemon runs changes (SIGHUP). Each option's row in
 * the table says whether a change holds at once or with the next start. Main thread.
 */
#ifndef NB_CONFIG_CHANGES_H
#define NB_CONFIG_CHANGES_H

#include "config/option_table.h"
#include "core/base/error.h"

/* Told of one option whose value differs. `is_unset`: it is the default, which the running one was
 * not. So a file that was emptied or half written is seen, though it has no mistake in it. */
typedef void nb_config_changed(void *user, const struct nb_option *option, bool is_unset);

/* Makes `next` a configuration that the daemon which runs with `running` can go over to: options
 * that need a restart keep the running value. Calls `changed` for every option whose value in
 * `next` was another one, those that need a restart too. Returns 0 or NB_NO_MEMORY, after which
 * `next` is not usable. */
int nb_config_carry_over(struct nb_config *next, const struct nb_config *running,
                         nb_config_changed *changed, void *user, struct nb_error *error);

#endif
