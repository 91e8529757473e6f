/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the lines of an import. Checks all that can be checked without the engine: order, bounds,
 * sizes that must agree, and that the end is there.
 */
#include "server/base/dump_json.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/label_set.h"
#include "core/base/number.h"
#include "core/base/string.h"
#include "core/counts/model.h"
#include "core/engine/engine.h"
#include "server/base/document_json.h"
#include "server/base/emit.h"
#include "server/base/settings_json.h"

/* The records of an import after its first line are runs of words, and documents. */
/* Counts of what was read so far, and the arrays of the last record. One thread at a time. */
struct nb_dump_records {
    uint64_t rows, documents, occurrences;
    size_t label_count;
    void *numbers;           /* owned */
    struct nb_string *texts; /* owned */
    struct nb_buffer score;  /* owned: the decoded score of the last document */
};

enum { LONGEST_WORD = 4096 };

/* 9999-12-31T23:59:59.999Z, the last time that RFC 3339 can express, in milliseconds. */
static const json_int_t latest = 253402300799999;

/* Frees the arrays of the last record. */
static void dump_records_forget(struct nb_dump_records *records)
{
    free(records->numbers);
    free(records->texts);
    records->numbers = NULL;
    records->texts = NULL;
}

/* Decodes base64 into `out`: a stored form that only the engine reads. Leaves `out` empty if
 * `value` is NULL. `name` is the member's name. Returns 0, NB_INVALID or NB_NO_MEMORY. */
