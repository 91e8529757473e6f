/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/connection.h"

void nb_connection_init(struct nb_connection *held, int file, bool is_tls,
                        const union nb_connection_address *address, socklen_t length)
{
    *held = (struct nb_connection){.file = file,
                                   .is_tls = is_tls,
                                   .address = *address,
                                   .address_length = length,
                                   .from = nb_address_of(&address->any)};
    atomic_init(&held->state, nb_connection_state(NB_PHASE_FIRST));
}
