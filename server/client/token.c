/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "server/client/client.h"

enum { TOKEN_MOST = 4096 };

int nb_client_read_token(struct nb_client *client, struct nb_error *error)
{
    if (client->token_file == NULL)
        return 0;
    char line[TOKEN_MOST];
    FILE *file = fopen(client->token_file, "re");
    if (file == NULL)
        return nb_error_set(error, NB_NOT_FOUND, "the token file %.200s cannot be opened",
                            client->token_file);
    bool is_read = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file); /* was only read */
    size_t length = is_read ? strcspn(line, " \t\r\n") : 0;
    for (size_t i = 0; i < length; i++)
        if (line[i] < 33 || line[i] > 126)
            length = 0;
    if (length == 0)
        return nb_error_set(error, NB_INVALID, "the first line of %.200s is no token",
                            client->token_file);
    return nb_buffer_append(&client->token, line, length) == 0 ? 0 : nb_error_no_memory(error);
}
