/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifies the same documents again and again over several connections, and measures each
 * request. The caller's thread starts one thread for each connection and waits for them.
 */
#ifndef NB_SERVER_CLIENT_SEND_BENCH_LOAD_H
#define NB_SERVER_CLIENT_SEND_BENCH_LOAD_H

#include "server/client/base/client.h"

enum { NB_LOAD_CONNECTIONS = 256 };

struct nb_load_body {
    struct nb_string bytes;
    bool is_mail;
};

struct nb_load {
    const struct nb_client *client;    /* borrowed, like the bodies */
    const struct nb_load_body *bodies; /* at least one */
    size_t count;
    size_t connections; /* 1 to NB_LOAD_CONNECTIONS */
    double seconds;     /* no request begins after this time */
};

struct nb_load_result {
    uint64_t *times; /* owned by the caller: ns of each request that was answered, ascending */
    size_t answered;
    uint64_t failed, bytes; /* failed requests; bytes of the answered documents */
    double seconds;         /* until the last reply */
};

/* Runs the load. A failed request is counted. A connection ends if a request fails before any of
 * its requests was answered. Returns 0 when any request was answered, otherwise the code of a
 * failure; free(result->times) is needed in both cases. */
int nb_load_run(const struct nb_load *load, struct nb_load_result *result, struct nb_error *error);

/* Returns a quantile of the times by nearest rank: the least time whose rank is at least share *
 * count; 0 if `count` is 0. `share` is above 0 and at most 1. */
uint64_t nb_load_quantile(const uint64_t *times, size_t count, double share);

#endif
