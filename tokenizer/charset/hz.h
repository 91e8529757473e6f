/* SPDX-License-Identifier: Apache-2.0
 *
 * HZ (RFC 1843), the encoding of Chinese mail for 7-bit transports. The iconv of glibc lacks it.
 * Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_CHARSET_HZ_H
#define NB_TOKENIZER_CHARSET_HZ_H

#include "core/base/buffer.h"

/* Appends the text as GB 18030: at most `length` bytes. Bytes that are no HZ sequence are copied.
 * Returns 0 or NB_NO_MEMORY. */
int nb_hz_to_gb(const char *bytes, size_t length, struct nb_buffer *out);

#endif
