/* SPDX-License-Identifier: Apache-2.0
 *
 * The identity of a mail: an id that stays the same while the mail travels, is read, moved and
 * marked. A mail that is sent without an id gets this one. Any thread.
 *
 * The identity covers the parts that the sender wrote:
 * - Message-ID, From, Date and Subject (RFC 5322, 3.6): the first field of each name, unfolded,
 * with each run of blanks as one blank. Marks of spam filters at the beginning of the Subject
 * ("[SPAM]",
 *   "***SPAM***") are left out, because a filter adds them on the way.
 * - The text of each part without its transfer encoding, because a mail server may choose another
 *   one (RFC 6152, section 3). Left out are CR and blanks at the end of a line, ">" before "From ",
 *   which an mbox adds (RFC 4155), and empty lines at the end of the text.
 *
 * The identity does not cover anything that hops, filters and mailboxes add or change: all other
 * fields (Received, Return-Path, Delivered-To, Status, X-...), the separator line of an mbox, line
 * ends, the case of field names, boundaries and the header fields of parts, preambles and
 * epilogues.
 *
 * So two mails are the same document if a reader would take them for the same mail. Two mails with
 * the same forged Message-ID are two documents, unless all the rest is the same as well. If a
 * mailing list adds a footer, the mail becomes another document, because its text differs. The same
 * holds if a mail server adds a missing Message-ID or Date; but that happens before delivery, when
 * nobody has trained the mail yet.
 */
#ifndef NB_TOKENIZER_MAIL_IDENTITY_H
#define NB_TOKENIZER_MAIL_IDENTITY_H

#include "core/base/buffer.h"
#include "core/base/key.h"

enum { NB_MAIL_IDENTITY_PARTS = 1000 }; /* after this many parts, the raw rest counts as one part */

/* Writes the identity as an id under the key: 128 bits of keyed BLAKE2b, so that nobody without the
 * key can write a mail with the id of another mail (nb_key_content_id). No input is an error. Takes
 * time linear in the length of the mail. Returns 0 or NB_NO_MEMORY. */
int nb_mail_identity(const struct nb_key *key, struct nb_string mail,
                     char id[NB_CONTENT_ID_LENGTH + 1]);

#endif
