/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP requests to bayesd, one after the other on a connection that is kept open, and what goes
 * with them: error codes, the access token, a circuit breaker. Shared by bayesc and bayesd-milter;
 * the daemon sends its events with it, to other servers. Only call.c knows libcurl.
 *
 * A call belongs to one thread at a time. nb_call_setup runs before the first other thread starts.
 */
#ifndef NB_SERVER_HTTP_CALL_CALL_H
#define NB_SERVER_HTTP_CALL_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_call;

/* Codes beside enum nb_code: faults that only a client of the daemon can meet. */
enum nb_call_code {
    NB_CALL_UNREACHABLE = -100, /* no connection, or it broke or timed out */
    NB_CALL_FORBIDDEN = -101,   /* 401 or 403 */
    NB_CALL_BUSY = -102,        /* 429 or 503: the same request may succeed later */
    NB_CALL_PROTOCOL = -103,    /* the reply is not a valid one of bayesd */
    NB_CALL_BAD_URL = -104,     /* the URL cannot be used */
    NB_CALL_STOPPED = -105      /* the callback `give` or `take` of the request ended it */
};

/* Fills `error` from a reply whose status is not 2xx and whose body is `body`, any bytes: with the
 * daemon's own words, or, when the reply is not one of bayesd's, with a sentence that names `url`.
 * Returns the code, of enum nb_code or enum nb_call_code. */
int nb_refusal_read(long status, struct nb_string body, const char *url, struct nb_error *error);

/* Reads an access token from a file, so that it need not appear on a command line, and appends it
 * to `token`: the printable ASCII characters at the beginning of the first line of the file, up to
 * the first blank. Without a file (`file` is NULL) there is no token. Returns 0, NB_NOT_FOUND (the
 * file cannot be opened), NB_INVALID (its first line is not a token) or NB_NO_MEMORY. */
int nb_access_token_read(const char *file, struct nb_buffer *token, struct nb_error *error);

/* ---- the breaker ----------------------------------------------------------------------------- */

/* A circuit breaker, which keeps every mail from waiting for a daemon that hangs. After a request
 * that failed slowly the breaker opens, and no request is made during a pause. Then one request,
 * the probe, is made: the breaker closes if it succeeds, or else the next pause begins. A failure
 * that comes at once, as when nobody listens, costs no time and does not open the breaker.
 *
 * A plain struct without a lock; times are of nb_clock_monotonic, in ns. A struct that is zero
 * except for `pause` is a closed breaker. */
enum {
    NB_BREAKER_PAUSE = 5,       /* seconds, unless set otherwise */
    NB_BREAKER_PAUSE_MOST = 600 /* seconds */
};

/* A failure that took at least this long, in ns, is a slow one. */
#define NB_BREAKER_SLOW UINT64_C(500000000)

struct nb_breaker {
    uint64_t pause; /* ns; 0: never opens */
    /* Private to the functions below. */
    bool is_open, is_probed; /* the breaker is open; the probe is running */
    uint64_t until;          /* the end of the pause */
    uint64_t last_reply;     /* when a request last had a reply */
};

/* Returns whether a request may be made; nb_breaker_end must follow it. False means that the pause
 * is not over, or that the probe is still running. */
bool nb_breaker_begin(struct nb_breaker *breaker, uint64_t now);

/* Reports the end of a request that began at `start`, with a reply or without one. Returns whether
 * this opened or closed the breaker. The breaker stays closed if another request had a reply in the
 * meantime: the daemon is serving, and only this request took long. */
bool nb_breaker_end(struct nb_breaker *breaker, uint64_t start, uint64_t now, bool has_reply);

/* ---- calls ----------------------------------------------------------------------------------- */

/* The daemon to ask, and the time limits. Read-only while a call uses it. */
struct nb_call_target {
    const char *url; /* borrowed: http://, https:// or unix:/PATH; a slash at its end is ignored */
    /* Borrowed: what messages call a server that is not bayesd, in place of its URL, which may have
     * secrets; NULL: the server is bayesd. */
    const char *name;
    const char *token_file; /* borrowed, or NULL */
    struct nb_buffer token; /* owned; empty without a token file: nb_access_token_read fills it */
    /* For https://, each borrowed, or NULL: the authorities that the daemon's certificate is
     * checked with, in place of those of the machine; the client's own certificate and its key. */
    const char *ca_file, *certificate, *key;
    uint64_t timeout;  /* seconds without progress after which a request fails */
    uint64_t after;    /* place in the stream of the nodes that the reply must include; 0: any */
    bool has_deadline; /* the whole request must be done within `timeout` */
    uint64_t patience; /* seconds for which a busy daemon is asked again; 0: asked once */
};

struct nb_call_request {
    const char *method;
    const char *path; /* with its query; see server/http/call/path.h */
    const char *type; /* media type of the body; NULL: there is no body, unless `give` is set */
    struct nb_string body;
    const char *encoding; /* content encoding of the body, or NULL */
    /* Further header lines: "Name: value" without a line end, each followed by a NUL. */
    struct nb_string headers;
    size_t reply_most; /* a longer reply is a failure; 0: a gigabyte */
    /* Gives the body piece by piece, instead of `body`: fills `bytes` and returns their number, 0
     * at the end, or -1 to stop the request. A request with this callback is never repeated. */
    ssize_t (*give)(void *user, char *bytes, size_t room);
    /* Takes the body of a reply with status 2xx, instead of `reply`. A code below 0 stops the
     * request. */
    int (*take)(void *user, const char *bytes, size_t length);
    void *user;
};

/* Sets up libcurl and jansson for all threads. Returns 0 or NB_IO. */
int nb_call_setup(struct nb_error *error);
void nb_call_teardown(void);

/* Opens a call; no connection is made yet. `target` is borrowed until nb_call_close. Returns 0,
 * NB_NO_MEMORY or NB_CALL_BAD_URL. */
int nb_call_open(const struct nb_call_target *target, struct nb_call **call,
                 struct nb_error *error);

/* Closes the connection, frees the call and sets *call to NULL; *call may be NULL. */
void nb_call_close(struct nb_call **call);

/* Makes the request and puts the body of the reply into `reply`, which is emptied first; the body
 * of an error reply is there too. While the daemon answers 429 or 503 the request is made
 * again for as long as the target's patience lasts. Returns 0 for a status of 2xx, otherwise the
 * code that fits the failure, with the daemon's own words in `error`. */
int nb_call_make(struct nb_call *call, const struct nb_call_request *request,
                 struct nb_buffer *reply, struct nb_error *error);

/* Makes the request as nb_call_make does and parses the reply as JSON. *value is owned by the
 * caller; NULL for an empty body. */
int nb_call_json(struct nb_call *call, const struct nb_call_request *request, json_t **value,
                 struct nb_error *error);

/* Opens a call, makes one request for JSON, closes the call. */
int nb_call_once(const struct nb_call_target *target, const struct nb_call_request *request,
                 json_t **value, struct nb_error *error);

#endif
