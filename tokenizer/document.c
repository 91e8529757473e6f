/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/document.h"

#include <assert.h>
#include <string.h>

#include "core/base/feature.h"
#include "core/base/string.h"
#include "tokenizer/mail.h"
#include "tokenizer/mail_decode.h"
#include "tokenizer/mail_values.h"
#include "tokenizer/text.h"
#include "tokenizer/token.h"

static int count_id(struct nb_tokenizing *t, uint64_t id, const char *text, size_t length)
{
    if (t->tokens_left == 0) {
        t->bag->truncated = true;
        return 0;
    }
    t->tokens_left--;
    return nb_bag_add_id(t->bag, id, text, length);
}

/* Counts a feature of a part, by its whole text. */
static int count_feature(struct nb_tokenizing *t, unsigned part, const char *text, size_t length)
{
    return count_id(t, nb_feature_value_id(part, nb_feature_hash(t->key, text, length)), text,
                    length);
}

static int count_category(struct nb_tokenizing *t, unsigned part, struct nb_string name,
                          struct nb_string value)
{
    char text[NB_CATEGORY_TEXT_MOST];
    size_t length = nb_category_text(name, value, text);
    return count_id(t, nb_category_id(t->key, part / 2, text, length), text, length);
}

static int count_number(struct nb_tokenizing *t, unsigned part, struct nb_string name,
                        struct nb_string value)
{
    char text[NB_ATTRIBUTE_NAME_MOST + 1 + NB_DECIMAL_TEXT];
    uint64_t number;
    bool is_number = nb_decimal_read(value, &number);
    assert(name.length <= NB_ATTRIBUTE_NAME_MOST && is_number);
    memcpy(text, name.bytes, name.length);
    text[name.length] = '=';
    size_t length = name.length + 1 + nb_decimal_write(number, text + name.length + 1);
    return count_id(t, nb_feature_number_id(part, number), text, length);
}

static int count_text(struct nb_tokenizing *t, unsigned part, struct nb_string name,
                      struct nb_string value)
{
    char prefix[NB_ATTRIBUTE_NAME_MOST + 2];
    assert(name.length <= NB_ATTRIBUTE_NAME_MOST);
    memcpy(prefix, name.bytes, name.length);
    memcpy(prefix + name.length, ":", 2);
    return nb_tokenize_value(t, part, prefix, value.bytes, value.length);
}

static int count_item(struct nb_tokenizing *t, unsigned part, int kind, struct nb_string name,
                      struct nb_string item)
{
    if (kind == NB_FIELD_KIND_NUMBER)
        return count_number(t, part, name, item);
    return kind == NB_FIELD_KIND_TEXT ? count_text(t, part, name, item)
                                      : count_category(t, part, name, item);
}

/* Counts a value. Counts its presence first, so that a limit never cuts off only the presence. */
static int count_value(struct nb_tokenizing *t, const struct nb_value *value, unsigned part,
                       int kind)
{
    int rc = 0;
    if (kind == NB_FIELD_KIND_TEXT || kind == NB_FIELD_KIND_SET)
        rc = count_feature(t, part + 1, value->name.bytes, value->name.length);
    for (size_t i = 0; rc == 0 && i < value->count; i++)
        rc = count_item(t, part, kind, value->name, value->items[i]);
    return rc;
}

/* Counts the values of a document, which nb_values_check has accepted for these attributes:
 * - a category, and each value of a set, as a whole ("country=DE"), without folding;
 * - a number by its value ("amount=12.5"), however it is written;
 * - the words of a text, folded, with the attribute's name in front ("title:free"), without derived
 *   features (capitals, pairs, n-grams);
 * - for a text and a set also the presence, by the name ("title").
 * Where the attributes are open, values of unknown attributes are skipped. Returns 0 or
 * NB_NO_MEMORY. */
static int tokenize_values(struct nb_tokenizing *t, struct nb_values values,
                           struct nb_attributes attributes)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < values.count; i++) {
        size_t number = nb_attribute_find(attributes, values.values[i].name);
        assert(number <= NB_ATTRIBUTES_MOST && (number < attributes.count || attributes.is_open));
        if (number == attributes.count)
            continue;
        rc = count_value(t, &values.values[i], (unsigned)number * 2, attributes.list[number].kind);
    }
    return rc;
}

static bool is_given(struct nb_values given, const char *name)
{
    size_t i = 0;
    while (i < given.count && !nb_string_equals(given.values[i].name, name))
        i++;
    return i < given.count;
}

/* Counts the known mail values. Each needs a category among the attributes that has its name
 * (nb_mail_value_names) and for which the document has no value of its own. */
static int tokenize_mail_values(struct nb_tokenizing *t, const struct nb_mail_values *known,
                                struct nb_values given, struct nb_attributes attributes)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < NB_MAIL_VALUES; i++) {
        struct nb_string name = nb_string_of(nb_mail_value_names[i]);
        size_t number = nb_attribute_find(attributes, name);
        bool is_wanted = number < attributes.count && known->known[i].length > 0 &&
                         attributes.list[number].kind == NB_FIELD_KIND_CATEGORY &&
                         !is_given(given, nb_mail_value_names[i]);
        if (is_wanted)
            rc = count_category(t, (unsigned)number * 2, name,
                                (struct nb_string){known->known[i].text, known->known[i].length});
    }
    return rc;
}

