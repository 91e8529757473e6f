/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of [filter], held against each other. Pure functions; any thread.
 */
#ifndef NB_SERVER_FILTER_FILTER_CONFIG_H
#define NB_SERVER_FILTER_FILTER_CONFIG_H

#include "core/base/error.h"

struct nb_config;

/* Whether the options of [filter] go together. NB_INVALID says which do not. */
int nb_filter_check_config(const struct nb_config *config, struct nb_error *error);

#endif
