/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/rspamd_form.h"

#include <string.h>

enum {
    BOUNDARY_MOST = 70, /* RFC 2046, section 5.1.1 */
    NAME_MOST = 64,     /* bytes of a header field's name */
};

static const char BLANKS[] = " \t";

static int bad(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_INVALID, "the body is no form with metadata and message: %s",
                        what);
}

/* ---- the parts ------------------------------------------------------------------------------- */

/* Finds a text; NULL: it is not there. */
static const char *find(struct nb_string in, struct nb_string what)
{
    return in.length == 0 ? NULL : memmem(in.bytes, in.length, what.bytes, what.length);
}

/* Takes what stands before `what` off the text, and `what`; false: it is not there. */
static bool take_until(struct nb_string *rest, struct nb_string what, struct nb_string *before)
{
    const char *at = find(*rest, what);
    if (at == NULL)
        return false;
    *before = (struct nb_string){rest->bytes, (size_t)(at - rest->bytes)};
    *rest = nb_string_from(*rest, before->length + what.length);
    return true;
}

/* Returns the value of a parameter of a header field's value, `; name=value` or `name="value"`
 * (RFC 2045, section 5.1, without escapes); bytes == NULL: it has none. */
static struct nb_string parameter(struct nb_string value, const char *name)
{
    const struct nb_string none = {NULL, 0}, semicolon = {";", 1}, quote = {"\"", 1};
    struct nb_string before, found;
    while (take_until(&value, semicolon, &before)) {
        value = nb_string_trim_start(value, BLANKS);
        if (!nb_string_starts_nocase(value, name) || value.length <= strlen(name) ||
            value.bytes[strlen(name)] != '=')
            continue;
        value = nb_string_from(value, strlen(name) + 1);
        if (nb_string_starts(value, "\"")) {
            value = nb_string_from(value, 1);
            return take_until(&value, quote, &found) ? found : none;
        }
        return take_until(&value, semicolon, &found) ? nb_string_trim_end(found, BLANKS)
                                                     : nb_string_trim_end(value, BLANKS);
    }
    return none;
}

/* Reads the header of a part: sets its name, which stays as it is where the header has none. */
static int read_header(struct nb_string header, struct nb_string *name, struct nb_error *error)
{
    static const char disposition[] = "Content-Disposition:", encoding[] = "Content-Encoding:";
    const struct nb_string line_end = {"\r\n", 2};
    struct nb_string line;
    while (take_until(&header, line_end, &line)) {
        if (nb_string_starts_nocase(line, disposition))
            *name = parameter(nb_string_from(line, sizeof disposition - 1), "name");
        else if (nb_string_starts_nocase(line, encoding) &&
                 !nb_string_equals_nocase(nb_string_trim(nb_string_from(line, sizeof encoding - 1)),
                                          "identity"))
            return bad(error, "a part is compressed; compress the whole body instead");
    }
    return 0;
}

/* The parts of a form that are read. */
struct parts {
    struct nb_string metadata, message; /* bytes == NULL: not there */
};

/* Reads a part, from behind its delimiter on. */
static int read_part(struct nb_string part, struct parts *parts, struct nb_error *error)
{
    const struct nb_string empty_line = {"\r\n\r\n", 4};
    struct nb_string header, name = {NULL, 0};
    part = nb_string_trim_start(part, BLANKS);
    if (!nb_string_starts(part, "\r\n"))
        return bad(error, "behind a boundary is no end of line");
    if (!take_until(&part, empty_line, &header))
        return bad(error, "the header of a part has no end");
    /* Its last line gets back its end. */
    int rc = read_header((struct nb_string){header.bytes, header.length + 2}, &name, error);
    struct nb_string *to = nb_string_equals(name, "metadata")  ? &parts->metadata
                           : nb_string_equals(name, "message") ? &parts->message
                                                               : NULL;
    if (rc != 0 || to == NULL)
        return rc;
    if (to->bytes != NULL)
        return bad(error, "a part is there twice");
    *to = part;
    return 0;
}

/* Reads all parts. The first delimiter may begin the body; each other one follows an end of line,
 * which belongs to it (RFC 2046, section 5.1.1). */
