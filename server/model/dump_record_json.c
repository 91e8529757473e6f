/* SPDX-License-Identifier: Apache-2.0 */
#include "server/model/dump_record_json.h"

#include <sodium.h>
#include <stdlib.h>

#include "core/base/ascii.h"
#include "core/base/hex.h"
#include "core/counts/model.h"
#include "core/engine/engine.h"
#include "server/model/dump_write.h"

enum { LONGEST_WORD = 4096 };

/* 9999-12-31T23:59:59.999Z: the last moment that RFC 3339 can tell. */
static const json_int_t latest = 253402300799999;

void nb_dump_records_forget(struct nb_dump_records *records)
{
    free(records->numbers);
    free(records->texts);
    records->numbers = NULL;
    records->texts = NULL;
}

int nb_dump_records_opaque(const json_t *value, const char *name, struct nb_buffer *out,
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
            return NB_INVALID; /* one id has one spelling */
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

int nb_dump_records_words(struct nb_dump_records *records, const json_t *value,
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

/* Whole numbers in `least`..`most`, each above the one before when `ascending`. */
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

/* The rows and, behind them in the same block, the counts. */
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

int nb_dump_records_document(struct nb_dump_records *records, const json_t *value,
                             struct nb_dump_document *document, struct nb_error *error)
{
    struct nb_dump_records *r = records;
    enum { ID, LABEL, LEARNED, TOKENS, ROWS, COUNTS, SOURCE, SCORE, MEMBERS };
    static const struct nb_json_member members[MEMBERS] = {
        [ID] = {"id", NB_TYPE_STRING, true},
        [LABEL] = {"label", NB_TYPE_COUNT | NB_TYPE_NULL, true},
        [LEARNED] = {"learned", NB_TYPE_COUNT, true},
        [TOKENS] = {"tokens", NB_TYPE_COUNT, true},
        [ROWS] = {"rows", NB_TYPE_ARRAY, true},
        [COUNTS] = {"counts", NB_TYPE_ARRAY, true},
        [SOURCE] = {"source", NB_TYPE_STRING, false},
        [SCORE] = {"score", NB_TYPE_STRING, false},
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
        rc = nb_dump_records_opaque(values[SCORE], "score", &r->score, error);
    if (rc != 0)
        return rc;
    document->id = nb_json_text(values[ID]);
    document->source =
        values[SOURCE] != NULL ? nb_json_text(values[SOURCE]) : (struct nb_string){"", 0};
    document->label = (uint32_t)label;
    document->tokens = (uint64_t)tokens;
    document->score = (struct nb_string){r->score.bytes, r->score.length};
    r->documents++;
    return 0;
}
