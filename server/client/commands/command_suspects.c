/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc suspects: the learned documents whose labels are probably wrong.
 */
#include <stdio.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"

struct suspects_options {
    uint64_t limit;
};

static const struct suspects_options DEFAULTS = {.limit = 100};

static const struct nb_flag FLAGS[] = {
    {"limit", 'n', NB_FLAG_COUNT, offsetof(struct suspects_options, limit), 1, 10000},
};

static const struct nb_table_column COLUMNS[] = {
    NB_COLUMN("id", "id", NB_CELL_TEXT, 0),
    NB_COLUMN("label", "label", NB_CELL_TEXT, 0),
    NB_COLUMN("suggested", "suggested", NB_CELL_TEXT, 0),
    NB_COLUMN(">probability", "probability", NB_CELL_FIXED, 4),
    NB_COLUMN("source", "source", NB_CELL_TEXT, 0),
    NB_COLUMN("time", "time", NB_CELL_TEXT, 0),
};

static const struct nb_table_column SOURCES[] = {
    NB_COLUMN("source", "source", NB_CELL_TEXT, 0),
    NB_COLUMN(">documents", "documents", NB_CELL_COUNT, 0),
};

static void print_suspects(const struct nb_exchange_input *asked, json_t *reply)
{
    const json_t *sources = json_object_get(reply, "sources");
    nb_table_rows_print(NB_COLUMNS(COLUMNS), json_object_get(reply, "suspects"), stdout);
    nb_exchange_text("\n{model}: of {looked_at document} another label wins for {#suspected}, for "
                     "{#likely} of them with .9 and more\n",
                     asked, reply);
    if (json_array_size(sources) == 0)
        return;
    (void)putchar('\n');
    nb_table_rows_print(NB_COLUMNS(SOURCES), sources, stdout);
}

static const struct nb_exchange SUSPECTS = {
    .method = "GET",
    .path = "/v1/models/{model}/suspects",
    .query = {{"limit", NB_FLAG_COUNT, offsetof(struct suspects_options, limit), false}},
    .print = print_suspects,
};

static int run_suspects(struct nb_client *client, const void *user, char **arguments, size_t count,
                        struct nb_error *error)
{
    const struct nb_exchange_input asked = {NB_ASKED(client, user, arguments, count)};
    return nb_exchange_run(&SUSPECTS, &asked, error);
}

const struct nb_command NB_COMMAND_SUSPECTS = {
    .name = "suspects",
    .model_from = 1,
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .most = 1,
    .patience = 300,
    .run = run_suspects,
};
