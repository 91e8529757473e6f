/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/content_type.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

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

static bool is_name(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(text, name, length) == 0;
}

/* Length without the spaces and tabs at the end. */
static size_t trimmed(const char *text, size_t length)
{
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    return length;
}

/* Copies a parameter's value, in quotes or not; a value that does not fit is no charset we know. */
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
    size_t length = trimmed(content_type, strcspn(content_type, ";"));
    size_t i = 0;
    size_t count = sizeof MEDIA / sizeof MEDIA[0];
    while (i < count && !is_name(content_type, length, MEDIA[i].name))
        i++;
    if (i == count)
        return nb_error_set(error, NB_UNSUPPORTED,
                            "Content-Type '%.*s' is not known; it must be %s",
                            length < 80 ? (int)length : 80, content_type, MEDIA_NAMES);
    struct nb_media_type read = {.media = MEDIA[i].media};
    if (!read_charset(content_type + length, read.charset))
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
    content_encoding += strspn(content_encoding, " \t");
    size_t length = trimmed(content_encoding, strlen(content_encoding));
    if (is_name(content_encoding, length, "gzip") || is_name(content_encoding, length, "x-gzip"))
        *coding = NB_CODING_GZIP;
    else if (is_name(content_encoding, length, "zstd"))
        *coding = NB_CODING_ZSTD;
    else if (length > 0 && !is_name(content_encoding, length, "identity"))
        return nb_error_set(error, NB_UNSUPPORTED,
                            "Content-Encoding '%.*s' is not known; it must be gzip or zstd",
                            length < 80 ? (int)length : 80, content_encoding);
    return 0;
}
