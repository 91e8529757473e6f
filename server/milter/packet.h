/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the packets of a mail server before libmilter reads them. libmilter believes what it is
 * sent: a macro without its value makes smfi_getsymval(3) read behind an array. Pure functions; any
 * thread.
 *
 * A packet (libmilter/mfdef.h of Sendmail) is its length in 4 bytes, most significant first, the
 * letter of the command, which the length counts, and its data.
 */
#ifndef NB_MILTER_PACKET_H
#define NB_MILTER_PACKET_H

#include "core/base/error.h"
#include "core/base/string.h"

enum {
    NB_PACKET_HEAD = 4, /* bytes of the length */
    /* What the length may say. Pieces of a body have 65,536; Postfix sends a header field whole, up
     * to its header_size_limit, by default 102,400. */
    NB_PACKET_MOST = 256 * 1024,
    NB_PACKET_MORE = 1 /* the packet is not complete */
};

/* Looks at the packet that begins at `bytes`. Returns 0 with the bytes that it takes, its head
 * included; NB_PACKET_MORE; or NB_INVALID: the protocol has no such packet. */
int nb_packet_check(struct nb_string bytes, size_t *size, struct nb_error *error);

#endif