static int dump_records_opaque(const json_t *value, const char *name, struct nb_buffer *out,
                               struct nb_error *error)
{
    out->length = 0;
    if (value == NULL)
        return 0;
    struct nb_string text = nb_json_text(value);
    const char *end = NULL;
    size_t length = 0;
    if (nb_buffer_reserve(out, text.length + 1) != 0)
        return nb_error_no_memory(error);
    if (sodium_base642bin((unsigned char *)out->bytes, out->capacity, text.bytes, text.length, NULL,
                          &length, &end, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        end != text.bytes + text.length)
        return nb_error_set(error, NB_INVALID, "member \"%s\" must be base64", name);
    out->length = length;
    return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int take_id(const json_t *value, uint64_t *id)
{
    struct nb_string text = {"", 0};
    if (json_is_string(value))
        text = nb_json_text(value);
    for (size_t i = 0; i < text.length; i++)
        if (nb_ascii_lower(text.bytes[i]) != text.bytes[i])
            return NB_INVALID; /* each id has one spelling only */
    if (text.length != NB_DUMP_ID_LENGTH || !nb_hex_read(text, id))
        return NB_INVALID;
    return nb_feature_has_field(*id) ? 0 : NB_INVALID;
}

static int take_ids(struct nb_dump_records *r, const json_t *list, struct nb_error *error)
{
    size_t count = json_array_size(list);
    uint64_t *ids = calloc(count + 1, sizeof *ids);
    if (ids == NULL)
        return nb_error_no_memory(error);
    r->numbers = ids;
    for (size_t i = 0; i < count; i++)
        if (take_id(json_array_get(list, i), &ids[i]) != 0)
            return nb_error_set(error, NB_INVALID,
                                "\"ids\" number %zu is not the id of a feature: %d lower-case "
                                "hexadecimal digits, of a known field",
                                i, NB_DUMP_ID_LENGTH);
    return 0;
}

static int take_texts(struct nb_dump_records *r, const json_t *list, size_t count,
                      struct nb_error *error)
{
    if (json_is_null(list))
        return 0;
    if (json_array_size(list) != count)
        return nb_error_set(error, NB_INVALID, "\"texts\" has %zu entries, but \"ids\" has %zu",
                            json_array_size(list), count);
    r->texts = calloc(count + 1, sizeof *r->texts);
    if (r->texts == NULL)
        return nb_error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_array_get(list, i);
        if (!json_is_string(text) || json_string_length(text) > LONGEST_WORD)
            return nb_error_set(error, NB_INVALID,
                                "\"texts\" number %zu is not a string of at most %d bytes", i,
                                LONGEST_WORD);
        r->texts[i] = nb_json_text(text);
    }
    return 0;
}

/* Read the only member of a record's line. The results are borrowed from `records` and `value`.
 * Return 0, NB_INVALID with the reason, or another code. */
static int dump_records_words(struct nb_dump_records *records, const json_t *value,
                              struct nb_dump_words *words, struct nb_error *error)
{
    struct nb_dump_records *r = records;
    enum { FIRST_ROW, IDS, TEXTS, MEMBERS };
    static const struct nb_json_member members[MEMBERS] = {
        [FIRST_ROW] = {"first_row", NB_TYPE_COUNT, true},
        [IDS] = {"ids", NB_TYPE_ARRAY, true},
        [TEXTS] = {"texts", NB_TYPE_ARRAY | NB_TYPE_NULL, true},
    };
    const json_t *values[MEMBERS];
    int rc = nb_json_take(value, "a run of words", members, MEMBERS, values, error);
    if (rc != 0)
        return rc;
    size_t count = json_array_size(values[IDS]);
    json_int_t first = json_integer_value(values[FIRST_ROW]);
    if (first < 0 || (uint64_t)first != r->rows)
        return nb_error_set(error, NB_INVALID,
                            "\"first_row\" is %" JSON_INTEGER_FORMAT " where %ju is next", first,
                            (uintmax_t)r->rows);
    if (count >= NB_NO_ROW - r->rows)
        return nb_error_set(error, NB_INVALID, "more than 2^32 - 2 words");
    rc = take_ids(r, values[IDS], error);
    if (rc == 0)
        rc = take_texts(r, values[TEXTS], count, error);
    if (rc != 0)
        return rc;
    *words = (struct nb_dump_words){
        .first_row = (uint32_t)first, .count = count, .ids = r->numbers, .texts = r->texts};
    r->rows += count;
    return 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Reads whole numbers in `least`..`most`; with `ascending`, each must be above the one before. */
static int take_numbers(const json_t *list, const char *name, uint32_t *numbers, json_int_t least,
                        json_int_t most, bool ascending, struct nb_error *error)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
        if (number < least || number > most)
            return nb_error_set(error, NB_INVALID,
                                "\"%s\" number %zu is not a whole number from " //
                                "%" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT,
                                name, i, least, most);
        if (ascending && i > 0 && number <= (json_int_t)numbers[i - 1])
            return nb_error_set(error, NB_INVALID, "\"%s\" number %zu is not above the one before",
                                name, i);
        numbers[i] = (uint32_t)number;
    }
    return 0;
}

static int take_bounded(const json_t *value, const char *name, json_int_t most, int64_t *number,
                        struct nb_error *error)
{
    *number = json_integer_value(value);
    if (*number >= 0 && *number <= most)
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "member \"%s\" must be in 0 to %" JSON_INTEGER_FORMAT
                        ", not %" JSON_INTEGER_FORMAT,
                        name, most, json_integer_value(value));
}

/* Reads the rows and, after them in the same memory block, the counts. */
static int take_bag(struct nb_dump_records *r, const json_t *rows, const json_t *counts,
                    struct nb_dump_document *document, struct nb_error *error)
{
    size_t size = json_array_size(rows);
    if (json_array_size(counts) != size)
        return nb_error_set(error, NB_INVALID, "\"counts\" has %zu entries, but \"rows\" has %zu",
                            json_array_size(counts), size);
    uint32_t *numbers = calloc(2 * size + 1, sizeof *numbers);
    if (numbers == NULL)
        return nb_error_no_memory(error);
    r->numbers = numbers;
    int rc = take_numbers(rows, "rows", numbers, 0, (json_int_t)r->rows - 1, true, error);
    if (rc == 0)
        rc = take_numbers(counts, "counts", numbers + size, 1, UINT32_MAX, false, error);
    document->rows = numbers;
    document->counts = numbers + size;
    document->size = size;
    for (size_t i = 0; rc == 0 && i < size; i++)
        r->occurrences += document->counts[i];
    return rc;
}

