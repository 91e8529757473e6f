/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts one value of the configuration from text and to text. For config/ and its tests only. A
 * configuration belongs to one thread while it is filled.
 */
#ifndef NB_CONFIG_VALUE_H
#define NB_CONFIG_VALUE_H

#include "config/option_table.h"
#include "core/base/buffer.h"
#include "core/base/error.h"

/* Sets the member of `config` for an option from `text`; an old string is freed. Returns 0,
 * NB_NO_MEMORY, or NB_INVALID with "WHERE: [GROUP] KEY: what is wrong; what would be right". After
 * an error the member is unchanged. */
int nb_value_set(struct nb_config *config, const struct nb_option *option, const char *text,
                 const char *where, struct nb_error *error);

/* Frees the string of an option, if it has one. */
void nb_value_free(struct nb_config *config, const struct nb_option *option);

/* Whether the option takes arbitrary text: its member is a string. */
bool nb_value_is_text(const struct nb_option *option);

/* Appends the value in the form that nb_value_set reads, with sizes in the largest unit that
 * divides them. Returns 0 or NB_NO_MEMORY. */
int nb_value_print(const struct nb_config *config, const struct nb_option *option,
                   struct nb_buffer *out);

/* Appends the allowed values: "0 to 1024", "yes or no", "error, warning, info or debug". Returns 0
 * or NB_NO_MEMORY. */
int nb_value_range(const struct nb_option *option, struct nb_buffer *out);

/* Returns the position of the first byte that a configuration must not contain: a control character
 * other than tab, or a byte that is not UTF-8. Returns `length` if there is none. */
size_t nb_value_bad_byte(const char *text, size_t length);

#endif
