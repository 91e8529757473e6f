/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/lag.h"

bool nb_lag_is_over(const struct nb_lag *lag, uint64_t applied)
{
    return applied >= lag->position;
}

void nb_lag_note(struct nb_lag *lag, uint64_t position, int64_t time, int64_t now)
{
    /* Clocks of two machines differ: nothing waits for less than no time. */
    *lag = (struct nb_lag){position, time, now > time ? now - time : 0};
}

int64_t nb_lag_of(const struct nb_lag *lag, uint64_t applied, uint64_t last, int64_t now)
{
    if (applied >= last)
        return 0;
    if (nb_lag_is_over(lag, applied))
        return lag->age;
    return now > lag->time ? now - lag->time : 0;
}
