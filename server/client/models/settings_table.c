/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/models/settings_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/client/terminal/table.h"

void nb_settings_table_print(json_t *settings)
{
    static const char *const HEAD[] = {"setting", "value"};
    struct nb_text_table table;
    const char *name;
    const json_t *value;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_object_foreach(settings, name, value)
    {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
        nb_table_cell(&table, "%s", name);
        nb_table_cell(&table, "%s", text != NULL ? text : "");
        free(text);
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}
