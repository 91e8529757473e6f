/* SPDX-License-Identifier: Apache-2.0
 *
 * One request and what is printed of its reply, as a description: the path, the options that go
 * into the query and the body, the text for people. Most commands are one exchange, others make
 * several. Main thread.
 */
#ifndef NB_CLIENT_EXCHANGE_H
#define NB_CLIENT_EXCHANGE_H

#include "server/client/base/flags.h"

/* A parameter of the query, or a member of the body, and the option that it is filled from. */
struct nb_exchange_field {
    const char *name;
    enum nb_flag_type type; /* of the option; a switch, a text or a list is sent if it is given */
    size_t offset;          /* of the option */
    bool is_optional;       /* a count of 0 is not sent */
};

enum { NB_EXCHANGE_FIELDS = 8 /* of a query, and of a body */ };

struct nb_exchange_input;

struct nb_exchange {
    const char *method;
    const char *path; /* "{model}" and "{0}" to "{9}", arguments, are put in percent-encoded */
    struct nb_exchange_field query[NB_EXCHANGE_FIELDS]; /* the first one without a name ends them */
    struct nb_exchange_field body[NB_EXCHANGE_FIELDS];
    /* What is to be done first, for example a question to the person; else NULL. Returns 0 or a
     * code, with which the exchange fails. */
    int (*before)(const struct nb_exchange_input *asked, struct nb_error *error);
    /* The reply for people: `print`, or `text` if that is NULL (nb_exchange_text). Without either
     * it is printed as JSON in any case. */
    void (*print)(const struct nb_exchange_input *asked, json_t *reply);
    const char *text;
};

/* What an exchange is about. All is borrowed. */
struct nb_exchange_input {
    const struct nb_client *client;
    const void *options;
    char **arguments; /* without the name of the model */
    size_t count;
    json_t *body; /* the body to begin with; NULL: an empty one if the exchange has fields */
    struct nb_call *call; /* the connection to use; NULL: one for this request */
    const char *after;    /* the page behind this one; NULL: the first one */
    const char *headers;  /* one further header line, or NULL */
    size_t headers_size;  /* with its NUL */
    const char *type;     /* media type of a body that is given piece by piece; else NULL */
    ssize_t (*give)(void *user, char *bytes, size_t room); /* see struct nb_call_request */
    void *user;
};

/* The members that every command fills, as an initializer. */
#define NB_ASKED(by, its_options, words, word_count)                                               \
    .client = (by), .options = (its_options), .arguments = (words), .count = (word_count)

/* Makes the request: checks a source, does what is to be done first, asks. *reply is owned by the
 * caller; NULL for an empty one. Returns 0, NB_CLIENT_USAGE for what cannot be sent, or a code of
 * nb_call_json. */
int nb_exchange_ask(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                    json_t **reply, struct nb_error *error);

/* Prints a reply, as JSON if the client's options say so. Returns 0 or NB_IO. */
int nb_exchange_show(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                     json_t *reply, struct nb_error *error);

/* Both. */
int nb_exchange_run(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                    struct nb_error *error);

/* Asks for all pages of a listing, and gives each to `take`, whose code other than 0 ends it. A
 * page names the next one by its member "next". Returns 0, or NB_CALL_PROTOCOL when the listing
 * does not advance, or as nb_exchange_ask. */
int nb_exchange_pages(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                      int (*take)(void *user, json_t *page, struct nb_error *error), void *user,
                      struct nb_error *error);

/* Prints a text on standard output. In it stand for: "{model}" the model, "{0}" to "{9}" an
 * argument, "{a.b}" the text b of the member a of the reply, "{#a.b}" a count, with commas. A line
 * that begins with "{?a.b}" is printed only if there is such a member, other than 0 and "". */
void nb_exchange_text(const char *text, const struct nb_exchange_input *asked, const json_t *reply);

#endif
