/* SPDX-License-Identifier: Apache-2.0 */
#include "server/call/breaker.h"

bool nb_breaker_begin(struct nb_breaker *breaker, uint64_t now)
{
    if (!breaker->is_open)
        return true;
    if (now < breaker->until || breaker->is_probed)
        return false;
    breaker->is_probed = true;
    return true;
}

/* Returns whether the end of a request means that the daemon hangs. */
static bool is_hang(const struct nb_breaker *breaker, uint64_t start, uint64_t now, bool has_reply)
{
    return !has_reply && breaker->pause > 0 && now - start >= NB_BREAKER_SLOW &&
           (breaker->last_reply == 0 || breaker->last_reply < start);
}

bool nb_breaker_end(struct nb_breaker *breaker, uint64_t start, uint64_t now, bool has_reply)
{
    bool was_open = breaker->is_open;
    if (has_reply)
        breaker->last_reply = now;
    breaker->is_open = is_hang(breaker, start, now, has_reply);
    breaker->is_probed = false;
    if (breaker->is_open)
        breaker->until = now + breaker->pause;
    return breaker->is_open != was_open;
}
