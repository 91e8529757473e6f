/* SPDX-License-Identifier: Apache-2.0
 *
 * What the mail server that received a mail knows of it, as values of categories: the envelope, and
 * what its checks of SPF, DKIM and DMARC gave. From the envelope that came with the mail, or else
 * from the header fields of the server itself, so that a stored mail gives the same values when it
 * is learned. What other servers wrote counts for nothing: anybody can write it. Any thread; the
 * values of a mail belong to one.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_VALUES_H
#define NB_TOKENIZER_MAIL_MAIL_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/attribute.h"
#include "core/base/string.h"

enum nb_mail_value {
    NB_MAIL_SPF,
    NB_MAIL_DKIM,
    NB_MAIL_DMARC,
    NB_MAIL_CLIENT,    /* network of the client: 203.0.113.0/24, 2001:db8:1::/48 */
    NB_MAIL_HELO,      /* what it called itself */
    NB_MAIL_SENDER,    /* domain of the envelope's sender; "<>" of a bounce */
    NB_MAIL_RECIPIENT, /* address of the recipient, where there is one alone */
    NB_MAIL_VALUES
};

/* The names of the fields that take them, by number. */
extern const char *const nb_mail_value_names[NB_MAIL_VALUES];

/* The envelope of a mail as its mail server tells it, each as in SMTP; of length 0: not told. All
 * is borrowed. */
struct nb_envelope {
    struct nb_string address; /* of the client: "203.0.113.7", "[2001:db8::7]:25" */
    struct nb_string helo;
    struct nb_string sender;    /* "<a@b>", "a@b"; "<>" */
    struct nb_string recipient; /* the only one */
};

struct nb_mail_values {
    struct nb_string server; /* name of the mail server; borrowed */
    bool has_envelope;       /* the header is not asked for one */
    bool has_own;            /* a field of the server has been seen, or would be if it had any */
    bool has_border;         /* so has its Received field of the hop from outside */
    bool is_foreign;         /* the fields from here on are older than that */
    struct nb_mail_known {
        char text[NB_CATEGORY_MOST];
        size_t length; /* 0: unknown */
    } known[NB_MAIL_VALUES];
};

/* Begins with an envelope (NULL: none). Where it tells client, name or sender, the server's own
 * Received field is not in the mail yet. */
void nb_mail_values_begin(struct nb_mail_values *values, struct nb_string server,
                          const struct nb_envelope *envelope);

/* Takes the fields of the mail's header, from the first on. Own fields are Received with
 * the server's name behind "by", Authentication-Results with that name as authserv-id (RFC 8601),
 * Received-SPF with it as receiver (RFC 7208, 9.1), and Return-Path, which stand above the first
 * Received of another server. Takes time in proportion to the length of the value, of which 2 KB
 * are read. */
void nb_mail_values_field(struct nb_mail_values *values, struct nb_string name,
                          struct nb_string value);

#endif