static int dump_records_document(struct nb_dump_records *records, const json_t *value,
                                 struct nb_dump_document *document, struct nb_error *error)
{
    struct nb_dump_records *r = records;
    enum { ID, LABEL, LEARNED, TOKENS, ROWS, COUNTS, SOURCE, SCORE, REVIEWED, MEMBERS };
    static const struct nb_json_member members[MEMBERS] = {
        [ID] = {"id", NB_TYPE_STRING, true},
        [LABEL] = {"label", NB_TYPE_COUNT | NB_TYPE_NULL, true},
        [LEARNED] = {"learned", NB_TYPE_COUNT, true},
        [TOKENS] = {"tokens", NB_TYPE_COUNT, true},
        [ROWS] = {"rows", NB_TYPE_ARRAY, true},
        [COUNTS] = {"counts", NB_TYPE_ARRAY, true},
        [SOURCE] = {"source", NB_TYPE_STRING, false},
        [SCORE] = {"score", NB_TYPE_STRING, false},
        [REVIEWED] = {"reviewed", NB_TYPE_BOOLEAN, false},
    };
    const json_t *values[MEMBERS];
    int64_t label = NB_DUMP_NO_LABEL, tokens = 0;
    int rc = nb_json_take(value, "a dump's document", members, MEMBERS, values, error);
    if (rc == 0)
        rc = nb_check_id(nb_json_text(values[ID]), error);
    if (rc == 0 && !json_is_null(values[LABEL]))
        rc = take_bounded(values[LABEL], "label", (json_int_t)r->label_count - 1, &label, error);
    if (rc == 0)
        rc = take_bounded(values[LEARNED], "learned", latest, &document->learned, error);
    if (rc == 0)
        rc = take_bounded(values[TOKENS], "tokens", INT64_MAX, &tokens, error);
    if (rc == 0)
        rc = take_bag(r, values[ROWS], values[COUNTS], document, error);
    if (rc == 0)
        rc = dump_records_opaque(values[SCORE], "score", &r->score, error);
    if (rc != 0)
        return rc;
    document->id = nb_json_text(values[ID]);
    document->source =
        values[SOURCE] != NULL ? nb_json_text(values[SOURCE]) : (struct nb_string){"", 0};
    document->label = (uint32_t)label;
    document->tokens = (uint64_t)tokens;
    document->is_reviewed = values[REVIEWED] != NULL && json_is_true(values[REVIEWED]);
    document->score = (struct nb_string){r->score.bytes, r->score.length};
    r->documents++;
    return 0;
}

/* Most JSON values of a line: enough for the rows and counts of a document at the tokenizer's
 * largest budget. */
enum { MOST_VALUES = 4000000 };

struct nb_json_dump_reader {
    uint64_t line;
    enum nb_json_record_kind last; /* BLANK: no record yet */
    struct nb_dump_records records;
    struct nb_settings settings; /* owned */
    const char **labels;         /* owned; the strings belong to `header` */
    json_t *header;              /* owned: the first line */
    json_t *record;              /* owned: the line read last */
    struct nb_buffer stack;      /* owned: the decoded `stack` of the first line */
};

int nb_json_dump_reader_new(struct nb_json_dump_reader **reader)
{
    *reader = calloc(1, sizeof **reader);
    return *reader == NULL ? NB_NO_MEMORY : 0;
}

static void forget_record(struct nb_json_dump_reader *r)
{
    dump_records_forget(&r->records);
    json_decref(r->record);
    r->record = NULL;
}

