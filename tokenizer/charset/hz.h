/* SPDX-License-Identifier: Apache-2.0
 *
 * HZ (RFC 1843), in which Chinese mail was written where 8 bits did not arrive. iconv of glibc does
 * not have it. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_CHARSET_HZ_H
#define NB_TOKENIZER_CHARSET_HZ_H

#include "core/base/buffer.h"

/* Appends the text as GB 18030: at most `length` bytes. What is no sequence of HZ stands for
 * itself. Returns 0 or NB_NO_MEMORY. */
int nb_hz_to_gb(const char *bytes, size_t length, struct nb_buffer *out);

#endif
