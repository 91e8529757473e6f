/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to a Bayes net, and their answers for people. Main thread.
 */
#ifndef NB_CLIENT_NETWORK_QUESTION_H
#define NB_CLIENT_NETWORK_QUESTION_H

#include "server/client/base/client.h"
#include "server/client/base/flags.h"

/* Asks for P(node | what is given) of the nodes `of`, of all others without one, and prints it.
 * Each of `given` is "NODE=STATE". Returns 0, NB_CLIENT_USAGE or a code of nb_call_once. */
int nb_network_ask(const struct nb_client *client, const char *network,
                   const struct nb_flag_list *of, const struct nb_flag_list *given,
                   struct nb_error *error);

/* Asks whether two nodes are independent given the nodes `given`, and prints it. Returns as
 * nb_network_ask. */
int nb_network_ask_independent(const struct nb_client *client, const char *network, const char *one,
                               const char *other, const struct nb_flag_list *given,
                               struct nb_error *error);

#endif
