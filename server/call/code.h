/* SPDX-License-Identifier: Apache-2.0
 *
 * Error codes of requests to the daemon. Constants; any thread.
 */
#ifndef NB_CALL_CODE_H
#define NB_CALL_CODE_H

/* Codes beside enum nb_code: faults that only a client of the daemon can meet. */
enum nb_call_code {
    NB_CALL_UNREACHABLE = -100, /* no connection, or it broke or timed out */
    NB_CALL_FORBIDDEN = -101,   /* 401 or 403 */
    NB_CALL_BUSY = -102,        /* 429 or 503: the same request may succeed later */
    NB_CALL_PROTOCOL = -103,    /* the reply is not a valid one of bayesd */
    NB_CALL_BAD_URL = -104,     /* the URL cannot be used */
    NB_CALL_STOPPED = -105      /* the callback `give` or `take` of the request ended it */
};

#endif
