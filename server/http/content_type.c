/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/content_type.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/base/string.h"

static const struct {
    const char *name;
    enum nb_media media;
} MEDIA[] = {
    {"application/json", NB_MEDIA_JSON}, {"application/x-ndjson", NB_MEDIA_NDJSON},
    {"text/plain", NB_MEDIA_TEXT},       {"message/rfc822", NB_MEDIA_MAIL},
    {"application/mbox", NB_MEDIA_MBOX},
};

static const char MEDIA_NAMES[] = "application/json, application/x-ndjson, text/plain, "
                                  "message/rfc822 or application/mbox";

/* Copies a parameter's value, in quotes or not; a value that does not fit is not the name of a
 * known charset. */
static bool copy_value(const char *value, char *to, size_t room)
{
    bool is_quoted = *value == '"';
    if (is_quoted)
        value++;
    size_t length = strcspn(value, is_quoted ? "\"" : "; \t");
    if (length == 0 || length >= room)
        return false;
    memcpy(to, value, length);
    to[length] = '\0';
    return true;
}

/* The value of the parameter `charset` (RFC 9110, 8.3.2), if there is one. */
static bool read_charset(const char *parameters, char charset[NB_CHARSET_BYTES])
{
    charset[0] = '\0';
    while ((parameters = strchr(parameters, ';')) != NULL) {
        parameters += 1 + strspn(parameters + 1, " \t");
        if (strncasecmp(parameters, "charset=", 8) == 0)
            return copy_value(parameters + 8, charset, NB_CHARSET_BYTES);
    }
    return true;
}

static bool is_utf8(const char *charset)
{
    return strcasecmp(charset, "utf-8") == 0 || strcasecmp(charset, "utf8") == 0 ||
           strcasecmp(charset, "us-ascii") == 0;
}

int nb_media_read(const char *content_type, struct nb_media_type *type, struct nb_error *error)
{
    if (content_type == NULL)
        return nb_error_set(error, NB_UNSUPPORTED, "the body has no Content-Type; it must be %s",
                            MEDIA_NAMES);
    content_type += strspn(content_type, " \t");
    struct nb_string name = {content_type, strcspn(content_type, ";")};
    name = nb_string_trim_end(name, " \t");
    size_t i = 0;
    size_t count = sizeof MEDIA / sizeof MEDIA[0];
    while (i < count && !nb_string_equals_nocase(name, MEDIA[i].name))
        i++;
    if (i == count)
        return nb_error_set(error, NB_UNSUPPORTED,
                            "Content-Type '%.*s' is not known; it must be %s",
                            name.length < 80 ? (int)name.length : 80, content_type, MEDIA_NAMES);
    struct nb_media_type read = {.media = MEDIA[i].media};
    if (!read_charset(content_type + name.length, read.charset))
        return nb_error_set(error, NB_UNSUPPORTED, "the charset in Content-Type cannot be read");
    if (is_utf8(read.charset))
        read.charset[0] = '\0';
    bool is_json = read.media == NB_MEDIA_JSON || read.media == NB_MEDIA_NDJSON;
    if (is_json && read.charset[0] != '\0')
        return nb_error_set(error, NB_UNSUPPORTED, "JSON must be UTF-8, not charset '%s'",
                            read.charset);
    *type = read;
    return 0;
}

int nb_coding_read(const char *content_encoding, enum nb_coding *coding, struct nb_error *error)
{
    *coding = NB_CODING_IDENTITY;
    if (content_encoding == NULL)
        return 0;
    struct nb_string name = nb_string_trim(nb_string_of(content_encoding));
    if (nb_string_equals_nocase(name, "gzip") || nb_string_equals_nocase(name, "x-gzip"))
        *coding = NB_CODING_GZIP;
    else if (nb_string_equals_nocase(name, "zstd"))
        *coding = NB_CODING_ZSTD;
    else if (name.length > 0 && !nb_string_equals_nocase(name, "identity"))
        return nb_error_set(error, NB_UNSUPPORTED,
                            "Content-Encoding '%.*s' is not known; it must be gzip or zstd",
                            name.length < 80 ? (int)name.length : 80, name.bytes);
    return 0;
}
