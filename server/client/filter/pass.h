/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes a mail from standard input to standard output. Uses read(2) and write(2), not stdio:
 * nothing is held back in a buffer when the program ends. Main thread.
 */
#ifndef NB_CLIENT_PASS_H
#define NB_CLIENT_PASS_H

#include "core/base/buffer.h"

/* Appends standard input to `mail`, up to NB_ITEM_MOST bytes. Returns 0 with the whole mail, 1 when
 * the mail is longer or memory ran out (the bytes read so far are kept), or NB_IO. */
int nb_pass_read(struct nb_buffer *mail);

/* Writes all bytes to standard output. Returns 0 or NB_IO. */
int nb_pass_write(const char *bytes, size_t length);

/* Copies the rest of standard input to standard output. Returns 0 or NB_IO. */
int nb_pass_copy(void);

#endif
