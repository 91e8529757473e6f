/* SPDX-License-Identifier: Apache-2.0
 *
 * A request's beginning and its end. For its carrier, on the thread that works on the request.
 */
#ifndef NB_SERVER_REQUEST_LIFECYCLE_H
#define NB_SERVER_REQUEST_LIFECYCLE_H

#include <stdint.h>

struct nb_request;

/* To be called when the header fields are there. A stop waits for the request from now
 * on, and the configuration in force is the request's to its end. */
void nb_request_begin(struct nb_request *request);

struct nb_request_figures {
    const char *method;      /* for the log */
    unsigned status;         /* 0: the client was gone before it had the reply */
    uint64_t received, sent; /* bytes of the bodies */
};

/* To be called when the reply is out, or the client gone: writes the log, counts, and frees what
 * the request owns (not `request` itself). */
void nb_request_end(struct nb_request *request, const struct nb_request_figures *figures);

#endif
