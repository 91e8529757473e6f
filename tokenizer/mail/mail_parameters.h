/* SPDX-License-Identifier: Apache-2.0
 *
 * Repairs fields with parameters before they are parsed (RFC 2045, 5.1). Pure functions; any
 * thread.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_PARAMETERS_H
#define NB_TOKENIZER_MAIL_MAIL_PARAMETERS_H

#include "core/base/buffer.h"

/* Copies the value of a field to `to`, and adds the missing semicolons before parameters with
 * well-known names: "text/html charset=x", "text/html, charset=x". Quoted text and comments stay
 * unchanged. `to` has room for 2 * value.length bytes. Returns the number of bytes written. */
size_t nb_mail_mend_parameters(struct nb_string value, char *to);

#endif
