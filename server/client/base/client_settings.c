/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/client_settings.h"

#include <string.h>

#include "server/client/base/client.h"

static int put(json_t *settings, const char *text, size_t length, struct nb_error *error)
{
    const char *equals = memchr(text, '=', length);
    if (equals == NULL || equals == text)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "'%.100s' is not a setting: write NAME=VALUE, as in smoothing=0.5",
                            text);
    size_t value_length = length - (size_t)(equals + 1 - text);
    json_t *value = value_length == 0 ? json_null()
                                      : json_loadb(equals + 1, value_length, JSON_DECODE_ANY, NULL);
    if (value == NULL)
        value = json_stringn(equals + 1, value_length);
    if (json_object_setn_new(settings, text, (size_t)(equals - text), value) != 0)
        return nb_error_set(error, NB_CLIENT_USAGE, "'%.100s' is not UTF-8", text);
    return 0;
}

int nb_settings_put(json_t *settings, const char *text, struct nb_error *error)
{
    return put(settings, text, strlen(text), error);
}

int nb_settings_put_all(json_t *settings, const char *text, struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 && *(text += strspn(text, " ")) != '\0') {
        size_t length = strcspn(text, " ");
        rc = put(settings, text, length, error);
        text += length;
    }
    return rc;
}
