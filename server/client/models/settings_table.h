/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of a model as a table for people. One thread.
 */
#ifndef NB_CLIENT_SETTINGS_TABLE_H
#define NB_CLIENT_SETTINGS_TABLE_H

#include <jansson.h>

/* Prints the members of an object, a name and a value in each line, on standard output. */
void nb_settings_table_print(json_t *settings);

#endif
