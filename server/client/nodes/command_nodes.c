/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc nodes: how several nodes stand, and whether they have learned the same (standing.h).
 */
#include "server/client/commands/commands.h"
#include "server/client/nodes/standing.h"

static int run_nodes(struct nb_client *client, const void *user, char **arguments, size_t count,
                     struct nb_error *error)
{
    (void)user;
    return nb_nodes_tell(client, arguments, count, error);
}

const struct nb_command NB_COMMAND_NODES = {
    .name = "nodes",
    .arguments = "status|check [URL]...",
    .unused = NB_UNUSED_MODEL,
    .summary = "Looks at several nodes that share what they learn",
    .details =
        "status [URL]...  shows how far each node has come ([nodes]). Of one URL, or of --url, it\n"
        "                 finds all that tell their own ([nodes] url). It fails when one does not\n"
        "                 answer, or must not learn\n"
        "check [URL]...   compares what they have learned at one number. It fails when two differ\n"
        "                 (65), when one does not answer (69), and when one does not come to the\n"
        "                 number, or changes go on all the time (75)\n",
    .least = 1,
    .most = NB_NODES_MOST + 1,
    .run = run_nodes,
};
