/* SPDX-License-Identifier: Apache-2.0
 *
 * A mail as the mail server hands it over, piece by piece: its envelope, its header fields and its
 * body, put together again for bayesd. Knows neither libmilter nor libcurl. A mail belongs to one
 * thread at a time.
 */
#ifndef NB_MILTER_MILTER_MAIL_H
#define NB_MILTER_MILTER_MAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

/* The header field that this filter adds. If a mail brings this field, it is forged and gets
 * removed. */
#define NB_MILTER_STATUS "X-Bayes-Status"

enum {
    /* An SMTP command line has 512 bytes (RFC 5321, 4.5.3.1.4), extensions add to it. */
    NB_MILTER_FIELD = 1024,
    /* Most bytes of recipients that are sent; if a mail has more, none is sent. A mail may have
     * thousands of recipients, and servers limit the header of a request. */
    NB_MILTER_RECIPIENTS = 8192,
    NB_MILTER_HIDDEN = 16 /* most fields that hide others; a mail with more is foul */
};

struct nb_milter_mail {
    /* Members of the connection; "" where unknown. */
    char address[NB_MILTER_FIELD];
    char hostname[NB_MILTER_FIELD];
    char helo[NB_MILTER_FIELD];
    char server[NB_MILTER_FIELD]; /* the mail server's own name */
    /* Members of the mail. */
    char sender[NB_MILTER_FIELD];
    char user[NB_MILTER_FIELD]; /* the user who logged in */
    char queue_id[NB_MILTER_FIELD];
    char recipient[NB_MILTER_FIELD]; /* the first recipient */
    size_t recipient_count;
    struct nb_buffer recipients; /* header lines "Rcpt: ...", in the form of nb_call_request ... */
    bool has_more;               /* ... without those that did not fit */
    struct nb_buffer message;
    size_t most;        /* bytes that `message` may have */
    size_t header_size; /* bytes of the header in it; 0 until the header is complete */
    size_t forged;      /* number of fields NB_MILTER_STATUS that the mail brings */
    /* Fields that hide a field NB_MILTER_STATUS in their value, behind a bare CR, which some
     * readers take for the end of a line. Each is stored as its name, its place among the fields of
     * that name in decimal, and its value without bare CRs; each of the three with a NUL. */
    struct nb_buffer hidden;
    size_t hidden_count;
    bool is_foul;   /* it has more than NB_MILTER_HIDDEN hidden fields */
    bool is_cut;    /* `message` has only its first bytes */
    bool is_broken; /* memory ran out: the mail cannot be checked */
};

/* Forgets the mail, and keeps what belongs to the connection. */
void nb_milter_mail_reset(struct nb_milter_mail *mail);

/* Sets one of the fields; control characters become '?'. NULL and texts that do not fit are stored
 * as "". */
void nb_milter_mail_set(char field[NB_MILTER_FIELD], const char *text);

/* Adds a recipient. */
void nb_milter_mail_recipient(struct nb_milter_mail *mail, const char *recipient);

/* Adds a header field. The value may be folded; its line ends become CRLF. */
void nb_milter_mail_field(struct nb_milter_mail *mail, const char *name, const char *value);

/* Adds the empty line behind the header. */
void nb_milter_mail_header_end(struct nb_milter_mail *mail);

/* Adds a piece of the body. Returns whether there is room for more of it. */
bool nb_milter_mail_body(struct nb_milter_mail *mail, const void *bytes, size_t length);

/* Returns the number of header fields with this name in `message`, in upper or lower case. */
size_t nb_milter_mail_count(const struct nb_milter_mail *mail, const char *name);

/* Appends the header lines of the request about the mail (rspamd's protocol), in the form of
 * nb_call_request. Returns 0 or NB_NO_MEMORY. */
int nb_milter_mail_lines(const struct nb_milter_mail *mail, struct nb_buffer *out);

#endif
