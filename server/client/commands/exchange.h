/* SPDX-License-Identifier: Apache-2.0
 *
 * An exchange describes one request and how its reply is printed: the path, the options that go
 * into the query and the body, and the text for people. Most commands are one exchange, others make
 * several. Main thread.
 */
#ifndef NB_CLIENT_EXCHANGE_H
#define NB_CLIENT_EXCHANGE_H

#include "server/client/base/flags.h"

/* A parameter of the query, or a member of the body, and the option that gives its value. */
struct nb_exchange_field {
    const char *name;
    enum nb_flag_type type; /* of the option; a switch, a text or a list is sent if it is given */
    size_t offset;          /* of the option */
    bool is_optional;       /* a count of 0 is not sent */
};

enum { NB_EXCHANGE_FIELDS = 8 /* most fields of a query, and of a body */ };

struct nb_exchange_input;

struct nb_exchange {
    const char *method;
    const char *path; /* "{model}" and the arguments "{0}" to "{9}" are inserted percent-encoded */
    struct nb_exchange_field query[NB_EXCHANGE_FIELDS]; /* end at the first one without a name */
    struct nb_exchange_field body[NB_EXCHANGE_FIELDS];
    /* Adds members to the body that are not options, before those of `body`; or NULL. Returns 0, or
     * a code with which the exchange fails. */
    int (*fill)(const struct nb_exchange_input *asked, json_t *body, struct nb_error *error);
    /* Runs before the request, for example to ask the person a question; or NULL. Returns 0, or a
     * code with which the exchange fails. */
    int (*before)(const struct nb_exchange_input *asked, struct nb_error *error);
    /* Prints the reply for people; if NULL, `text` is printed (nb_exchange_text). Without either
     * the reply is always printed as JSON. */
    void (*print)(const struct nb_exchange_input *asked, json_t *reply);
    const char *text;
};

/* The input of an exchange. All members are borrowed. */
struct nb_exchange_input {
    const struct nb_client *client;
    const void *options;
    char **arguments; /* without the name of the model */
    size_t count;
    json_t *body; /* the body to begin with; NULL: an empty one if the exchange has fields */
    struct nb_call *call; /* the connection to use; NULL: one for this request */
    const char *after;    /* ask for the page after this one; NULL: for the first page */
    const char *headers;  /* one further header line, or NULL */
    size_t headers_size;  /* bytes, including the NUL */
    const char *type;     /* media type of a body that is given piece by piece; else NULL */
    ssize_t (*give)(void *user, char *bytes, size_t room); /* see struct nb_call_request */
    void *user;
};

/* An initializer with the members that every command fills. */
#define NB_ASKED(by, its_options, words, word_count)                                               \
    .client = (by), .options = (its_options), .arguments = (words), .count = (word_count)

/* Checks the source, calls `before`, then makes the request. *reply is owned by the caller; NULL
 * for an empty reply. Returns 0, NB_CLIENT_USAGE for values that cannot be sent, or a code of
 * nb_call_json. */
int nb_exchange_ask(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                    json_t **reply, struct nb_error *error);

/* Prints a reply, as JSON if the client's options say so. Returns 0 or NB_IO. */
int nb_exchange_show(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                     json_t *reply, struct nb_error *error);

/* Makes the request (nb_exchange_ask) and prints the reply (nb_exchange_show). */
int nb_exchange_run(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                    struct nb_error *error);

/* Asks for all pages of a listing and gives each to `take`; a code other than 0 from `take` ends
 * the listing. A page names the next page in its member "next". Returns 0, what `take` returned,
 * NB_CALL_PROTOCOL when the listing does not advance, or a code of nb_exchange_ask. */
int nb_exchange_pages(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                      int (*take)(void *user, json_t *page, struct nb_error *error), void *user,
                      struct nb_error *error);

/* Asks for all pages of a listing and gathers the elements of their member `name` in `all`, an
 * array. Returns as nb_exchange_pages. */
int nb_exchange_all(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                    const char *name, json_t *all, struct nb_error *error);

/* For a command that cannot be undone: asks the person a printf-formatted question, unless
 * `is_sure`. Returns 0 when the answer is yes, NB_INVALID when it is no, or NB_CLIENT_USAGE when
 * nobody can be asked; `what` then says what would be lost. `done` is a word for messages:
 * "deleted". */
int nb_exchange_confirm(bool is_sure, const char *what, const char *done, struct nb_error *error,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Asks the person at a terminal whether a model is to be made, if the client's model does not exist
 * but one with nearly the same name does. Returns 0, NB_INVALID when the answer is no, or a code of
 * nb_call_make. */
int nb_exchange_check_model(const struct nb_client *client, struct nb_error *error);

/* Prints a text on standard output. Replaces "{model}" by the model, "{0}" to "{9}" by an argument,
 * "{a.b}" by the text b in the member a of the reply, "{#a.b}" by a count with commas, and "{a.b
 * document}" by a count with this noun (nb_counted). Prints a line that begins with "{?a.b}" only
 * if this member exists and is neither 0 nor "". */
void nb_exchange_text(const char *text, const struct nb_exchange_input *asked, const json_t *reply);

#endif
