/* SPDX-License-Identifier: Apache-2.0
 *
 * Rates, as options give them: "10/second", "600/minute", or "0" for no limit. Pure functions; any
 * thread.
 */
#ifndef NB_SERVER_ACCESS_RATE_H
#define NB_SERVER_ACCESS_RATE_H

#include "core/base/error.h"

struct nb_rate {
    double per_second; /* 0: no limit */
    double burst;      /* how many may come at once: as many as in the option's unit of time */
};

/* Reads a rate. `option` names it in messages. Returns 0 or NB_INVALID. */
int nb_rate_read(const char *text, const char *option, struct nb_rate *rate,
                 struct nb_error *error);

#endif
