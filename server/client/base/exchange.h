/* SPDX-License-Identifier: Apache-2.0
 *
 * An exchange describes one request and how its reply is printed: the path, the options that go
 * into the query and the body, the columns of a table and the text for people. Most commands are
 * one exchange, others make several. Main thread.
 */
#ifndef NB_SERVER_CLIENT_BASE_EXCHANGE_H
#define NB_SERVER_CLIENT_BASE_EXCHANGE_H

#include "server/client/base/flags.h"

enum { NB_EXCHANGE_FIELDS = 8 /* most fields of a query, and of a body */ };

struct nb_exchange {
    const char *method;
    const char *path; /* "{model}" and the arguments "{0}" to "{9}" are inserted percent-encoded */
    /* The parameters of the query and the members of the body: each the name of a flag of the
     * command whose value is sent, or "NAME=FLAG" to send it under another name. They end at NULL.
     * A flag that was not given and has no usual value is left out. */
    const char *query[NB_EXCHANGE_FIELDS], *body[NB_EXCHANGE_FIELDS];
    /* Adds members to the body that are not options, before those of `body`; or NULL. Returns 0, or
     * a code with which the exchange fails. */
    int (*fill)(const struct nb_asked *asked, json_t *body, struct nb_error *error);
    /* Runs before the request, for example to ask the person a question; or NULL. Returns 0, or a
     * code with which the exchange fails. */
    int (*before)(const struct nb_asked *asked, struct nb_error *error);
    const char *rows; /* the member of the reply that `columns` shows */
    bool is_listing;  /* the reply comes in pages, whose rows are put together */
    /* The reply for people: `print` prints it, or else a table with these columns (terminal.h) and
     * then `text` (nb_exchange_text) are printed. Without all three it is printed as JSON. */
    const char *columns;
    const char *text;
    void (*print)(const struct nb_asked *asked, json_t *reply);
};

/* Appends the path with its query, and a NUL that `length` does not count. Returns 0,
 * NB_CLIENT_USAGE for a source that the daemon does not take, or NB_NO_MEMORY. */
int nb_exchange_path(const struct nb_exchange *exchange, const struct nb_asked *asked,
                     struct nb_buffer *path, struct nb_error *error);

/* Calls `before`, then makes the request; of a listing, one for each page. A page names the next
 * page in its member "next". *reply is owned by the caller; NULL for an empty reply. Returns 0,
 * NB_CLIENT_USAGE for values that cannot be sent, NB_CALL_PROTOCOL for a listing that has no rows
 * or does not advance, or a code of nb_call_json. */
int nb_exchange_ask(const struct nb_exchange *exchange, const struct nb_asked *asked,
                    json_t **reply, struct nb_error *error);

/* Prints a reply, as JSON if the client's options say so. Returns 0 or NB_IO. */
int nb_exchange_show(const struct nb_exchange *exchange, const struct nb_asked *asked,
                     json_t *reply, struct nb_error *error);

/* Makes the request (nb_exchange_ask) and prints the reply (nb_exchange_show). */
int nb_exchange_run(const struct nb_exchange *exchange, const struct nb_asked *asked,
                    struct nb_error *error);

/* Makes the request and writes the body of the reply to `out`, piece by piece; each is also given
 * to `check`, unless that is NULL; a code other than 0 from it ends the request (NB_CALL_STOPPED).
 * Returns 0, NB_IO, or a code of nb_call_make. */
int nb_exchange_fetch(const struct nb_exchange *exchange, const struct nb_asked *asked, FILE *out,
                      int (*check)(void *user, const char *bytes, size_t length), void *user,
                      struct nb_error *error);

/* For a command that cannot be undone: asks the person a printf-formatted question, unless
 * `is_sure`. Returns 0 when the answer is yes, NB_INVALID when it is no, or NB_CLIENT_USAGE when
 * nobody can be asked; `what` then says what would be lost. `done` is a word for messages:
 * "deleted". */
int nb_exchange_confirm(bool is_sure, const char *what, const char *done, struct nb_error *error,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Asks the person at a terminal whether a model is to be made, if the client's model does not exist
 * but one with nearly the same name does. Returns 0, NB_INVALID when the answer is no, or a code of
 * nb_call_make. */
int nb_exchange_check_model(struct nb_client *client, struct nb_error *error);

/* Prints a text on standard output. Replaces "{model}" by the model, "{0}" to "{9}" by an argument,
 * "{a.b}" by the text b in the member a of the reply, "{#a.b}" by a count with commas, and "{a.b
 * document}" by a count with this noun (nb_counted). Prints a line that begins with "{?a.b}" only
 * if this member exists and is neither 0 nor "". */
void nb_exchange_text(const char *text, const struct nb_asked *asked, const json_t *reply);

#endif