void nb_json_dump_reader_free(struct nb_json_dump_reader **reader)
{
    struct nb_json_dump_reader *r = *reader;
    if (r == NULL)
        return;
    forget_record(r);
    nb_settings_deinit(&r->settings);
    nb_buffer_deinit(&r->stack);
    nb_buffer_deinit(&r->records.score);
    free(r->labels);
    json_decref(r->header);
    free(r);
    *reader = NULL;
}

/* ---- the first line -------------------------------------------------------------------------- */

/* Sorts labels by name, so that equal ones are neighbours. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_distinct(const char *const *labels, size_t count, struct nb_error *error)
{
    const char **sorted = calloc(count + 1, sizeof *sorted);
    if (sorted == NULL)
        return nb_error_no_memory(error);
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        sorted[i] = labels[i];
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 1; i < count && rc == 0; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            rc = nb_error_set(error, NB_INVALID, "label \"%s\" is listed twice", sorted[i]);
    free(sorted);
    return rc;
}

static int take_labels(struct nb_json_dump_reader *r, const json_t *list, struct nb_error *error)
{
    size_t count = json_array_size(list);
    if (count > NB_LABELS_MOST)
        return nb_error_set(error, NB_INVALID, "more than %u labels", NB_LABELS_MOST);
    r->labels = calloc(count + 1, sizeof *r->labels);
    if (r->labels == NULL)
        return nb_error_no_memory(error);
    r->records.label_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *label = json_array_get(list, i);
        if (!json_is_string(label))
            return nb_error_set(error, NB_INVALID, "member \"labels\" holds strings, not %s",
                                nb_json_type_name(label));
        int rc = nb_check_label_or_set(nb_json_text(label), error);
        if (rc != 0)
            return rc;
        r->labels[i] = json_string_value(label);
    }
    return check_distinct(r->labels, count, error);
}

static int take_key(const json_t *text, const char *name, unsigned char key[NB_KEY_BYTES],
                    struct nb_error *error)
{
    size_t length = 0;
    const char *end = NULL;
    struct nb_string s = nb_json_text(text);
    if (sodium_base642bin(key, NB_KEY_BYTES, s.bytes, s.length, NULL, &length, &end,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        end != s.bytes + s.length || length != NB_KEY_BYTES)
        return nb_error_set(error, NB_INVALID, "member \"%s\" must be %d bytes in base64", name,
                            NB_KEY_BYTES);
    return 0;
}

static int take_version(const json_t *value, const char *name, json_int_t known,
                        struct nb_error *error)
{
    json_int_t version = json_integer_value(value);
    if (version >= 1 && version <= known)
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "%s %" JSON_INTEGER_FORMAT
                        " is not known; this program reads 1 to %" JSON_INTEGER_FORMAT,
                        name, version, known);
}

static int take_header(struct nb_json_dump_reader *r, struct nb_json_record *record,
                       struct nb_error *error)
{
    enum { VERSION, TOKENIZER, SETTINGS, KEY, LABELS, TEXTS, STACK, STACK_KEY, MEMBERS };
    static const struct nb_json_member members[MEMBERS] = {
        [VERSION] = {"bayesd_dump", NB_TYPE_COUNT, true},
        [TOKENIZER] = {"tokenizer_version", NB_TYPE_COUNT, true},
        [SETTINGS] = {"settings", NB_TYPE_OBJECT, true},
        [KEY] = {"key", NB_TYPE_STRING, true},
        [LABELS] = {"labels", NB_TYPE_ARRAY, true},
        [TEXTS] = {"texts", NB_TYPE_BOOLEAN, true},
        [STACK] = {"stack", NB_TYPE_STRING, false},
        [STACK_KEY] = {"stack_key", NB_TYPE_STRING, false}, /* of dumps before 1.0; not needed */
    };
    const json_t *values[MEMBERS];
    /* The version comes first: a later version's line may have members unknown to this program. */
    const json_t *version = json_object_get(r->record, "bayesd_dump");
    if (!json_is_integer(version))
        return nb_error_set(error, NB_INVALID, "not a dump: the first line has \"bayesd_dump\": %d",
                            NB_DUMP_VERSION);
    int rc = take_version(version, "dump version", NB_DUMP_VERSION, error);
    if (rc == 0)
        rc = nb_json_take(r->record, "a dump's first line", members, MEMBERS, values, error);
    if (rc == 0)
        rc = take_version(values[TOKENIZER], "tokenizer version", NB_TOKENIZER_VERSION, error);
    if (rc == 0)
        rc = take_key(values[KEY], "key", record->header.key, error);
    if (rc == 0)
        rc = nb_json_settings_take(values[SETTINGS], NULL, false, &r->settings, error);
    if (rc == 0)
        rc = take_labels(r, values[LABELS], error);
    if (rc == 0)
        rc = dump_records_opaque(values[STACK], "stack", &r->stack, error);
    if (rc != 0)
        return rc;
    r->settings.tokenizer_version = (uint32_t)json_integer_value(values[TOKENIZER]);
    r->header = json_incref(r->record);
    record->header.settings = r->settings;
    record->header.labels = r->labels;
    record->header.label_count = r->records.label_count;
    record->header.has_texts = json_is_true(values[TEXTS]);
    record->header.stack = (struct nb_string){r->stack.bytes, r->stack.length};
    return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int take_end(const struct nb_json_dump_reader *r, const json_t *end,
                    struct nb_json_record *record, struct nb_error *error)
{
    static const struct nb_json_member members[] = {{"documents", NB_TYPE_COUNT, true},
                                                    {"words", NB_TYPE_COUNT, true},
                                                    {"occurrences", NB_TYPE_COUNT, false}};
    const json_t *values[3];
    int rc = nb_json_take(end, "a dump's end", members, 3, values, error);
    if (rc != 0)
        return rc;
    if (json_integer_value(values[0]) != (json_int_t)r->records.documents ||
        json_integer_value(values[1]) != (json_int_t)r->records.rows)
        return nb_error_set(error, NB_INVALID,
                            "the dump should have %" JSON_INTEGER_FORMAT
                            " documents and %" JSON_INTEGER_FORMAT " words, but has %ju and %ju",
                            json_integer_value(values[0]), json_integer_value(values[1]),
                            (uintmax_t)r->records.documents, (uintmax_t)r->records.rows);
    if (values[2] != NULL && json_integer_value(values[2]) != (json_int_t)r->records.occurrences)
        return nb_error_set(error, NB_INVALID,
                            "the dump's counts should sum to %" JSON_INTEGER_FORMAT
                            ", but sum to %ju",
                            json_integer_value(values[2]), (uintmax_t)r->records.occurrences);
    record->end = (struct nb_dump_totals){.documents = r->records.documents,
                                          .features = r->records.rows,
                                          .occurrences = r->records.occurrences};
    return 0;
}

