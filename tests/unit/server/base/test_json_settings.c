/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON codec: settings and dumps, written and read back, and all faults that are refused.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "server/base/dump_json.h"
#include "server/base/settings_json.h"
#include "tests/unit/run.h"

/* ---- settings -------------------------------------------------------------------------------- */

START_TEST(nothing_said_is_the_default)
{
    static const struct {
        const char *json;
        enum nb_preset preset;
    } table[] = {{"{}", NB_PRESET_TEXT},
                 {"{\"preset\": \"text\"}", NB_PRESET_TEXT},
                 {"{\"preset\": \"mail\", \"tokenizer\": {}}", NB_PRESET_MAIL},
                 {"{\"preset\": \"book\"}", NB_PRESET_BOOK}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_settings got, want;
        struct nb_error error = {0};
        nb_settings_init(&want, table[i].preset);
        int rc = nb_json_settings_read(nb_string_of(table[i].json), NULL, false, &got, &error);
        ck_assert_msg(rc == 0, "row %zu: %s", i, error.text);
        ck_assert_int_eq(got.event_model, want.event_model);
        ck_assert(got.smoothing == want.smoothing);
        ck_assert_int_eq(got.prior, want.prior);
        ck_assert_uint_eq(got.min_count, want.min_count);
        ck_assert_uint_eq(got.skip_top, want.skip_top);
        ck_assert_int_eq(got.decision, want.decision);
        ck_assert_uint_eq(got.tokenizer_fields, want.tokenizer_fields);
        ck_assert_uint_eq(got.tokenizer_version, want.tokenizer_version);
        nb_settings_deinit(&got);
    }
}
END_TEST

/* The fields that documents were counted with stay, unless the new preset has further fields. */
START_TEST(fields_that_are_counted_stay)
{
    static const struct {
        enum nb_preset counted;
        const char *json;
        enum nb_preset fields;
    } table[] = {{NB_PRESET_TEXT, "{}", NB_PRESET_TEXT},
                 {NB_PRESET_TEXT, "{\"preset\": \"book\"}", NB_PRESET_TEXT},
                 {NB_PRESET_MAIL, "{\"preset\": \"text\"}", NB_PRESET_MAIL},
                 {NB_PRESET_BOOK, "{\"decision\": \"stacked\"}", NB_PRESET_BOOK},
                 {NB_PRESET_BOOK, "{\"preset\": \"text\"}", NB_PRESET_TEXT},
                 {NB_PRESET_TEXT, "{\"preset\": \"mail\"}", NB_PRESET_MAIL}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_settings existing, fields, got;
        nb_settings_init(&existing, table[i].counted);
        nb_settings_init(&fields, table[i].fields);
        struct nb_string json = nb_string_of(table[i].json);
        ck_assert_int_eq(nb_json_settings_read(json, &existing, true, &got, NULL), 0);
        ck_assert_msg(got.tokenizer_fields == fields.tokenizer_fields, "row %zu", i);
        nb_settings_deinit(&got);
    }
}
END_TEST

