/* SPDX-License-Identifier: Apache-2.0
 *
 * Bayes nets that are learned: what came out, for people, and the wish to learn one from a model.
 * Main thread.
 */
#ifndef NB_CLIENT_NETWORK_LEARNED_H
#define NB_CLIENT_NETWORK_LEARNED_H

#include "server/client/base/client.h"

/* How a network is to be learned. */
struct nb_network_wish {
    const char *source; /* or NULL */
    double alpha, prior;
    uint64_t separators;
};

/* Learns a network from the documents of a model, of these fields or, without one, of all that are
 * categories, and prints what came out. Returns 0 or a code of nb_call_once. */
int nb_network_learn_from(const struct nb_client *client, const char *network, const char *model,
                          char **fields, size_t count, const struct nb_network_wish *wish,
                          struct nb_error *error);

/* Prints the reply of the daemon, as the client's options say. */
int nb_network_print_learned(const struct nb_client *client, const char *network,
                             const json_t *reply, struct nb_error *error);

#endif
