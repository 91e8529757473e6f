/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/mail_structure.h"

#include <string.h>

#include "core/base/number.h"
#include "tokenizer/bag/feature_text.h"
#include "tokenizer/text/text.h"
#include "tokenizer/text/url.h"

enum {
    NAME_BYTES = 24,  /* bytes of the name of an element or attribute */
    VALUE_BYTES = 24, /* bytes of the value of an attribute; longer values hardly occur twice */
    SHAPE = 32,
    EXTENSION = 8,
    URL_SOURCE = 4096, /* bytes of a URL in an attribute, before entities are decoded */
    ATTRIBUTES = 64    /* attributes of one element that are counted */
};

static struct nb_string cut(struct nb_string s, size_t most)
{
    return (struct nb_string){s.bytes, s.length < most ? s.length : most};
}

static int count_named(struct nb_tokenizing *t, const char *name, const char *value)
{
    struct nb_feature_text f;
    if (*value == '\0')
        return 0;
    nb_feature_begin(&f, name);
    nb_feature_puts(&f, value);
    return nb_feature_count(t, NB_FIELD_STRUCTURE, &f);
}

static int count_boundary(struct nb_tokenizing *t, const char *boundary)
{
    struct nb_feature_text f;
    if (*boundary == '\0')
        return 0;
    nb_feature_begin(&f, "mime:boundary=");
    nb_feature_put_shape(&f, (struct nb_string){boundary, strlen(boundary)}, SHAPE);
    return nb_feature_count(t, NB_FIELD_STRUCTURE, &f);
}

/* Counts all extensions of a name like "invoice.pdf.exe" of at most EXTENSION bytes, and its words.
 */
static int count_file(struct nb_tokenizing *t, const char *name)
{
    int rc = 0;
    if (*name == '\0')
        return 0;
    for (const char *point = strchr(name, '.'); rc == 0 && point != NULL;
         point = strchr(point + 1, '.')) {
        size_t length = strcspn(point + 1, ".");
        struct nb_feature_text f;
        nb_feature_begin(&f, "mime:file=");
        nb_feature_put(&f, point, length + 1);
        if (length > 0 && length <= EXTENSION)
            rc = nb_feature_count(t, NB_FIELD_STRUCTURE, &f);
    }
    return rc != 0 ? rc : nb_tokenize_text(t, NB_FIELD_STRUCTURE, "file:", name, strlen(name));
}

int nb_mail_structure_part(struct nb_tokenizing *t, const struct nb_mail_type *type)
{
    if (!nb_tokenizing_wants(t, NB_FIELD_STRUCTURE))
        return 0;
    int rc = count_named(t, "mime:", *type->media != '\0' ? type->media : "none");
    if (rc == 0)
        rc = count_named(t, "mime:charset=", type->charset);
    if (rc == 0)
        rc = count_named(t, "mime:encoding=", type->transfer);
    if (rc == 0)
        rc = count_boundary(t, type->boundary);
    return rc != 0 ? rc : count_file(t, type->file_name);
}

static bool holds_url(struct nb_string attribute)
{
    return nb_string_equals_nocase(attribute, "href") ||
           nb_string_equals_nocase(attribute, "xlink:href") || /* of SVG */
           nb_string_equals_nocase(attribute, "src") ||
           nb_string_equals_nocase(attribute, "action") ||
           nb_string_equals_nocase(attribute, "background");
}

/* Appends the scheme of a URL to `f`; a relative URL has none. */
static void put_scheme(struct nb_feature_text *f, struct nb_string url)
{
    size_t length = 0;
    while (length < url.length && length < VALUE_BYTES && strchr(":/?#", url.bytes[length]) == NULL)
        length++;
    if (length < url.length && url.bytes[length] == ':')
        nb_feature_put(f, url.bytes, length + 1);
}

/* Counts a link; `f` holds "html:a.href". */
static int count_link(struct nb_tokenizing *t, struct nb_feature_text *f, struct nb_string value)
{
    struct nb_buffer url = {0};
    value = cut(value, URL_SOURCE);
    int rc = nb_html_decode(&url, value.bytes, value.length);
    if (rc == 0 && url.length > 0) {
        nb_feature_puts(f, "=");
        put_scheme(f, (struct nb_string){url.bytes, url.length});
        rc = nb_feature_count(t, NB_FIELD_STRUCTURE, f);
    }
    if (rc == 0 && url.length > 0)
        rc = nb_tokenize_url(t, url.bytes, url.length);
    nb_buffer_deinit(&url);
    return rc;
}

/* Counts an attribute of the element in `f`, and restores `f`. */
static int count_attribute(struct nb_tokenizing *t, struct nb_feature_text *f,
                           struct nb_string name, struct nb_string value)
{
    size_t length = f->length;
    nb_feature_puts(f, ".");
    nb_feature_put_string(f, cut(name, NAME_BYTES));
    int rc = nb_feature_count(t, NB_FIELD_STRUCTURE, f);
    if (rc == 0 && holds_url(name) && value.length > 0) {
        rc = count_link(t, f, value);
    } else if (rc == 0 && value.length > 0) {
        nb_feature_puts(f, "=");
        nb_feature_put_string(f, cut(value, VALUE_BYTES));
        rc = nb_feature_count(t, NB_FIELD_STRUCTURE, f);
    }
    f->length = length;
    return rc;
}

int nb_mail_structure_element(struct nb_tokenizing *t, const struct nb_html_token *start_tag)
{
    struct nb_feature_text f;
    struct nb_html_attributes attributes = nb_html_attributes_of(start_tag);
    struct nb_html_attribute attribute;
    nb_feature_begin(&f, "html:");
    nb_feature_put_string(&f, cut(start_tag->name, NAME_BYTES));
    int rc = nb_feature_count(t, NB_FIELD_STRUCTURE, &f);
    for (size_t i = 0; rc == 0 && i < ATTRIBUTES && nb_html_attribute(&attributes, &attribute); i++)
        rc = count_attribute(t, &f, attribute.name, attribute.value);
    return rc;
}

int nb_mail_structure_hidden(struct nb_tokenizing *t)
{
    return count_named(t, "html:", "hidden");
}

int nb_mail_structure_read_as(struct nb_tokenizing *t, const char *content)
{
    return count_named(t, "mime:read-as=", content);
}

int nb_mail_structure_whole(struct nb_tokenizing *t, size_t parts, size_t bytes)
{
    char number[NB_NUMBER_DIGITS + 1];
    size_t logarithm = 0;
    while (bytes >> logarithm > 1)
        logarithm++;
    number[nb_number_put(number, parts)] = '\0';
    int rc = count_named(t, "mime:parts=", number);
    number[nb_number_put(number, logarithm)] = '\0';
    return rc != 0 ? rc : count_named(t, "mime:size=", number);
}