int nb_tokenizer_setup(struct nb_error *error)
{
    if (nb_text_setup() != 0)
        return nb_error_no_memory(error);
    nb_mail_decode_setup();
    return 0;
}

void nb_tokenizer_teardown(void)
{
    nb_mail_decode_teardown();
    nb_text_teardown();
}

/* Whether a line begins like a header field: a name of letters and '-', then a colon. */
static bool is_field(const char *at, const char *end)
{
    const char *c = at;
    while (c < end && (nb_ascii_is_letter(*c) || *c == '-'))
        c++;
    return c > at && c < end && *c == ':';
}

/* Returns the Subject of a text that begins with lines like header fields, as texts from archives
 * of mail and news often do; empty if there is none. */
static struct nb_string find_subject(const char *text, size_t length)
{
    static const char name[] = "subject:";
    const char *end = text + length;
    for (const char *at = text, *next; at < end && is_field(at, end); at = next) {
        next = nb_lines_next(at, end);
        struct nb_string line = {at, (size_t)(next - at)};
        if (nb_string_starts_nocase(line, name))
            return nb_string_trim_end(nb_string_from(line, sizeof name - 1), "\n");
    }
    return (struct nb_string){NULL, 0};
}

/* Most bytes of a first line that stands in every part of a text. */
enum { LEAD = 256 };

/* Counts the whole text as the body. In models that count more than tokens, the words of a Subject
 * are also counted as Subject words. By-the-book models count each word once. */
static int tokenize_text(struct nb_tokenizing *t, const char *text, size_t length)
{
    const char *line = length == 0 ? NULL : memchr(text, '\n', length < LEAD ? length : LEAD);
    t->bag->passage_lead = line == NULL ? 0 : (size_t)(line + 1 - text);
    int rc = nb_tokenize_text(t, NB_FIELD_BODY, "", text, length);
    bool tokens_only = t->settings->fields >> NB_FIELD_CASE == 0; /* derived fields come last */
    if (rc != 0 || tokens_only || length == 0)
        return rc;
    struct nb_string subject = find_subject(text, length);
    return nb_tokenize_text(t, NB_FIELD_SUBJECT, "subject:", subject.bytes, subject.length);
}

/* Estimates the number of features of a document: a feature of words for every six bytes (every
 * eight without derived features), and three n-grams for every four bytes. */
static size_t expected_features(const struct nb_tokenizer_settings *settings, size_t bytes)
{
    bool is_derived = settings->fields >> NB_FIELD_CASE != 0; /* derived fields come last */
    size_t cut = bytes < NB_NGRAM_BYTES ? bytes : NB_NGRAM_BYTES;
    size_t ngrams = (settings->fields >> NB_FIELD_NGRAM & 1u) != 0 ? cut / 4 * 3 : 0;
    return bytes / (is_derived ? 6 : 8) + ngrams;
}

static size_t bytes_of_values(struct nb_values values)
{
    size_t bytes = 0;
    for (size_t i = 0; i < values.count; i++)
        for (size_t k = 0; k < values.values[i].count; k++)
            bytes += values.values[i].items[k].length;
    return bytes;
}

/* Tokenizes a mail, with the values of its server if the settings name that server. */
static int tokenize_mail(struct nb_tokenizing *t, const struct nb_document *mail)
{
    const struct nb_tokenizer_settings *settings = t->settings;
    struct nb_mail_values known;
    if (settings->mail_server == NULL || settings->attributes.count == 0)
        return nb_tokenize_mail(t, mail->bytes, mail->length);
    nb_mail_values_begin(&known, nb_string_of(settings->mail_server), &mail->envelope);
    t->mail_values = &known;
    int rc = nb_tokenize_mail(t, mail->bytes, mail->length);
    t->mail_values = NULL;
    return rc != 0 ? rc : tokenize_mail_values(t, &known, mail->values, settings->attributes);
}

int nb_document_tokenize(const struct nb_document *document, const struct nb_key *key,
                         const struct nb_tokenizer_settings *settings,
                         const struct nb_tokenizer_limits *limits, struct nb_bag *bag)
{
    assert(document->bytes != NULL || document->length == 0);
    bool is_mail = document->kind == NB_DOCUMENT_MAIL;
    size_t read = document->length;
    if (is_mail && read > limits->mail_bytes)
        read = limits->mail_bytes;
    read += bytes_of_values(document->values);
    if (nb_bag_begin(bag, expected_features(settings, read), !settings->without_texts) != 0)
        return NB_NO_MEMORY;
    struct nb_tokenizing t = {.key = key,
                              .settings = settings,
                              .limits = limits,
                              .bag = bag,
                              .tokens_left = limits->tokens,
                              .work = nb_work_of(read, limits->work)};
    int rc = is_mail ? tokenize_mail(&t, document)
             : document->kind == NB_DOCUMENT_HTML
                 ? nb_mail_html(&t, (struct nb_string){document->bytes, document->length})
                 : tokenize_text(&t, document->bytes, document->length);
    if (rc == 0 && document->values.count > 0)
        rc = tokenize_values(&t, document->values, settings->attributes);
    bag->truncated |= t.work.is_short;
    if (rc == 0 && settings->max_count > 0)
        nb_bag_cap(bag, settings->max_count);
    return rc;
}
