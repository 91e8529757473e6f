/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/call/path.h"

#include <string.h>

/* Encodes all but the unreserved characters (RFC 3986, section 2.3). */
static int append_encoded(struct nb_buffer *path, const char *text)
{
    static const char UNRESERVED[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    int rc = 0;
    for (; *text != '\0' && rc == 0; text++) {
        if (strchr(UNRESERVED, *text) != NULL)
            rc = nb_buffer_append(path, text, 1);
        else
            rc = nb_buffer_printf(path, "%%%02X", (unsigned)(unsigned char)*text);
    }
    return rc;
}

static int terminate(struct nb_buffer *path)
{
    int rc = nb_buffer_append(path, "", 1);
    if (rc == 0)
        path->length--;
    return rc;
}

int nb_path_model(struct nb_buffer *path, const char *model, const char *rest)
{
    int rc = nb_buffer_puts(path, "/v1/models/");
    if (rc == 0)
        rc = append_encoded(path, model);
    if (rc == 0)
        rc = nb_buffer_puts(path, rest);
    return rc == 0 ? terminate(path) : rc;
}

int nb_path_segment(struct nb_buffer *path, const char *segment)
{
    int rc = append_encoded(path, segment);
    return rc == 0 ? terminate(path) : rc;
}

int nb_path_query(struct nb_buffer *path, const char *name, const char *value)
{
    if (value == NULL)
        return 0;
    bool has_query = path->length > 0 && memchr(path->bytes, '?', path->length) != NULL;
    int rc = nb_buffer_printf(path, "%c%s=", has_query ? '&' : '?', name);
    if (rc == 0)
        rc = append_encoded(path, value);
    return rc == 0 ? terminate(path) : rc;
}
