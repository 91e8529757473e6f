/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_REPLICA_REPLICA_SETTINGS_H
#define NB_CORE_REPLICA_REPLICA_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_replica_settings {
    /* Publishes a message; the stream takes one of two that have the same id and come soon after
     * each other. Returns 0 when it is on its way: then it is delivered, or nb_replica_refuse is
     * called, or neither, if nobody knows. Else a code: it was not sent. Any thread. */
    int (*publish)(void *user, const char *id, struct nb_string message, struct nb_error *error);
    void *user;
    size_t message_most; /* bytes of a message */
    uint64_t patience;   /* nanoseconds that a client waits for its change to come back */
};

#endif
