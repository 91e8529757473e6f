/* SPDX-License-Identifier: Apache-2.0
 *
 * What the receiving mail server knows about a mail, as values of categories: the envelope and the
 * results of the SPF, DKIM and DMARC checks. They come from the envelope that arrived with the
 * mail, or else from the server's own header fields, so that a stored mail gives the same values
 * when it is learned. Fields of other servers are ignored, because anybody can write them. Any
 * thread; the values of a mail belong to one.
 */
#ifndef NB_TOKENIZER_MAIL_VALUES_H
#define NB_TOKENIZER_MAIL_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/attribute.h"
#include "core/base/string.h"

enum nb_mail_value {
    NB_MAIL_SPF,
    NB_MAIL_DKIM,
    NB_MAIL_DMARC,
    NB_MAIL_CLIENT,    /* network of the client: 203.0.113.0/24, 2001:db8:1::/48 */
    NB_MAIL_HELO,      /* name by which the client introduced itself */
    NB_MAIL_SENDER,    /* domain of the envelope's sender; "<>" for a bounce */
    NB_MAIL_RECIPIENT, /* address of the recipient, if there is only one */
    NB_MAIL_VALUES
};

/* The attribute names of these values, by number. */
extern const char *const nb_mail_value_names[NB_MAIL_VALUES];

/* The envelope of a mail as in SMTP, from its mail server. A member of length 0 is unknown. All is
 * borrowed. */
struct nb_envelope {
    struct nb_string address; /* the client's address: "203.0.113.7", "[2001:db8::7]:25" */
    struct nb_string helo;
    struct nb_string sender;    /* "<a@b>", "a@b"; "<>" */
    struct nb_string recipient; /* if there is only one */
};

struct nb_mail_values {
    struct nb_string server; /* name of the mail server; borrowed */
    bool has_envelope; /* the values of the envelope are known, and not read from the header */
    bool has_own; /* a field of the server was seen, or the envelope shows that it has added none */
    bool has_border; /* the server's Received field for the hop from outside was seen */
    bool is_foreign; /* the remaining fields are older, so other servers may have written them */
    struct nb_mail_known {
        char text[NB_CATEGORY_MOST];
        size_t length; /* 0: unknown */
    } known[NB_MAIL_VALUES];
};

/* Begins with an envelope (NULL: none). If the envelope has a client, a HELO name or a sender, the
 * server has not added its own Received field to the mail yet. */
void nb_mail_values_begin(struct nb_mail_values *values, struct nb_string server,
                          const struct nb_envelope *envelope);

/* Takes the fields of the mail's header, from the first on. The server's own fields are Received
 * with its name behind "by", Authentication-Results with its name as authserv-id (RFC 8601),
 * Received-SPF with its name as receiver (RFC 7208, 9.1), and Return-Path, as far as they stand
 * above the first Received of another server. Takes time linear in the length of the value, of
 * which at most 2 KB are read. */
void nb_mail_values_field(struct nb_mail_values *values, struct nb_string name,
                          struct nb_string value);

#endif
