/* SPDX-License-Identifier: Apache-2.0
 *
 * One HTTP request after the other to the daemon, on a connection that is kept. For bayesc and
 * bayesd-milter; the only file that knows libcurl. A call belongs to one thread at a time;
 * nb_call_setup before the first thread.
 */
#ifndef NB_CLIENT_CALL_H
#define NB_CLIENT_CALL_H

#include <jansson.h>
#include <stdio.h>

#include "server/client/client.h"

int nb_call_setup(struct nb_error *error);
void nb_call_teardown(void);

struct nb_call;

/* `client` is borrowed. NB_NO_MEMORY, NB_CLIENT_USAGE (an impossible URL). */
int nb_call_open(const struct nb_client *client, struct nb_call **call, struct nb_error *error);
void nb_call_close(struct nb_call **call);

struct nb_request_of_client {
    const char *method;
    const char *path; /* with the query; see nb_call_path */
    const char *type; /* of the body; NULL: there is none */
    struct nb_string body;
    const char *encoding; /* of the body; or NULL */
    /* Further header lines, "Name: value" without a line end, each ended by a NUL. */
    struct nb_string headers;
    size_t reply_most; /* bytes of a reply's body that are taken; 0: a gigabyte */
    FILE *source;      /* instead of `body`: sent as it is read, of unknown length */
    FILE *sink;        /* takes the body of a good reply instead of `reply` */
};

/* Makes the request and puts the reply's body into `reply` (emptied first; also that of an error).
 * 429 and 503 are tried again for the client's patience. Returns 0 for a status of 2xx, otherwise
 * the code that fits, with the daemon's own words in `error`. */
int nb_call_make(struct nb_call *call, const struct nb_request_of_client *request,
                 struct nb_buffer *reply, struct nb_error *error);

/* The same for a JSON reply; *value is owned by the caller (NULL for an empty body). */
int nb_call_json(struct nb_call *call, const struct nb_request_of_client *request, json_t **value,
                 struct nb_error *error);

/* Opens a connection, makes one request, closes it. */
int nb_call_once(const struct nb_client *client, const struct nb_request_of_client *request,
                 json_t **value, struct nb_error *error);

/* The status of the last reply; 0 when there was none. */
long nb_call_status(const struct nb_call *call);

/* Appends "/v1/models/MODEL" and `rest`, then a NUL that is not counted. NB_NO_MEMORY. */
int nb_call_path(struct nb_buffer *path, const char *model, const char *rest);

/* Appends `text` percent-encoded, then a NUL that is not counted. */
int nb_call_escape(struct nb_buffer *path, const char *text);

#endif
