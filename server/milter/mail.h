/* SPDX-License-Identifier: Apache-2.0
 *
 * A mail as the mail server tells of it, piece by piece: who delivers it to whom, its header fields
 * and its body, put together again for bayesd. Knows neither libmilter nor libcurl. A mail belongs
 * to one thread at a time.
 */
#ifndef NB_MILTER_MAIL_H
#define NB_MILTER_MAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

/* The header field that this filter adds, and that nobody else may. */
#define NB_MILTER_STATUS "X-Bayes-Status"

enum {
    /* An SMTP command line has 512 bytes (RFC 5321, 4.5.3.1.4), extensions add to it. */
    NB_MILTER_FIELD = 1024,
    /* Recipients are sent as far as they fit: a mail may have thousands, and a server bounds the
     * header of a request. */
    NB_MILTER_RECIPIENTS = 8192
};

struct nb_milter_mail {
    /* Of the connection; "" where unknown. */
    char address[NB_MILTER_FIELD];
    char hostname[NB_MILTER_FIELD];
    char helo[NB_MILTER_FIELD];
    char server[NB_MILTER_FIELD]; /* the mail server's own name */
    /* Of the mail. */
    char sender[NB_MILTER_FIELD];
    char user[NB_MILTER_FIELD]; /* who logged in */
    char queue_id[NB_MILTER_FIELD];
    char recipient[NB_MILTER_FIELD]; /* the first */
    size_t recipient_count;
    struct nb_buffer recipients; /* header lines "Rcpt: ..." as nb_call_request has them */
    struct nb_buffer message;
    size_t most;        /* bytes that `message` may have */
    size_t header_size; /* how much of it is the header, once that is complete */
    size_t forged;      /* fields named NB_MILTER_STATUS that it came with */
    bool is_cut;        /* not all of it fitted into `message` */
    bool is_broken;     /* memory ran out: there is no verdict to be had */
};

/* Forgets the mail; what is known of the connection stays. */
void nb_milter_mail_reset(struct nb_milter_mail *mail);

/* Sets one of the fields; control characters become '?'. NULL, and what is too long to be sent
 * whole, is "". */
void nb_milter_mail_set(char field[NB_MILTER_FIELD], const char *text);

void nb_milter_mail_recipient(struct nb_milter_mail *mail, const char *recipient);

/* A header field; the value may be folded, by line feeds alone. */
void nb_milter_mail_field(struct nb_milter_mail *mail, const char *name, const char *value);

/* The empty line behind the header. */
void nb_milter_mail_header_end(struct nb_milter_mail *mail);

/* A piece of the body. Returns whether more of it would be of use. */
bool nb_milter_mail_body(struct nb_milter_mail *mail, const void *bytes, size_t length);

/* How many header fields of this name the mail has, as far as it is in `message`. */
size_t nb_milter_mail_count(const struct nb_milter_mail *mail, const char *name);

/* Appends the header lines of the request about the mail (rspamd's protocol) as
 * nb_call_request has them. NB_NO_MEMORY. */
int nb_milter_mail_lines(const struct nb_milter_mail *mail, struct nb_buffer *out);

#endif
