/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes the transfer encodings base64 and quoted-printable (RFC 2045, section 6) of bodies and of
 * encoded words. Pure functions; any thread. No input is an error: a body that is not encoded,
 * although its header says so, is taken as text.
 *
 * GMime is not used: some versions of its base64 decoder lose the last bytes where the padding is
 * missing.
 */
#ifndef NB_TOKENIZER_TRANSFER_ENCODING_H
#define NB_TOKENIZER_TRANSFER_ENCODING_H

#include "core/base/buffer.h"

/* Appends a base64 body. Padding may be missing or stand in the middle, and bytes outside the
 * alphabet are skipped (RFC 2045, 6.8). Lines that are no base64 are appended unchanged: the footer
 * of a mailing list, or the whole body of a mail whose header wrongly says base64. The time is
 * linear. Returns 0 or NB_NO_MEMORY. */
int nb_transfer_base64_body(struct nb_string body, struct nb_buffer *out);

/* Appends the bytes of one piece of base64, as in an encoded word (RFC 2047, 4.1). Returns 0 or
 * NB_NO_MEMORY. */
int nb_transfer_base64(struct nb_string piece, struct nb_buffer *out);

/* Appends a quoted-printable body. Blanks between the '=' of a soft line break and the end of the
 * line are dropped (RFC 2045, 6.7, rule 3); a '=' that begins no escape is copied. Returns 0 or
 * NB_NO_MEMORY. */
int nb_transfer_quoted_printable(struct nb_string body, struct nb_buffer *out);

#endif