/* Reads a record after the first line: an object with one member, whose name is the kind. */
static int take_record(struct nb_json_dump_reader *r, struct nb_json_record *record,
                       struct nb_error *error)
{
    static const struct nb_json_member members[] = {{"words", NB_TYPE_OBJECT, false},
                                                    {"document", NB_TYPE_OBJECT, false},
                                                    {"end", NB_TYPE_OBJECT, false}};
    const json_t *values[3];
    int rc = nb_json_take(r->record, "a dump's line", members, 3, values, error);
    if (rc != 0)
        return rc;
    if (json_object_size(r->record) != 1)
        return nb_error_set(error, NB_INVALID,
                            "a dump's line has one of \"words\", \"document\" and \"end\"");
    if (values[0] != NULL && r->last == NB_JSON_RECORD_DOCUMENT)
        return nb_error_set(error, NB_INVALID, "\"words\" after a document");
    if (values[0] != NULL) {
        record->kind = NB_JSON_RECORD_WORDS;
        return dump_records_words(&r->records, values[0], &record->words, error);
    }
    record->kind = values[1] != NULL ? NB_JSON_RECORD_DOCUMENT : NB_JSON_RECORD_END;
    return values[1] != NULL
               ? dump_records_document(&r->records, values[1], &record->document, error)
               : take_end(r, values[2], record, error);
}

