/* SPDX-License-Identifier: Apache-2.0 */
#include "server/call/access_token.h"

#include <stdio.h>
#include <string.h>

enum { TOKEN_MOST = 4096 };

/* The length of the token at the beginning of a line; 0 when the line is not a token. A line that
 * does not fit is cut by fgets and would be sent as a wrong token. */
static size_t token_length(const char *line)
{
    size_t length = strcspn(line, " \t\r\n");
    if (line[length] == '\0' && length == TOKEN_MOST - 1)
        return 0;
    for (size_t i = 0; i < length; i++)
        if (line[i] < 33 || line[i] > 126)
            return 0;
    return length;
}

int nb_access_token_read(const char *file, struct nb_buffer *token, struct nb_error *error)
{
    char line[TOKEN_MOST];
    if (file == NULL)
        return 0;
    FILE *in = fopen(file, "re");
    if (in == NULL)
        return nb_error_set(error, NB_NOT_FOUND, "the token file %.200s cannot be opened", file);
    bool is_read = fgets(line, sizeof line, in) != NULL;
    (void)fclose(in); /* was only read */
    size_t length = is_read ? token_length(line) : 0;
    if (length == 0)
        return nb_error_set(error, NB_INVALID, "the first line of %.200s is not a token", file);
    return nb_buffer_append(token, line, length) == 0 ? 0 : nb_error_no_memory(error);
}
