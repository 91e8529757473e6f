/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of the daemon: reads and prints the values of all options (option_table.h). The
 * main thread loads it once; after that it is read-only, for any thread.
 *
 * The usual order, in which later sources override earlier ones: defaults, file, environment
 * (BAYESD_GROUP_KEY), command line.
 */
#ifndef NB_CONFIG_CONFIG_H
#define NB_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/option_table.h"
#include "core/base/error.h"

/* Sets every option to its default. Returns 0, or NB_NO_MEMORY, after which nothing is owned. */
int nb_config_init(struct nb_config *config, struct nb_error *error);

/* Frees the strings. */
void nb_config_deinit(struct nb_config *config);

/* Reads a file. Returns 0; NB_INVALID for a syntax error, an unknown group or key, or a value that
 * is wrong or out of range, with "FILE:LINE: what is wrong, what would be right"; or a code for a
 * file that cannot be read. After an error some options are already set, so the configuration is
 * not usable.
 */
int nb_config_load(struct nb_config *config, const char *path, struct nb_error *error);

/* Like nb_config_load, for text in memory, for tests and fuzzing; `path` is used in messages
 * only. */
int nb_config_parse(struct nb_config *config, const char *text, size_t length, const char *path,
                    struct nb_error *error);

/* Reads the variables BAYESD_GROUP_KEY. Any other variable BAYESD_... is NB_INVALID. */
int nb_config_environment(struct nb_config *config, char *const *environment,
                          struct nb_error *error);

/* Sets one option from text as in the file. Error messages begin with `where` ("--listen"). */
int nb_config_set(struct nb_config *config, const char *group, const char *key, const char *text,
                  const char *where, struct nb_error *error);

/* Writes the configuration as a file that nb_config_parse reads back. With `help` the file has the
 * help texts, and options at their defaults are commented out; config/bayesd.conf is such a file.
 * Returns 0, NB_IO or NB_NO_MEMORY. */
int nb_config_print(const struct nb_config *config, bool help, FILE *out);

/* The rest applies a configuration that is read while the daemon runs (SIGHUP). The row of each
 * option in the table says whether a change takes effect at once or at the next start. Main
 * thread. */

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