/* Reports a wrong line as 400, whatever its own code is: the dump is malformed. */
static int at_line(const struct nb_json_dump_reader *r, int rc, const struct nb_error *cause,
                   struct nb_error *error)
{
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return nb_error_set(error, rc == NB_TOO_LARGE ? rc : NB_INVALID, "line %ju: %.280s",
                        (uintmax_t)r->line, cause->text);
}

int nb_json_dump_read(struct nb_json_dump_reader *r, uint64_t number, struct nb_string line,
                      struct nb_json_record *record, struct nb_error *error)
{
    struct nb_error cause = {0};
    forget_record(r);
    r->line = number;
    record->kind = NB_JSON_RECORD_BLANK;
    if (nb_scan_end(line.bytes, line.bytes + line.length))
        return 0;
    int rc = 0;
    if (r->last == NB_JSON_RECORD_END)
        rc = nb_error_set(&cause, NB_INVALID, "there is more after the end of the dump");
    if (rc == 0)
        rc = nb_json_load(line, MOST_VALUES, &r->record, &cause);
    if (rc == 0 && r->last == NB_JSON_RECORD_BLANK) {
        record->kind = NB_JSON_RECORD_HEADER;
        rc = take_header(r, record, &cause);
    } else if (rc == 0) {
        rc = take_record(r, record, &cause);
    }
    if (rc != 0)
        return at_line(r, rc, &cause, error);
    r->last = record->kind;
    return 0;
}

int nb_json_dump_finish(const struct nb_json_dump_reader *reader, struct nb_error *error)
{
    if (reader->last == NB_JSON_RECORD_END)
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "the dump is cut off after line %ju: its last line has \"end\"",
                        (uintmax_t)reader->line);
}

/* Writes the lines of an export.
 */

/* Most words of a line. A word of 40 characters takes at most some 300 bytes with its field and
 * id. */
enum { WORDS_PER_LINE = 4096 };

/* Writes a stored form, which only the engine reads, as base64. */
static int emit_opaque(struct nb_emitter *e, const char *key, struct nb_string bytes)
{
    if (bytes.length == 0)
        return 0;
    size_t room = sodium_base64_encoded_len(bytes.length, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(room);
    if (text == NULL)
        return NB_NO_MEMORY;
    sodium_bin2base64(text, room, (const unsigned char *)bytes.bytes, bytes.length,
                      sodium_base64_VARIANT_ORIGINAL);
    nb_emit_member_text(e, key, text);
    free(text);
    return 0;
}

static void emit_key(struct nb_emitter *e, const char *name, const unsigned char *bytes)
{
    char key[sodium_base64_ENCODED_LEN(NB_KEY_BYTES, sodium_base64_VARIANT_ORIGINAL)];
    sodium_bin2base64(key, sizeof key, bytes, NB_KEY_BYTES, sodium_base64_VARIANT_ORIGINAL);
    nb_emit_member_text(e, name, key);
}

int nb_json_dump_header(struct nb_buffer *out, const struct nb_dump_header *header)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_u64(&e, "bayesd_dump", NB_DUMP_VERSION);
    nb_emit_member_u64(&e, "tokenizer_version", header->settings.tokenizer_version);
    nb_emit_key(&e, "settings");
    nb_emit_settings(&e, &header->settings);
    emit_key(&e, "key", header->key);
    nb_emit_member_open(&e, "labels", '[');
    for (size_t i = 0; i < header->label_count; i++)
        nb_emit_text(&e, header->labels[i]);
    nb_emit_close(&e, ']');
    nb_emit_key(&e, "texts");
    nb_emit_raw(&e, header->has_texts ? "true" : "false");
    int rc = emit_opaque(&e, "stack", header->stack);
    nb_emit_raw(&e, "}\n");
    int end = nb_emit_end(&e);
    return rc != 0 ? rc : end;
}