static int read_parts(struct nb_string body, struct nb_string boundary, struct parts *parts,
                      struct nb_error *error)
{
    char text[4 + BOUNDARY_MOST] = "\r\n--";
    memcpy(text + 4, boundary.bytes, boundary.length);
    const struct nb_string delimiter = {text, 4 + boundary.length},
                           first = {text + 2, 2 + boundary.length};
    struct nb_string before;
    bool is_first =
        body.length >= first.length && memcmp(body.bytes, first.bytes, first.length) == 0;
    if (is_first)
        body = nb_string_from(body, first.length);
    else if (!take_until(&body, delimiter, &before))
        return bad(error, "its boundary is not there");
    for (int i = 0; !nb_string_starts(body, "--"); i++) {
        struct nb_string part;
        if (i == NB_RSPAMD_FORM_PARTS)
            return bad(error, "it has more than 16 parts");
        if (!take_until(&body, delimiter, &part))
            return bad(error, "its last boundary is missing");
        int rc = read_part(part, parts, error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* ---- the metadata ---------------------------------------------------------------------------- */

/* Whether a value can stand for a header field. Others, numbers and objects, are never asked for.
 */
static bool is_clean(const json_t *value)
{
    if (json_is_string(value))
        return !nb_utf8_has_control(
            (struct nb_string){json_string_value(value), json_string_length(value)});
    bool clean = true;
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++)
        clean =
            clean && !json_is_array(json_array_get(value, i)) && is_clean(json_array_get(value, i));
    return clean;
}

static bool are_clean(const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (!is_clean(value))
            return false;
    }
    return true;
}

static int read_metadata(struct nb_string text, json_t **metadata, struct nb_error *error)
{
    if (text.length > NB_RSPAMD_FORM_METADATA)
        return bad(error, "metadata is too long");
    *metadata = json_loadb(text.bytes, text.length, 0, NULL);
    if (!json_is_object(*metadata))
        return bad(error, "metadata is no JSON object");
    if (!are_clean(*metadata) || !are_clean(json_object_get(*metadata, "headers")))
        return bad(error, "metadata has a control character");
    return 0;
}

int nb_rspamd_form_read(struct nb_string content_type, struct nb_string body,
                        struct nb_rspamd_form *form, struct nb_error *error)
{
    struct parts parts = {.metadata = {NULL, 0}};
    struct nb_string boundary = parameter(content_type, "boundary");
    *form = (struct nb_rspamd_form){.metadata = NULL};
    if (!nb_string_starts_nocase(content_type, "multipart/form-data"))
        return bad(error, "its Content-Type is not multipart/form-data");
    if (boundary.length == 0 || boundary.length > BOUNDARY_MOST)
        return bad(error, "its Content-Type has no boundary of 1 to 70 bytes");
    int rc = read_parts(body, boundary, &parts, error);
    if (rc == 0 && parts.metadata.bytes == NULL)
        rc = bad(error, "the part metadata is missing");
    if (rc == 0 && parts.message.bytes == NULL)
        rc = bad(error, "the part message is missing");
    if (rc == 0)
        rc = read_metadata(parts.metadata, &form->metadata, error);
    form->message = parts.message;
    return rc;
}

void nb_rspamd_form_deinit(struct nb_rspamd_form *form)
{
    json_decref(form->metadata);
    form->metadata = NULL;
}

static const json_t *member_of(const json_t *metadata, const char *name)
{
    char key[NAME_MOST];
    size_t length = strlen(name);
    const char *other;
    json_t *value;
    if (length >= sizeof key)
        return NULL;
    for (size_t i = 0; i <= length; i++)
        key[i] = name[i] == '-' ? '_' : nb_ascii_lower(name[i]);
    if (json_object_get(metadata, key) != NULL)
        return json_object_get(metadata, key);
    json_object_foreach(json_object_get(metadata, "headers"), other, value)
    {
        if (nb_string_equals_nocase(nb_string_of(other), name))
            return value;
    }
    return NULL;
}

struct nb_string nb_rspamd_form_field(const struct nb_rspamd_form *form, const char *name,
                                      size_t *at)
{
    const json_t *found = member_of(form->metadata, name);
    const json_t *one = json_is_array(found) ? json_array_get(found, *at) : *at == 0 ? found : NULL;
    ++*at;
    return json_is_string(one) ? (struct nb_string){json_string_value(one), json_string_length(one)}
                               : (struct nb_string){NULL, 0};
}

/* ---- the reply ------------------------------------------------------------------------------- */

bool nb_rspamd_form_is_flat(struct nb_string accept)
{
    return find(accept, nb_string_of("application/json")) != NULL &&
           find(accept, nb_string_of("multipart/mixed")) == NULL;
}

/* The JSON has no line of its own that could be the boundary: it escapes ends of lines. */
int nb_rspamd_form_begin(struct nb_buffer *out)
{
    return nb_buffer_puts(out, "--bayesd-result\r\n"
                               "Content-Disposition: form-data; name=\"result\"\r\n"
                               "Content-Type: application/json\r\n\r\n");
}

int nb_rspamd_form_end(struct nb_buffer *out)
{
    return nb_buffer_puts(out, "\r\n--bayesd-result--\r\n");
}