START_TEST(every_setting_is_read)
{
    struct nb_settings s;
    struct nb_error error = {0};
    int rc = nb_json_settings_read(
        nb_string_of("{\"preset\": \"mail\", \"event_model\": \"complement\", \"smoothing\": 2,"
                     " \"prior\": {\"spam\": 0.6, \"ham\": 3, \"\\u00e9\": 1e-3},"
                     " \"min_count\": 3, \"skip_top\": 100, \"decision\": \"bayes\","
                     " \"tokenizer\": {\"fields\": [\"pair\", \"body\", \"body\"]}}"),
        NULL, false, &s, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    ck_assert_int_eq(s.event_model, NB_EVENT_COMPLEMENT);
    ck_assert(s.smoothing == 2);
    ck_assert_int_eq(s.prior, NB_PRIOR_GIVEN);
    ck_assert_uint_eq(s.weight_count, 3);
    ck_assert_str_eq(s.weights[0].label, "ham");
    ck_assert_str_eq(s.weights[1].label, "spam");
    ck_assert_str_eq(s.weights[2].label, "\xC3\xA9");
    ck_assert(s.weights[0].weight == 3 && s.weights[1].weight == 0.6);
    ck_assert_uint_eq(s.min_count, 3);
    ck_assert_uint_eq(s.skip_top, 100);
    ck_assert_int_eq(s.decision, NB_DECISION_BAYES);
    ck_assert_uint_eq(s.tokenizer_fields, 1u << NB_FIELD_PAIR | 1u << NB_FIELD_BODY);
    nb_settings_deinit(&s);
}
END_TEST

START_TEST(settings_there_and_back)
{
    static const char *const table[] = {
        "{}",
        "{\"preset\": \"mail\"}",
        "{\"prior\": \"uniform\", \"smoothing\": 0.1, \"event_model\": \"bernoulli\"}",
        "{\"prior\": {\"q\\\"\": 0.30000000000000004, \"b\": 1}, \"smoothing\": 1e-9}",
        "{\"smoothing\": {\"labels\": {\"q\\\"\": 0.5, \"b\": 2}}, \"estimate\": \"mean\"}",
        "{\"smoothing\": {\"alpha\": 0.1, \"beta\": 3}, \"event_model\": \"bernoulli\"}",
        "{\"smoothing\": {\"m\": 50, \"p\": \"vocabulary\"}}",
        "{\"fields\": {\"z\": \"set\", \"a\": \"category\"}, \"smoothing\": {\"default\": 2, "
        "\"values\": "
        "{\"z\": {\"y\\n\": 0.5, \"\": 3}, \"a\": {\"x\": 1e-3}}}}",
        "{\"min_count\": 4294967295, \"skip_top\": 7, \"tokenizer\": {\"fields\": [\"url\"]}}",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_settings first, second;
        struct nb_buffer written = {0}, again = {0};
        ck_assert_int_eq(nb_json_settings_read(nb_string_of(table[i]), NULL, false, &first, NULL),
                         0);
        ck_assert_int_eq(nb_json_settings(&written, &first), 0);
        struct nb_string text = {written.bytes, written.length};
        ck_assert_int_eq(nb_json_settings_read(text, NULL, false, &second, NULL), 0);
        ck_assert_int_eq(nb_json_settings(&again, &second), 0);
        ck_assert_uint_eq(written.length, again.length);
        ck_assert_mem_eq(written.bytes, again.bytes, again.length);
        ck_assert(memcmp(&first.smoothing, &second.smoothing, sizeof first.smoothing) == 0);
        ck_assert_uint_eq(first.weight_count, second.weight_count);
        for (size_t w = 0; w < first.weight_count; w++)
            ck_assert(first.weights[w].weight == second.weights[w].weight);
        nb_settings_deinit(&first);
        nb_settings_deinit(&second);
        nb_buffer_deinit(&written);
        nb_buffer_deinit(&again);
    }
}
END_TEST

START_TEST(wrong_settings_are_refused_by_name)
{
    static const struct {
        const char *json;
        int code;
        const char *word, *also;
    } table[] = {
        {"", NB_INVALID, "nothing", ""},
        {"[]", NB_INVALID, "an object, not an array", ""},
        {"{\"smooothing\": 1}", NB_INVALID, "unknown member \"smooothing\"",
         "did you mean \"smoothing\"?"},
        {"{\"frobnicate\": 1}", NB_INVALID, "unknown member \"frobnicate\"", "skip_top"},
        {"{\"tokenizer_version\": 1}", NB_INVALID, "tokenizer_version", "preset"},
        {"{\"smoothing\": \"1\"}", NB_INVALID,
         "\"smoothing\" must be a number or an object, not a string", ""},
        {"{\"smoothing\": 0}", NB_UNUSABLE, "smoothing", "above"},
        {"{\"smoothing\": -1}", NB_UNUSABLE, "smoothing", ""},
        {"{\"smoothing\": 1e300}", NB_UNUSABLE, "smoothing", "at most"},
        {"{\"smoothing\": {}}", NB_UNUSABLE, "smoothing", "labels"},
        {"{\"smoothing\": {\"alpha\": 1}}", NB_UNUSABLE, "smoothing", "beta"},
        {"{\"smoothing\": {\"m\": 1, \"p\": \"none\"}}", NB_UNUSABLE, "p", "uniform, vocabulary"},
        {"{\"smoothing\": {\"labels\": {\"a\": 0}}}", NB_UNUSABLE, "smoothing", "above 0"},
        {"{\"smoothing\": 1e999}", NB_INVALID, "real number overflow", ""},
        {"{\"event_model\": \"gaussian\"}", NB_UNUSABLE, "event_model",
         "multinomial, binary, bernoulli, complement"},
        {"{\"event_model\": \"bin\\u0000ary\"}", NB_UNUSABLE, "event_model", ""},
        {"{\"event_model\": 1}", NB_INVALID, "event_model", "a string"},
        {"{\"estimate\": \"median\"}", NB_UNUSABLE, "estimate", "mean, map, mle"},
        {"{\"estimate\": \"map\", \"smoothing\": 0.5}", NB_UNUSABLE, "estimate", "at least 1"},
        {"{\"decision\": null}", NB_INVALID, "decision", "not null"},
        {"{\"min_count\": -1}", NB_UNUSABLE, "min_count", "at least 0"},
        {"{\"min_count\": 1.5}", NB_INVALID, "min_count", "a whole number"},
        {"{\"min_count\": \"1\"}", NB_INVALID, "min_count", "a whole number, not a string"},
        {"{\"min_count\": 99999999999}", NB_UNUSABLE, "min_count", "at most"},
        {"{\"prior\": {\"ham\": 1.5, \"spam\": -0.5}}", NB_UNUSABLE, "prior", "spam"},
        {"{\"prior\": {\"ham\": 0}}", NB_UNUSABLE, "prior", "ham"},
        {"{\"prior\": {\"ham\": \"1\"}}", NB_INVALID, "prior", "not a string"},
        {"{\"prior\": {\"ham\": 1, \"ham\": 2}}", NB_INVALID, "duplicate", ""},
        {"{\"prior\": {\"\": 1}}", NB_UNUSABLE, "label", ""},
        {"{\"prior\": {}}", NB_UNUSABLE, "prior", "empirical"},
        {"{\"prior\": {\"dirichlet\": {}}}", NB_INVALID, "dirichlet", "default"},
        {"{\"prior\": {\"dirichlet\": {\"default\": 0}}}", NB_UNUSABLE, "default", "above 0"},
        {"{\"prior\": {\"dirichlet\": {\"default\": 1, \"labels\": {\"a\": 0}}}}", NB_UNUSABLE, "a",
         "above 0"},
        {"{\"prior\": {\"dirichlet\": {\"default\": 1}, \"a\": 1}}", NB_INVALID, "dirichlet",
         "number"},
        {"{\"prior\": \"dirichlet\"}", NB_UNUSABLE, "prior", "empirical, uniform"},
        {"{\"prior\": \"given\"}", NB_UNUSABLE, "prior", "empirical, uniform"},
        {"{\"prior\": 5}", NB_INVALID, "prior", "a string or an object"},
        {"{\"tokenizer\": []}", NB_INVALID, "tokenizer", "an object"},
        {"{\"tokenizer\": {\"feilds\": []}}", NB_INVALID, "feilds", "fields"},
        {"{\"tokenizer\": {\"fields\": [\"bodies\"]}}", NB_UNUSABLE, "bodies", "subject"},
        {"{\"tokenizer\": {\"fields\": [1]}}", NB_INVALID, "fields", "strings"},
        {"{\"tokenizer\": {\"fields\": []}}", NB_UNUSABLE, "tokenizer", "at least one"},
        {"{\"preset\": \"fax\"}", NB_UNUSABLE, "preset", "text, mail, book"},
        {"{\"preset\": 1}", NB_INVALID, "preset", "a string"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_settings s;
        struct nb_error error = {0};
        int rc = nb_json_settings_read(nb_string_of(table[i].json), NULL, false, &s, &error);
        ck_assert_msg(rc == table[i].code && error.code == rc, "row %zu: %d %s", i, rc, error.text);
        ck_assert_msg(strstr(error.text, table[i].word) && strstr(error.text, table[i].also),
                      "row %zu: %s", i, error.text);
    }
}
END_TEST

/* ---- dumps written and read back ------------------------------------------------------------- */

static const char *const dump_labels[] = {"ham", "spam \"\xC3\xA9\""};
static const uint64_t dump_ids[] = {0, UINT64_C(0x0123456789abcdef), 1,
                                    (uint64_t)NB_FIELD_NGRAM << NB_FIELD_SHIFT | 255};
static const struct nb_string dump_texts[] = {{"a", 1}, {"\"\n\0", 3}, {"\xFF", 1}, {"", 0}};
static const uint32_t dump_rows[] = {0, 2, 3};
static const uint32_t dump_counts[] = {1, UINT32_MAX, 7};
#define OCCURRENCES (UINT64_C(8) + UINT32_MAX)

static struct nb_buffer write_dump(bool with_texts)
{
    struct nb_buffer out = {0};
    struct nb_dump_header header = {.label_count = 2, .labels = dump_labels};
    nb_settings_init(&header.settings, NB_PRESET_MAIL);
    header.settings.smoothing = 0.1;
    for (unsigned i = 0; i < NB_KEY_BYTES; i++)
        header.key[i] = (unsigned char)(i * 9);
    struct nb_dump_words words = {
        .first_row = 0, .count = 3, .ids = dump_ids, .texts = with_texts ? dump_texts : NULL};
    struct nb_dump_words rest = {.first_row = 3,
                                 .count = 1,
                                 .ids = dump_ids + 3,
                                 .texts = with_texts ? dump_texts + 3 : NULL};
    struct nb_dump_document document = {.id = {"id \"1\"", 6},
                                        .label = 1,
                                        .learned = 1767225599999,
                                        .tokens = INT64_MAX,
                                        .rows = dump_rows,
                                        .counts = dump_counts,
                                        .size = 3};
    struct nb_dump_document empty = {.id = {"2", 1}};
    ck_assert_int_eq(nb_json_dump_header(&out, &header), 0);
    ck_assert_int_eq(nb_json_dump_words(&out, &words), 0);
    ck_assert_int_eq(nb_json_dump_words(&out, &rest), 0);
    ck_assert_int_eq(nb_json_dump_document(&out, &document), 0);
    ck_assert_int_eq(nb_json_dump_document(&out, &empty), 0);
    ck_assert_int_eq(nb_json_dump_end(&out, &(struct nb_dump_totals){2, 4, OCCURRENCES}), 0);
    return out;
}

static struct nb_string next_line(const struct nb_buffer *dump, size_t *at)
{
    const char *line = dump->bytes + *at;
    const char *feed = memchr(line, '\n', dump->length - *at);
    ck_assert_ptr_nonnull(feed);
    *at += (size_t)(feed - line) + 1;
    return (struct nb_string){line, (size_t)(feed - line)};
}

static void read_next(struct nb_json_dump_reader *reader, const struct nb_buffer *dump, size_t *at,
                      enum nb_json_record_kind kind, struct nb_json_record *record)
{
    struct nb_error error = {0};
    int rc = nb_json_dump_read(reader, 1, next_line(dump, at), record, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    ck_assert_int_eq(record->kind, kind);
}

static void check_header(const struct nb_dump_header *header)
{
    ck_assert_uint_eq(header->label_count, 2);
    ck_assert_str_eq(header->labels[0], dump_labels[0]);
    ck_assert_str_eq(header->labels[1], dump_labels[1]);
    for (unsigned i = 0; i < NB_KEY_BYTES; i++)
        ck_assert_uint_eq(header->key[i], (unsigned char)(i * 9));
    ck_assert(header->settings.smoothing == 0.1);
    ck_assert_int_eq(header->settings.decision, NB_DECISION_STACKED);
    ck_assert_uint_eq(header->settings.tokenizer_version, NB_TOKENIZER_VERSION);
}

static void check_words(const struct nb_dump_words *words, size_t first, size_t count, bool texts)
{
    ck_assert_uint_eq(words->first_row, first);
    ck_assert_uint_eq(words->count, count);
    ck_assert_int_eq(words->texts != NULL, texts);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(words->ids[i], dump_ids[first + i]);
        if (!texts)
            continue;
        /* JSON cannot hold bytes that are not UTF-8. */
        struct nb_string want = dump_texts[first + i];
        if (first + i == 2)
            want = (struct nb_string){"\xEF\xBF\xBD", 3};
        ck_assert_uint_eq(words->texts[i].length, want.length);
        ck_assert(want.length == 0 || memcmp(words->texts[i].bytes, want.bytes, want.length) == 0);
    }
}

START_TEST(dumps_there_and_back)
{
    for (int texts = 0; texts < 2; texts++) {
        struct nb_json_dump_reader *reader;
        struct nb_json_record record;
        struct nb_buffer dump = write_dump(texts);
        size_t at = 0;
        ck_assert_int_eq(nb_json_dump_reader_new(&reader), 0);
        read_next(reader, &dump, &at, NB_JSON_RECORD_HEADER, &record);
        check_header(&record.header);
        read_next(reader, &dump, &at, NB_JSON_RECORD_WORDS, &record);
        check_words(&record.words, 0, 3, texts);
        read_next(reader, &dump, &at, NB_JSON_RECORD_WORDS, &record);
        check_words(&record.words, 3, 1, texts);
        read_next(reader, &dump, &at, NB_JSON_RECORD_DOCUMENT, &record);
        ck_assert_uint_eq(record.document.id.length, 6);
        ck_assert_mem_eq(record.document.id.bytes, "id \"1\"", 6);
        ck_assert_uint_eq(record.document.label, 1);
        ck_assert_int_eq(record.document.learned, 1767225599999);
        ck_assert_uint_eq(record.document.tokens, INT64_MAX);
        ck_assert_uint_eq(record.document.size, 3);
        ck_assert_mem_eq(record.document.rows, dump_rows, sizeof dump_rows);
        ck_assert_mem_eq(record.document.counts, dump_counts, sizeof dump_counts);
        read_next(reader, &dump, &at, NB_JSON_RECORD_DOCUMENT, &record);
        ck_assert_uint_eq(record.document.size, 0);
        ck_assert_int_eq(nb_json_dump_finish(reader, NULL), NB_INVALID);
        read_next(reader, &dump, &at, NB_JSON_RECORD_END, &record);
        ck_assert_int_eq(nb_json_dump_read(reader, 1, nb_string_of(" \r\n"), &record, NULL), 0);
        ck_assert_int_eq(record.kind, NB_JSON_RECORD_BLANK);
        ck_assert_int_eq(nb_json_dump_finish(reader, NULL), 0);
        nb_json_dump_reader_free(&reader);
        nb_buffer_deinit(&dump);
    }
}
END_TEST

START_TEST(long_runs_of_words_become_several_lines)
{
    enum { WORDS = 10000 };
    static uint64_t ids[WORDS];
    static struct nb_string texts[WORDS];
    for (size_t i = 0; i < WORDS; i++) {
        ids[i] = i;
        texts[i] = (struct nb_string){"word", 4};
    }
    struct nb_buffer out = {0};
    struct nb_dump_header header = {0};
    struct nb_dump_words words = {.count = WORDS, .ids = ids, .texts = texts};
    nb_settings_init(&header.settings, NB_PRESET_TEXT);
    ck_assert_int_eq(nb_json_dump_header(&out, &header), 0);
    ck_assert_int_eq(nb_json_dump_words(&out, &words), 0);
    ck_assert_int_eq(nb_json_dump_end(&out, &(struct nb_dump_totals){0, WORDS, 0}), 0);
    struct nb_json_dump_reader *reader;
    struct nb_json_record record;
    size_t at = 0, seen = 0, lines = 0;
    ck_assert_int_eq(nb_json_dump_reader_new(&reader), 0);
    read_next(reader, &out, &at, NB_JSON_RECORD_HEADER, &record);
    while (seen < WORDS) {
        read_next(reader, &out, &at, NB_JSON_RECORD_WORDS, &record);
        for (size_t i = 0; i < record.words.count; i++)
            ck_assert_uint_eq(record.words.ids[i], seen++);
        lines++;
    }
    ck_assert_uint_gt(lines, 1);
    read_next(reader, &out, &at, NB_JSON_RECORD_END, &record);
    nb_json_dump_reader_free(&reader);
    nb_buffer_deinit(&out);
}
END_TEST

/* ---- dumps refused --------------------------------------------------------------------------- */

#define KEY "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\""
#define FIRST(labels)                                                                              \
    "{\"bayesd_dump\":1,\"tokenizer_version\":2,\"settings\":{},\"key\":" KEY                      \
    ",\"labels\":[" labels "],\"texts\":true}\n"
#define WORDS2                                                                                     \
    "{\"words\":{\"first_row\":0,\"ids\":[\"0000000000000001\",\"0000000000000002\"],"             \
    "\"texts\":null}}\n"
#define DOCUMENT(members) "{\"document\":{\"id\":\"1\"," members "}}\n"
#define GOOD_DOCUMENT                                                                              \
    DOCUMENT("\"label\":0,\"learned\":1,\"tokens\":1,\"rows\":[0,1],\"counts\":[1,2]")
#define HEAD FIRST("\"a\"") WORDS2

static const struct {
    const char *dump;
    const char *words[2]; /* words that the message must have */
} refused[] = {
    {"", {"cut off", "\"end\""}},
    {"{\"not\": \"a dump\"}\n", {"line 1: not a dump", "bayesd_dump"}},
    {"[]\n", {"line 1: not a dump", ""}},
    {"{broken\n", {"line 1: not valid JSON", "column"}},
    {"{\"bayesd_dump\": 2, \"more\": 1}\n", {"line 1: dump version 2 is not known", "1 to 1"}},
    {"{\"bayesd_dump\": 1}\n", {"line 1:", "tokenizer_version"}},
    {"{\"bayesd_dump\":1,\"tokenizer_version\":99,\"settings\":{},\"key\":" KEY
     ",\"labels\":[],\"texts\":true}\n",
     {"line 1: tokenizer version 99", "not known"}},
    {"{\"bayesd_dump\":1,\"tokenizer_version\":2,\"settings\":{},\"key\":\"AAAA\",\"labels\":[],"
     "\"texts\":true}\n",
     {"line 1:", "\"key\""}},
    {"{\"bayesd_dump\":1,\"tokenizer_version\":2,\"settings\":{\"smoothing\":0},\"key\":" KEY
     ",\"labels\":[],\"texts\":true}\n",
     {"line 1:", "smoothing"}},
    {FIRST("\"a\",\"b\",\"a\""), {"line 1:", "\"a\" is listed twice"}},
    {FIRST("\"\""), {"line 1:", "label"}},
    {FIRST("5"), {"line 1:", "labels"}},
    {HEAD, {"cut off after line 2", ""}},
    {HEAD FIRST("\"a\""), {"line 3:", "unknown member"}},
    {HEAD "{}\n", {"line 3:", "one of"}},
    {HEAD WORDS2, {"line 3:", "\"first_row\" is 0 where 2 is next"}},
    {FIRST("\"a\"") "{\"words\":{\"first_row\":0,\"ids\":[\"1\"],\"texts\":null}}\n",
     {"line 2:", "\"ids\" number 0"}},
    {FIRST("\"a\"") "{\"words\":{\"first_row\":0,\"ids\":[\"ffffffffffffffff\"],\"texts\":null}}\n",
     {"line 2:", "\"ids\" number 0"}},
    {FIRST("\"a\"") "{\"words\":{\"first_row\":0,\"ids\":[1],\"texts\":null}}\n",
     {"line 2:", "\"ids\" number 0"}},
    {FIRST("\"a\"") "{\"words\":{\"first_row\":0,\"ids\":[],\"texts\":[\"a\"]}}\n",
     {"line 2:", "\"texts\" has 1"}},
    {FIRST("\"a\"") "{\"words\":{\"first_row\":0,\"ids\":[\"0000000000000001\"],\"texts\":[1]}}\n",
     {"line 2:", "\"texts\" number 0"}},
    {HEAD GOOD_DOCUMENT "{\"words\":{\"first_row\":2,\"ids\":[],\"texts\":null}}\n",
     {"line 4:", "after a document"}},
    {HEAD DOCUMENT("\"label\":1,\"learned\":1,\"tokens\":1,\"rows\":[],\"counts\":[]"),
     {"line 3:", "\"label\" must be in 0 to 0, not 1"}},
    {HEAD DOCUMENT("\"label\":0,\"learned\":-1,\"tokens\":1,\"rows\":[],\"counts\":[]"),
     {"line 3:", "\"learned\""}},
    {HEAD DOCUMENT("\"label\":0,\"learned\":1,\"tokens\":-1,\"rows\":[],\"counts\":[]"),
     {"line 3:", "\"tokens\""}},
    {HEAD DOCUMENT("\"label\":0,\"learned\":1,\"tokens\":1.5,\"rows\":[],\"counts\":[]"),
     {"line 3:", "\"tokens\" must be a whole number"}},
    {HEAD DOCUMENT("\"label\":0,\"learned\":1,\"tokens\":1,\"rows\":[2],\"counts\":[1]"),
     {"line 3:", "\"rows\" number 0"}},
    {HEAD DOCUMENT("\"label\":0,\"learned\":1,\"tokens\":1,\"rows\":[1,1],\"counts\":[1,1]"),
     {"line 3:", "\"rows\" number 1 is not above"}},
    {HEAD DOCUMENT("\"label\":0,\"learned\":1,\"tokens\":1,\"rows\":[1],\"counts\":[0]"),
     {"line 3:", "\"counts\" number 0"}},
    {HEAD DOCUMENT("\"label\":0,\"learned\":1,\"tokens\":1,\"rows\":[1],\"counts\":[4294967296]"),
     {"line 3:", "\"counts\" number 0"}},
    {HEAD DOCUMENT("\"label\":0,\"learned\":1,\"tokens\":1,\"rows\":[1],\"counts\":[]"),
     {"line 3:", "\"counts\" has 0"}},
    {HEAD DOCUMENT("\"label\":0,\"learned\":1,\"tokens\":1,\"rows\":[1]"), {"line 3:", "counts"}},
    {HEAD DOCUMENT("\"id\":\"2\""), {"line 3:", "duplicate"}},
    {HEAD "{\"document\":{\"id\":\"\",\"label\":0,\"learned\":1,\"tokens\":1,\"rows\":[],"
          "\"counts\":[]}}\n",
     {"line 3:", "id"}},
    {HEAD GOOD_DOCUMENT "{\"end\":{\"documents\":2,\"words\":2}}\n",
     {"line 4: the dump should have 2 documents", "has 1 and 2"}},
    {HEAD GOOD_DOCUMENT "{\"end\":{\"documents\":1,\"words\":3}}\n", {"line 4:", "3 words"}},
    {HEAD GOOD_DOCUMENT "{\"end\":{\"documents\":1,\"words\":2}}\n\n" GOOD_DOCUMENT,
     {"line 6:", "after the end"}},
};

/* Reads a whole dump; returns the first failure, which may be that of its end. */
static int read_dump(const char *dump, struct nb_error *error)
{
    struct nb_json_dump_reader *reader;
    struct nb_json_record record;
    ck_assert_int_eq(nb_json_dump_reader_new(&reader), 0);
    int rc = 0;
    for (uint64_t number = 1; *dump != '\0' && rc == 0; number++) {
        size_t length = strcspn(dump, "\n") + 1;
        rc = nb_json_dump_read(reader, number, (struct nb_string){dump, length}, &record, error);
        dump += length;
    }
    if (rc == 0)
        rc = nb_json_dump_finish(reader, error);
    nb_json_dump_reader_free(&reader);
    ck_assert_ptr_null(reader);
    return rc;
}

START_TEST(wrong_dumps_are_refused_with_their_line)
{
    struct nb_error error = {0};
    ck_assert_int_eq(
        read_dump(HEAD GOOD_DOCUMENT "{\"end\":{\"documents\":1,\"words\":2}}\n", NULL), 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int rc = read_dump(refused[i].dump, &error);
        ck_assert_msg(rc == NB_INVALID && error.code == rc, "row %zu: %d %s", i, rc, error.text);
        ck_assert_msg(strstr(error.text, refused[i].words[0]) != NULL &&
                          strstr(error.text, refused[i].words[1]) != NULL,
                      "row %zu: %s", i, error.text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec_settings");
    TCase *settings = tcase_create("settings");
    tcase_add_test(settings, nothing_said_is_the_default);
    tcase_add_test(settings, fields_that_are_counted_stay);
    tcase_add_test(settings, every_setting_is_read);
    tcase_add_test(settings, settings_there_and_back);
    tcase_add_test(settings, wrong_settings_are_refused_by_name);
    suite_add_tcase(suite, settings);
    TCase *dumps = tcase_create("dumps");
    tcase_add_test(dumps, dumps_there_and_back);
    tcase_add_test(dumps, long_runs_of_words_become_several_lines);
    tcase_add_test(dumps, wrong_dumps_are_refused_with_their_line);
    suite_add_tcase(suite, dumps);
    return test_run(suite);
}
