/* SPDX-License-Identifier: Apache-2.0
 *
 * Applies a configuration that is read while the daemon runs (SIGHUP). The row of each option in
 * the table says whether a change takes effect at once or at the next start. Main thread.
 */
#ifndef NB_CONFIG_CHANGES_H
#define NB_CONFIG_CHANGES_H

#include "config/option_table.h"
#include "core/base/error.h"

/* Called for each option whose value differs. `is_unset`: the new value is the default, the running
 * one was not. This reveals a file that was emptied or half written but has no syntax error. */
typedef void nb_config_changed(void *user, const struct nb_option *option, bool is_unset);

/* Turns `next` into a configuration that a daemon running with `running` can switch to: options
 * that need a restart keep the running value. Calls `changed` for every option whose value in
 * `next` differed, including those that need a restart. Returns 0 or NB_NO_MEMORY, after which
 * `next` is not usable. */
int nb_config_carry_over(struct nb_config *next, const struct nb_config *running,
                         nb_config_changed *changed, void *user, struct nb_error *error);

#endif
