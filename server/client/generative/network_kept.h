/* SPDX-License-Identifier: Apache-2.0
 *
 * Bayes nets that the daemon keeps: which there are, and how they come and go. A file named "-" is
 * standard input or output. All return 0 or a code of nb_call_once, or NB_IO for a file. Main
 * thread.
 */
#ifndef NB_CLIENT_NETWORK_KEPT_H
#define NB_CLIENT_NETWORK_KEPT_H

#include "server/client/base/client.h"
#include "server/client/generative/network_learned.h"

/* Prints the names of all networks. */
int nb_network_list(const struct nb_client *client, struct nb_error *error);

/* Prints a network as JSON. */
int nb_network_show(const struct nb_client *client, const char *network, struct nb_error *error);

int nb_network_delete(const struct nb_client *client, const char *network, struct nb_error *error);

/* Writes a network to a file, or to standard output if that is NULL, in the format dot or svg. */
int nb_network_draw(const struct nb_client *client, const char *network, const char *format,
                    const char *file, struct nb_error *error);

/* Keeps the network of a file, in JSON, and prints its size. `source` may be NULL. */
int nb_network_put(const struct nb_client *client, const char *network, const char *file,
                   const char *source, struct nb_error *error);

/* Learns a network from the rows of a file, whose name tells their format, and prints what came
 * out. */
int nb_network_learn_file(const struct nb_client *client, const char *network, const char *file,
                          const struct nb_network_wish *wish, struct nb_error *error);

#endif
