/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/write_csv.h"

#include <string.h>

static bool needs_quotes(struct nb_string text)
{
    bool needs = text.length > 0 && (text.bytes[0] == ' ' || text.bytes[text.length - 1] == ' ');
    for (size_t i = 0; i < text.length; i++)
        needs = needs || strchr(",\"\r\n", text.bytes[i]) != NULL;
    return needs;
}

int nb_csv_cell(struct nb_string text, bool is_first, struct nb_buffer *out)
{
    int rc = is_first ? 0 : nb_buffer_puts(out, ",");
    if (!needs_quotes(text))
        return rc == 0 ? nb_buffer_append(out, text.bytes, text.length) : rc;
    if (rc == 0)
        rc = nb_buffer_puts(out, "\"");
    for (size_t i = 0; i < text.length && rc == 0; i++)
        rc = nb_buffer_append(out, text.bytes[i] == '"' ? "\"\"" : &text.bytes[i],
                              text.bytes[i] == '"' ? 2 : 1);
    return rc == 0 ? nb_buffer_puts(out, "\"") : rc;
}
