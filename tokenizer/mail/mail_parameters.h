/* SPDX-License-Identifier: Apache-2.0
 *
 * Mends fields with parameters before they are parsed (RFC 2045, 5.1). Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_PARAMETERS_H
#define NB_TOKENIZER_MAIL_MAIL_PARAMETERS_H

#include "core/base/buffer.h"

/* Copies the value of a field to `to` with the semicolons that are missing before parameters of
 * well-known names: "text/html charset=x", "text/html, charset=x". What is in quotes or comments
 * stays. `to` has room for 2 * value.length bytes. Returns how many it took. */
size_t nb_mail_mend_parameters(struct nb_string value, char *to);

#endif
