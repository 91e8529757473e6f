/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/connection.h"

#include "core/base/clock.h"

/* 61 bits of nanoseconds are 73 years. */
enum { PHASE_BITS = 3, PHASE_MASK = 7 };

static uint64_t state_of(enum nb_phase phase)
{
    return nb_clock_monotonic() << PHASE_BITS | (uint64_t)phase;
}

enum nb_phase nb_connection_phase(uint64_t state)
{
    return (enum nb_phase)(state & PHASE_MASK);
}

uint64_t nb_connection_since(uint64_t state)
{
    return state >> PHASE_BITS;
}

void nb_connection_init(struct nb_connection *held, int file, bool is_tls,
                        const union nb_connection_address *address, socklen_t length)
{
    *held = (struct nb_connection){
        .file = file, .is_tls = is_tls, .address = *address, .address_length = length};
    atomic_init(&held->state, state_of(NB_PHASE_FIRST));
}

bool nb_connection_enter_from(struct nb_connection *held, uint64_t state, enum nb_phase phase)
{
    return nb_connection_phase(state) != NB_PHASE_OVER &&
           atomic_compare_exchange_strong(&held->state, &state, state_of(phase));
}

bool nb_connection_enter(struct nb_connection *held, enum nb_phase phase)
{
    return nb_connection_enter_from(held, atomic_load(&held->state), phase);
}
