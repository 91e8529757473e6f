/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes any bytes as a JSON string. Any thread.
 */
#ifndef NB_CLIENT_QUOTE_H
#define NB_CLIENT_QUOTE_H

#include "core/base/buffer.h"

/* Appends a text in quotes, escaped where JSON needs it (RFC 8259, section 7); each byte that is
 * not UTF-8 becomes U+FFFD. Returns 0 or NB_NO_MEMORY, which may leave a part of the text in
 * `out`. */
int nb_quote(struct nb_string text, struct nb_buffer *out);

#endif
