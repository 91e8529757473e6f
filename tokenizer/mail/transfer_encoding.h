/* SPDX-License-Identifier: Apache-2.0
 *
 * Undoes the transfer encodings base64 and quoted-printable (RFC 2045, section 6) of bodies and of
 * encoded words. Pure functions; any thread. No input is an error: what is not encoded, although
 * the header says so, is text.
 *
 * Not by GMime, whose decoder of base64 loses the last bytes where the padding is missing, in some
 * versions and not in others.
 */
#ifndef NB_TOKENIZER_MAIL_TRANSFER_ENCODING_H
#define NB_TOKENIZER_MAIL_TRANSFER_ENCODING_H

#include "core/base/buffer.h"

/* Appends a base64 body. Padding may be missing or stand in the middle, and what is not of the
 * alphabet is skipped (RFC 2045, 6.8). Lines that are no base64 are appended as they stand: the
 * footer that a list added behind it, or the whole body of a program that only said base64. The
 * time is linear. Returns 0 or NB_NO_MEMORY. */
int nb_transfer_base64_body(struct nb_string body, struct nb_buffer *out);

/* Appends the bytes of one piece of base64, as in an encoded word (RFC 2047, 4.1). Returns 0 or
 * NB_NO_MEMORY. */
int nb_transfer_base64(struct nb_string piece, struct nb_buffer *out);

/* Appends a quoted-printable body. Blanks between the '=' of a soft line break and the end of the
 * line are dropped (RFC 2045, 6.7, rule 3); a '=' that begins nothing stands for itself. Returns 0
 * or NB_NO_MEMORY. */
int nb_transfer_quoted_printable(struct nb_string body, struct nb_buffer *out);

#endif
