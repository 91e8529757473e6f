/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 (RFC 4648, section 4) of documents. Pure functions; any thread.
 */
#ifndef NB_SERVER_JSON_BASE64_H
#define NB_SERVER_JSON_BASE64_H

#include <stddef.h>

#include "core/base/string.h"

/* Decodes `text`, which ends with its padding, into `out`, which has room for `room` bytes. White
 * space (" \t\r\n") is passed over anywhere. Sets *length to the number of bytes. Returns NULL, or
 * where it met what is not base64, or did not fit: somewhere in `text`, its end included.
 *
 * Accepts what sodium_base642bin accepts, in a sixth of the time: a batch of mails is mostly
 * base64. For secrets sodium_base642bin is the right one: this takes time by what it reads. */
const char *nb_base64_decode(struct nb_string text, unsigned char *out, size_t room,
                             size_t *length);

#endif
