/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc suspects: the learned documents whose labels are probably wrong.
 */
#include <stdio.h>

#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"

static void print_suspects(const struct nb_asked *asked, json_t *reply)
{
    const json_t *sources = json_object_get(reply, "sources");
    if (json_array_size(json_object_get(reply, "suspects")) == 0) {
        nb_exchange_text("{model}: no label looks wrong, of {looked_at document}\n", asked, reply);
        return;
    }
    nb_table_print_rows("id|label|suggested:t|>probability:.4f|source:t|time:t",
                        json_object_get(reply, "suspects"), stdout);
    nb_exchange_text("\n{model}: of {looked_at document} another label wins for {#suspected}, for "
                     "{#likely} of them with .9 and more\n",
                     asked, reply);
    if (json_array_size(sources) == 0)
        return;
    (void)putchar('\n');
    nb_table_print_rows("source:t|>documents", sources, stdout);
}

static const struct nb_flag FLAGS[] = {NB_COUNT("limit", 'n', limit, 100, 1, 10000)};

const struct nb_command NB_COMMAND_SUSPECTS = {
    .name = "suspects",
    .model_from = 1,
    NB_FLAGS(FLAGS),
    .most = 1,
    .patience = 300,
    .exchange = &(const struct nb_exchange){.method = "GET",
                                            .path = "/v1/models/{model}/suspects",
                                            .query = {"limit"},
                                            .print = print_suspects},
};