/* Writes an id in hexadecimal: some readers round JSON numbers above 2^53. */
static void emit_id(struct nb_emitter *e, uint64_t id)
{
    _Static_assert(4 * NB_DUMP_ID_LENGTH == 64, "a digit for each four bits");
    char text[NB_DUMP_ID_LENGTH];
    for (unsigned i = 0; i < NB_DUMP_ID_LENGTH; i++)
        text[i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
    nb_emit_string(e, (struct nb_string){text, sizeof text});
}

static void emit_words(struct nb_emitter *e, const struct nb_dump_words *words, size_t from,
                       size_t count)
{
    nb_emit_raw(e, "{\"words\":{\"first_row\":");
    nb_emit_u64(e, words->first_row + from);
    nb_emit_member_open(e, "ids", '[');
    for (size_t i = from; i < from + count; i++)
        emit_id(e, words->ids[i]);
    nb_emit_close(e, ']');
    nb_emit_key(e, "texts");
    if (words->texts == NULL) {
        nb_emit_raw(e, "null");
    } else {
        nb_emit_open(e, '[');
        for (size_t i = from; i < from + count; i++)
            nb_emit_string(e, words->texts[i]);
        nb_emit_close(e, ']');
    }
    nb_emit_raw(e, "}}\n");
}

int nb_json_dump_words(struct nb_buffer *out, const struct nb_dump_words *words)
{
    struct nb_emitter e = nb_emit_begin(out);
    for (size_t from = 0; from < words->count; from += WORDS_PER_LINE) {
        size_t left = words->count - from;
        emit_words(&e, words, from, left < WORDS_PER_LINE ? left : WORDS_PER_LINE);
    }
    return nb_emit_end(&e);
}

static void emit_numbers(struct nb_emitter *e, const char *key, const uint32_t *numbers,
                         size_t size)
{
    nb_emit_member_open(e, key, '[');
    for (size_t i = 0; i < size; i++)
        nb_emit_u64(e, numbers[i]);
    nb_emit_close(e, ']');
}

int nb_json_dump_document(struct nb_buffer *out, const struct nb_dump_document *document)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_raw(&e, "{\"document\":{\"id\":");
    nb_emit_string(&e, document->id);
    nb_emit_key(&e, "label");
    if (document->label != NB_DUMP_NO_LABEL)
        nb_emit_u64(&e, document->label);
    else
        nb_emit_raw(&e, "null");
    nb_emit_key(&e, "learned");
    nb_emit_i64(&e, document->learned);
    nb_emit_member_u64(&e, "tokens", document->tokens);
    emit_numbers(&e, "rows", document->rows, document->size);
    emit_numbers(&e, "counts", document->counts, document->size);
    if (document->source.length > 0) {
        nb_emit_member_string(&e, "source", document->source);
    }
    if (document->is_reviewed)
        nb_emit_member_bool(&e, "reviewed", true);
    int rc = emit_opaque(&e, "score", document->score);
    nb_emit_raw(&e, "}}\n");
    int end = nb_emit_end(&e);
    return rc != 0 ? rc : end;
}

int nb_json_dump_end(struct nb_buffer *out, const struct nb_dump_totals *totals)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_raw(&e, "{\"end\":{\"documents\":");
    nb_emit_u64(&e, totals->documents);
    nb_emit_member_u64(&e, "words", totals->features);
    nb_emit_member_u64(&e, "occurrences", totals->occurrences);
    nb_emit_raw(&e, "}}\n");
    return nb_emit_end(&e);
}
