/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>

#include "server/client/files/formats.h"

static struct nb_string string_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (struct nb_string){json_string_value(value), json_string_length(value)};
}

/* Decodes base64 (RFC 4648, section 4), with or without its padding; white space is skipped.
 * Returns 0, NB_INVALID or NB_NO_MEMORY. */
static int decode_base64(struct nb_string text, struct nb_buffer *out)
{
    bool is_padded = memchr(text.bytes, '=', text.length) != NULL;
    size_t length = 0;
    const char *end = NULL;
    if (nb_buffer_reserve(out, text.length + 1) != 0)
        return NB_NO_MEMORY;
    assert(out->bytes != NULL);
    int rc = sodium_base642bin((unsigned char *)out->bytes, out->capacity, text.bytes, text.length,
                               " \t\r\n", &length, &end,
                               is_padded ? sodium_base64_VARIANT_ORIGINAL
                                         : sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    out->length = length;
    return rc == 0 && end == text.bytes + text.length ? 0 : NB_INVALID;
}

/* The values as text, which the caller frees; NULL if there is no memory. */
static char *text_of_values(const json_t *values, struct nb_item *item)
{
    char *text = json_dumps(values, JSON_COMPACT);
    item->values = nb_string_of(text);
    item->has_no_content = item->content.bytes == NULL;
    item->is_mail = item->is_mail && !item->has_no_content;
    return text;
}

static int give_object(struct nb_reading *reading, const json_t *object, uint64_t number,
                       struct nb_error *error)
{
    struct nb_buffer decoded = {0};
    char *text = NULL;
    const json_t *values = json_object_get(object, "values");
    struct nb_item item = {.label = string_of(object, "label"), .id = string_of(object, "id")};
    item.content = string_of(object, "text");
    if (item.content.bytes == NULL) {
        item.is_mail = true;
        item.content = string_of(object, "mail");
    }
    int rc = 0;
    if (item.content.bytes == NULL && json_is_string(json_object_get(object, "mail_base64"))) {
        rc = decode_base64(string_of(object, "mail_base64"), &decoded);
        item.content = (struct nb_string){decoded.bytes, decoded.length};
    }
    if (rc == 0 && json_is_object(values)) {
        text = text_of_values(values, &item);
        rc = text != NULL ? 0 : NB_NO_MEMORY;
    }
    if (rc == NB_NO_MEMORY)
        rc = nb_error_no_memory(error);
    else if (rc != 0)
        rc = nb_error_set(error, rc, "line %ju: mail_base64 is not base64", (uintmax_t)number);
    else if (values != NULL && !json_is_object(values))
        rc =
            nb_error_set(error, NB_INVALID, "line %ju: values is not an object", (uintmax_t)number);
    else if (item.content.bytes == NULL && values == NULL)
        rc = nb_error_set(error, NB_INVALID, "line %ju has no text, mail, mail_base64 or values",
                          (uintmax_t)number);
    else
        rc = nb_reading_give(reading, &item, number, error);
    free(text);
    nb_buffer_deinit(&decoded);
    return rc;
}

int nb_read_ndjson(struct nb_reading *reading, struct nb_error *error)
{
    struct nb_string line;
    uint64_t number = 0;
    int rc;
    while ((rc = nb_input_line(&reading->input, NB_ITEM_MOST, &line, error)) == 1) {
        number++;
        if (line.length == 0)
            continue;
        json_t *object =
            json_loadb(line.bytes, line.length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        rc = json_is_object(object)
                 ? give_object(reading, object, number, error)
                 : nb_error_set(error, NB_INVALID, "line %ju is not a JSON object",
                                (uintmax_t)number);
        json_decref(object);
        if (rc != 0)
            return rc;
    }
    return rc;
}
