/* SPDX-License-Identifier: Apache-2.0
 *
 * One value of the configuration, from text and to text. For config/ and its tests only. Any
 * thread; a configuration belongs to one thread while it is being filled.
 */
#ifndef NB_CONFIG_VALUE_H
#define NB_CONFIG_VALUE_H

#include "config/config.h"
#include "core/base/buffer.h"

/* Sets the option's member of `config` from `text`; the old string is freed. On failure the member
 * is as before. Returns 0, NB_NO_MEMORY, or NB_INVALID with
 * "WHERE: [GROUP] KEY: what was wrong; what is right". */
int nb_value_set(struct nb_config *config, const struct nb_option *option, const char *text,
                 const char *where, struct nb_error *error);

/* Frees what the member owns. */
void nb_value_free(struct nb_config *config, const struct nb_option *option);

/* Appends the member as nb_value_set reads it: sizes in the largest unit that divides them.
 * Returns 0 or NB_NO_MEMORY. */
int nb_value_print(const struct nb_config *config, const struct nb_option *option,
                   struct nb_buffer *out);

/* Appends what may be written: "0 to 1024", "yes or no", "error, warning, info or debug". Returns 0
 * or NB_NO_MEMORY. */
int nb_value_range(const struct nb_option *option, struct nb_buffer *out);

/* Offset of the first byte that has no place in a configuration: a control character other than
 * tab, or one that is not UTF-8. `length` if there is none. */
size_t nb_value_bad_byte(const char *text, size_t length);

#endif
