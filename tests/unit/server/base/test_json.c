/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON codec: values read back as written, and wrong members are refused by name.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/document_json.h"
#include "server/base/dump_json.h"
#include "server/base/emit.h"
#include "server/base/json_values.h"
#include "server/base/model_json.h"
#include "server/base/problem.h"
#include "server/base/settings_json.h"
#include "server/base/time.h"

#include "tests/fuzz/fuzz_codec.c"
#include "tests/unit/run.h"

/* A seeded generator in this file (splitmix64), so that a failure repeats on every machine. */
static uint64_t seed;

static uint64_t draw(void)
{
    uint64_t z = seed += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

static void begin_random(uint64_t value)
{
    seed = value;
    printf("seed %llu\n", (unsigned long long)value);
}

/* Parses the contents of a buffer with jansson, which does not write the replies, and empties the
 * buffer. */
static json_t *parsed(struct nb_buffer *out)
{
    json_error_t fault;
    json_t *value = json_loadb(out->bytes, out->length,
                               JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &fault);
    ck_assert_msg(value != NULL, "%s in %.*s", fault.text, (int)out->length, out->bytes);
    ck_assert_ptr_null(memchr(out->bytes, '\n', out->length));
    nb_buffer_deinit(out);
    return value;
}

static const json_t *at(const json_t *value, const char *name)
{
    const json_t *member = json_object_get(value, name);
    ck_assert_msg(member != NULL, "no member %s", name);
    return member;
}

static void is_text(const json_t *value, const char *name, const char *want)
{
    ck_assert_str_eq(json_string_value(at(value, name)), want);
}

static void is_count(const json_t *value, const char *name, json_int_t want)
{
    ck_assert_int_eq(json_integer_value(at(value, name)), want);
}

static void is_bits(const json_t *value, double want)
{
    double got = json_number_value(value);
    ck_assert_msg(memcmp(&got, &want, sizeof got) == 0, "%.17g is not %.17g", got, want);
}

static const struct nb_string model = {"mail", 4};

/* ---- writing --------------------------------------------------------------------------------- */

static void writes_double(double value)
{
    struct nb_buffer out = {0};
    struct nb_emitter e = nb_emit_begin(&out);
    nb_emit_double(&e, value);
    ck_assert_int_eq(nb_emit_end(&e), 0);
    ck_assert_uint_le(out.length, 25);
    json_t *number = parsed(&out);
    ck_assert(json_is_real(number));
    is_bits(number, value);
    json_decref(number);
    e = nb_emit_begin(&out);
    nb_emit_short_double(&e, value);
    number = parsed(&out);
    is_bits(number, value);
    json_decref(number);
}

START_TEST(numbers_read_back_to_the_last_bit)
{
    static const double table[] = {
        0.0,     1.0,   -1.0,  0.1,     0.5,   1e15,   1e16,    99999999999999984.0,
        1e17,    1e-15, 1e-16, 123456., 1e100, 5e-324, 0.00001, 0.000099999,
        1.0 / 3, 10.0,  1e-5,  9.5,     1e22,  1e-7,   -0.0,    1.7976931348623157e308};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        writes_double(table[i]);
    begin_random(7);
    for (int i = 0; i < 40000; i++) {
        uint64_t bits = draw();
        double any;
        memcpy(&any, &bits, sizeof any);
        if (isfinite(any))
            writes_double(any);
        /* The range of the fast path, with all decimal exponents equally often. */
        writes_double(pow(10, (double)(draw() % 33000) / 1000 - 16) * (draw() % 2 ? 1 : -1));
        writes_double((double)draw() / 18446744073709551616.0);
    }
    /* The neighbours of powers of ten, where the decimal exponent is hardest to guess. */
    for (int e = -16; e <= 18; e++) {
        double power = pow(10, e);
        writes_double(nextafter(power, 0));
        writes_double(nextafter(power, HUGE_VAL));
        writes_double(power);
    }
}
END_TEST

START_TEST(numbers_look_as_printf_would_write_them)
{
    static const struct {
        double value;
        const char *text, *brief;
    } table[] = {
        {1, "1.0", "1.0"},
        {0, "0.0", "0.0"},
        {0.5, "0.5", "0.5"},
        {-1041.25, "-1041.25", "-1041.25"},
        {0.1, "0.10000000000000001", "0.1"},
        {0.01, "0.01", "0.01"},
        {100, "100.0", "100.0"},
        {1e-7, "9.9999999999999995e-08", "1e-07"},
        {5e-7, "4.9999999999999998e-07", "5e-07"},
        {0x1p-24, "5.9604644775390625e-08", "5.9604644775390625e-08"},
        {0x1p-10, "0.0009765625", "0.0009765625"},
        {9007199254740993.0, "9007199254740992.0", "9007199254740992.0"},
        {1e16, "10000000000000000.0", "1e+16"},
        {HUGE_VAL, "null", "null"},
        {(double)NAN, "null", "null"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_buffer out = {0};
        struct nb_emitter e = nb_emit_begin(&out);
        nb_emit_double(&e, table[i].value);
        nb_emit_short_double(&e, table[i].value);
        char want[80];
        snprintf(want, sizeof want, "%s,%s", table[i].text, table[i].brief);
        ck_assert_msg(out.length == strlen(want) && memcmp(out.bytes, want, out.length) == 0,
                      "row %zu: %.*s", i, (int)out.length, out.bytes);
        nb_buffer_deinit(&out);
    }
}
END_TEST

/* Bayes by the book often gives very small probabilities. */
START_TEST(small_numbers_look_as_printf_would_write_them)
{
    begin_random(10);
    for (int i = 0; i < 200000; i++) {
        double value = pow(10, -15.5 - (double)(draw() % 290000) / 1000);
        if (i % 10 == 0)
            value = pow(10, -16 - (double)(draw() % 290));
        if (i % 20 == 0)
            value = nextafter(value, (double)(draw() % 2));
        value = draw() % 2 ? value : -value;
        char want[80], text[NB_NUMBER_TEXT];
        snprintf(want, sizeof want, "%.17g", value);
        size_t length = (size_t)(nb_number_text_double(text, value) - text);
        ck_assert_msg(length == strlen(want) && memcmp(text, want, length) == 0, "%.*s, not %s",
                      (int)length, text, want);
    }
}
END_TEST

/* Writes a number with printf: with the fewest digits, at least 15, that read back as the same
 * number, and with a point. */
static void brief_by_printf(double value, char *text, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    if (strpbrk(text, ".e") == NULL)
        strcat(text, ".0");
}

static void writes_as_printf(double value)
{
    char want[80];
    struct nb_buffer out = {0};
    struct nb_emitter e = nb_emit_begin(&out);
    nb_emit_short_double(&e, value);
    ck_assert_int_eq(nb_emit_end(&e), 0);
    brief_by_printf(value, want, sizeof want);
    ck_assert_msg(out.length == strlen(want) && memcmp(out.bytes, want, out.length) == 0,
                  "%.*s, not %s", (int)out.length, out.bytes, want);
    nb_buffer_deinit(&out);
}

/* Numbers of few decimals and their neighbours are written without printf. */
START_TEST(decimals_look_as_printf_would_write_them)
{
    static const double units[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 1e7, 1e8, 1e9, 1e10};
    begin_random(8);
    for (int i = 0; i < 20000; i++) {
        double whole = (double)(draw() % ((uint64_t)1 << draw() % 50)) * (draw() % 2 ? 1 : -1);
        double value = whole / units[draw() % (sizeof units / sizeof *units)];
        writes_as_printf(value);
        writes_as_printf(nextafter(value, HUGE_VAL));
    }
    for (double edge = 1e9 - 1; edge <= 1e9 + 1; edge += 0.5)
        writes_as_printf(edge);
    writes_as_printf(-0.0);
}
END_TEST

static void writes_fixed_as_printf(double value)
{
    for (unsigned decimals = 0; decimals <= 4; decimals++)
        for (int plus = 0; plus < 2; plus++) {
            char want[80], text[NB_NUMBER_TEXT];
            snprintf(want, sizeof want, plus ? "%+.*f" : "%.*f", (int)decimals, value);
            size_t length = (size_t)(nb_number_text_fixed(text, value, decimals, plus) - text);
            ck_assert_msg(length == strlen(want) && memcmp(text, want, length) == 0, "%.*s, not %s",
                          (int)length, text, want);
        }
}

START_TEST(numbers_of_fixed_decimals_look_as_printf_would_write_them)
{
    static const double units[] = {1, 2, 8, 16, 1024, 10, 100, 1000, 10000, 100000};
    begin_random(9);
    for (int i = 0; i < 20000; i++) {
        double whole = (double)(draw() % ((uint64_t)1 << draw() % 30)) * (draw() % 2 ? 1 : -1);
        double value = whole / units[draw() % (sizeof units / sizeof *units)];
        writes_fixed_as_printf(value);
        writes_fixed_as_printf(nextafter(value, HUGE_VAL));
        writes_fixed_as_printf((double)draw() / 18446744073709551616.0);
        writes_fixed_as_printf(pow(10, (double)(draw() % 40000) / 1000 - 31));
    }
    static const double table[] = {0.0,     -0.0,   0.5,    1.5,         2.5,      0.125,
                                   0.00005, 5e-324, -1e-20, 999999999.5, HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        writes_fixed_as_printf(table[i]);
}
END_TEST

START_TEST(whole_numbers_at_their_ends)
{
    struct nb_buffer out = {0};
    struct nb_emitter e = nb_emit_begin(&out);
    nb_emit_open(&e, '[');
    nb_emit_u64(&e, 0);
    nb_emit_u64(&e, UINT64_MAX);
    nb_emit_i64(&e, INT64_MIN);
    nb_emit_i64(&e, INT64_MAX);
    nb_emit_close(&e, ']');
    const char *want = "[0,18446744073709551615,-9223372036854775808,9223372036854775807]";
    ck_assert_uint_eq(out.length, strlen(want));
    ck_assert_mem_eq(out.bytes, want, out.length);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(strings_are_valid_whatever_the_bytes)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *json;
    } table[] = {
        {"", 0, "\"\""},
        {"a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
        {"\n\r\t\b\f\v\0\x1f\x7f", 9, "\"\\n\\r\\t\\b\\f\\u000b\\u0000\\u001f\x7f\""},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x92\xB0", 9, "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x92\xB0\""},
        {"\xE2\x80\xA8", 3, "\"\xE2\x80\xA8\""},         /* U+2028 */
        {"\xFFz", 2, "\"\xEF\xBF\xBDz\""},               /* cannot begin a character */
        {"\xC3", 1, "\"\xEF\xBF\xBD\""},                 /* cut off */
        {"\xC0\x80", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* overlong */
        {"\xE0\x9F\xBF", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* surrogate */
        {"\xF4\x90\x80\x80", 4, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_buffer out = {0};
        ck_assert_int_eq(nb_json_string(&out, (struct nb_string){table[i].bytes, table[i].length}),
                         0);
        ck_assert_msg(out.length == strlen(table[i].json) &&
                          memcmp(out.bytes, table[i].json, out.length) == 0,
                      "row %zu: %.*s", i, (int)out.length, out.bytes);
        nb_buffer_deinit(&out);
    }
}
END_TEST

/* Blocks of sixteen bytes, and of four to fifteen, are copied at once: the odd byte may be anywhere
 * in them. */
START_TEST(an_odd_byte_is_escaped_at_every_place)
{
    static const struct {
        char byte;
        const char *text;
    } odd[] = {
        {'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\x80', "\xEF\xBF\xBD"}, {'\0', "\\u0000"}};
    enum { LONGEST = 40, ODD = sizeof odd / sizeof *odd };
    for (size_t length = 1; length <= LONGEST; length++)
        for (size_t at = 0; at <= length; at++) /* at == length: no odd byte */
            for (size_t k = 0; k < ODD; k++) {
                char *bytes = malloc(length), want[LONGEST + 16];
                struct nb_buffer out = {0};
                memset(bytes, 'x', length);
                if (at < length)
                    bytes[at] = odd[k].byte;
                int rest = (int)(length - at - (at < length));
                snprintf(want, sizeof want, "\"%.*s%s%.*s\"", (int)at, bytes,
                         at < length ? odd[k].text : "", rest, bytes + length - rest);
                ck_assert_int_eq(nb_json_string(&out, (struct nb_string){bytes, length}), 0);
                ck_assert_msg(out.length == strlen(want) &&
                                  memcmp(out.bytes, want, out.length) == 0,
                              "%.*s, not %s", (int)out.length, out.bytes, want);
                nb_buffer_deinit(&out);
                free(bytes);
            }
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(every_code_has_a_status_and_every_status_a_title)
{
    static const struct {
        int code, status;
        const char *title;
    } table[] = {
        {NB_OK, 200, "OK"},
        {NB_NO_MEMORY, 503, "Service Unavailable"},
        {NB_INVALID, 400, "Bad Request"},
        {NB_UNUSABLE, 422, "Unprocessable Content"},
        {NB_TOO_LARGE, 413, "Content Too Large"},
        {NB_NOT_FOUND, 404, "Not Found"},
        {NB_CONFLICT, 409, "Conflict"},
        {NB_UNSUPPORTED, 415, "Unsupported Media Type"},
        {NB_IO, 503, "Service Unavailable"},
        {NB_DISK_FULL, 503, "Service Unavailable"},
        {NB_CORRUPT, 503, "Service Unavailable"},
        {NB_VERSION, 503, "Service Unavailable"},
        {NB_LOCKED, 503, "Service Unavailable"},
        {NB_STOPPING, 503, "Service Unavailable"},
        {NB_EXISTS, 409, "Conflict"},
        {-999, 500, "Internal Server Error"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ck_assert_int_eq(nb_json_status(table[i].code), table[i].status);
        ck_assert_str_eq(nb_json_title(table[i].status), table[i].title);
    }
    ck_assert_str_eq(nb_json_title(499), "Bad Request");
    ck_assert_str_eq(nb_json_title(599), "Internal Server Error");
}
END_TEST

static void is_problem(const json_t *problem, int status, const char *title, const char *detail)
{
    ck_assert_uint_ge(json_object_size(problem), 5); /* these and the code */
    is_text(problem, "type", "about:blank");
    is_text(problem, "title", title);
    is_count(problem, "status", status);
    is_text(problem, "detail", detail);
}

START_TEST(problems)
{
    struct nb_buffer out = {0};
    struct nb_error error;
    nb_error_set(&error, NB_UNUSABLE, "label \"%s\"", "a\nb");
    (void)nb_error_about(&error, error.code, NULL, "label");
    struct nb_problem problem = {.status = nb_json_status(error.code),
                                 .detail = error.text,
                                 .code = nb_json_code(&error),
                                 .param = error.param,
                                 .request = 0x1f};
    ck_assert_int_eq(nb_json_problem(&out, &problem), 0);
    json_t *value = parsed(&out);
    is_problem(value, 422, "Unprocessable Content", "label \"a\nb\"");
    is_text(value, "code", "unusable_value");
    is_text(value, "param", "label");
    is_text(value, "request_id", "000000000000001f");
    json_decref(value);
    problem = (struct nb_problem){.status = 405};
    ck_assert_int_eq(nb_json_problem(&out, &problem), 0);
    value = parsed(&out);
    is_text(value, "code", "method_not_allowed");
    ck_assert(json_object_get(value, "param") == NULL);
    ck_assert(json_object_get(value, "request_id") == NULL);
    is_problem(value, 405, "Method Not Allowed", "Method Not Allowed");
    json_decref(value);
    problem = (struct nb_problem){.status = 400, .detail = "cut off: \xE2\x82"};
    ck_assert_int_eq(nb_json_problem(&out, &problem), 0);
    value = parsed(&out);
    is_problem(value, 400, "Bad Request", "cut off: \xEF\xBF\xBD\xEF\xBF\xBD");
    json_decref(value);
}
END_TEST

/* ---- documents ------------------------------------------------------------------------------- */

static bool same(struct nb_string got, const char *want, size_t length)
{
    return got.length == length && (length == 0 || memcmp(got.bytes, want, length) == 0);
}

#define BYTES(literal) (literal), sizeof(literal) - 1

static const struct {
    const char *json;
    size_t json_length;
    enum nb_verb verb;
    enum nb_document_kind kind;
    const char *content;
    size_t length;
    const char *label, *id;
} good[] = {
    {BYTES("{\"text\":\"hello\"}"), NB_VERB_CLASSIFY, NB_DOCUMENT_TEXT, BYTES("hello"), "", ""},
    {BYTES(" {\r\n \"text\" :\t\"\" } "), NB_VERB_CLASSIFY, NB_DOCUMENT_TEXT, BYTES(""), "", ""},
    {BYTES("{\"text\":\"a\",\"label\":\"x\",\"id\":\"7\"}"), NB_VERB_TRAIN, NB_DOCUMENT_TEXT,
     BYTES("a"), "x", "7"},
    {BYTES("{\"text\":\"a\",\"label\":\"x\",\"id\":\"7\"}"), NB_VERB_CLASSIFY, NB_DOCUMENT_TEXT,
     BYTES("a"), "x", "7"},
    {BYTES("{\"te\\u0078t\":\"a\\n\",\"label\":\"x\"}"), NB_VERB_TRAIN, NB_DOCUMENT_TEXT,
     BYTES("a\n"), "x", ""},
    {BYTES("{\"label\":\"\\u00e9t\\u00E9\",\"mail\":\"Subject: "
           "\\u20ac\\r\\n\\r\\n\\\"\\/\\\\\\b\\f\\t\"}"),
     NB_VERB_TRAIN, NB_DOCUMENT_MAIL, BYTES("Subject: \xE2\x82\xAC\r\n\r\n\"/\\\b\f\t"),
     "\xC3\xA9t\xC3\xA9", ""},
    {BYTES("{\"text\":\"\\u0000\\ud83d\\udcb0\\u007f\\u0080\\uFFFF\"}"), NB_VERB_CLASSIFY,
     NB_DOCUMENT_TEXT, BYTES("\0\xF0\x9F\x92\xB0\x7f\xC2\x80\xEF\xBF\xBF"), "", ""},
    {BYTES("{\"text\":\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x92\xB0 and then plain letters\"}"),
     NB_VERB_CLASSIFY, NB_DOCUMENT_TEXT,
     BYTES("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x92\xB0 and then plain letters"), "", ""},
    {BYTES("{\"mail_base64\":\"U3ViamVjdDog\\n Zm9v\\r\\n/+8=\"}"), NB_VERB_CLASSIFY,
     NB_DOCUMENT_MAIL, BYTES("Subject: foo\xFF\xEF"), "", ""},
    {BYTES("{\"mail_base64\":\"AA==\",\"id\":\"\\\"\"}"), NB_VERB_UNTRAIN, NB_DOCUMENT_MAIL,
     BYTES("\0"), "", "\""},
    {BYTES("{\"mail_base64\":\"\"}"), NB_VERB_CLASSIFY, NB_DOCUMENT_MAIL, BYTES(""), "", ""},
    {BYTES("{\"text\":\"\"}"), NB_VERB_UNTRAIN, NB_DOCUMENT_TEXT, BYTES(""), "", ""},
};

START_TEST(documents_are_read)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct nb_json_document d;
        struct nb_error error = {0};
        struct nb_string text = {good[i].json, good[i].json_length};
        int rc = nb_json_document_read(text, good[i].verb, &d, &error);
        ck_assert_msg(rc == 0, "row %zu: %s", i, error.text);
        struct nb_string content = {d.document.bytes, d.document.length};
        ck_assert_msg(same(content, good[i].content, good[i].length), "row %zu", i);
        ck_assert_msg(d.has_content && d.document.kind == good[i].kind, "row %zu", i);
        ck_assert_msg(same(d.label, good[i].label, strlen(good[i].label)), "row %zu", i);
        ck_assert_msg(same(d.id, good[i].id, strlen(good[i].id)), "row %zu", i);
        nb_json_document_deinit(&d);
        nb_json_document_deinit(&d);
    }
}
END_TEST

START_TEST(an_id_alone_is_enough_to_untrain)
{
    struct nb_json_document d;
    struct nb_string text = {BYTES("{\"id\":\"gone\"}")};
    ck_assert_int_eq(nb_json_document_read(text, NB_VERB_UNTRAIN, &d, NULL), 0);
    ck_assert(!d.has_content && same(d.id, "gone", 4) && d.document.length == 0);
    nb_json_document_deinit(&d);
}
END_TEST

#define L16 "llllllllllllllll"
#define L64 L16 L16 L16 L16

static const struct {
    const char *json;
    size_t length;
    enum nb_verb verb;
    int code;
    const char *word;
} bad[] = {
    {BYTES(""), NB_VERB_CLASSIFY, NB_INVALID, "nothing"},
    {BYTES("{"), NB_VERB_CLASSIFY, NB_INVALID, "column 1"},
    {BYTES("{\n\"text\": x}"), NB_VERB_CLASSIFY, NB_INVALID, "line 2, column 9"},
    {BYTES("{broken"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\":\"a\",\"text\":\"b\"}"), NB_VERB_CLASSIFY, NB_INVALID, "duplicate"},
    {BYTES("{\"text\": \"\xff\"}"), NB_VERB_CLASSIFY, NB_INVALID, "0xff"},
    {BYTES("{\"text\": \"\xed\xa0\x80\"}"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\": \"\\ud800\"}"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\": \"\\udc00\\ud800\"}"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\": \"\\ud83d\\u0041\"}"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\": \"\\ud83d\\n12345\"}"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\": \"\\x\"}"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\": \"a\nb\"}"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\": \"a\0b\"}"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\": \"a\"} x"), NB_VERB_CLASSIFY, NB_INVALID, "end of file"},
    {BYTES("{\"text\": \"a\"}{\"text\": \"b\"}"), NB_VERB_CLASSIFY, NB_INVALID, "end of file"},
    {BYTES("{\"text\": \"a\",}"), NB_VERB_CLASSIFY, NB_INVALID, "not valid JSON"},
    {BYTES("{\"text\": 5}"), NB_VERB_CLASSIFY, NB_INVALID,
     "\"text\" must be a string, not a number"},
    {BYTES("{\"text\": null}"), NB_VERB_CLASSIFY, NB_INVALID,
     "\"text\" must be a string, not null"},
    {BYTES("{\"text\": [\"a\"]}"), NB_VERB_CLASSIFY, NB_INVALID, "not an array"},
    {BYTES("{\"text\": \"a\", \"label\": true}"), NB_VERB_CLASSIFY, NB_INVALID, "\"label\""},
    {BYTES("{\"txet\": \"x\"}"), NB_VERB_CLASSIFY, NB_INVALID,
     "unknown member \"txet\" of a document: did you mean \"text\"?"},
    {BYTES("{\"text\": \"x\", \"mail\": \"y\"}"), NB_VERB_CLASSIFY, NB_INVALID,
     "\"text\" and \"mail\""},
    {BYTES("{\"mail_base64\": \"\", \"mail\": \"y\"}"), NB_VERB_CLASSIFY, NB_INVALID,
     "mail_base64"},
    {BYTES("{}"), NB_VERB_CLASSIFY, NB_INVALID, "text"},
    {BYTES("{\"id\": \"x\"}"), NB_VERB_CLASSIFY, NB_INVALID, "text"},
    {BYTES("{\"label\": \"x\"}"), NB_VERB_UNTRAIN, NB_INVALID, "id"},
    {BYTES("5"), NB_VERB_CLASSIFY, NB_INVALID, "an object, not a number"},
    {BYTES("[]"), NB_VERB_CLASSIFY, NB_INVALID, "an object, not an array"},
    {BYTES("{\"text\": \"x\"}"), NB_VERB_TRAIN, NB_INVALID, "label"},
    {BYTES("{\"text\": \"x\", \"label\": \"\"}"), NB_VERB_TRAIN, NB_UNUSABLE, "label"},
    {BYTES("{\"text\": \"x\", \"label\": \"" L64 "l\"}"), NB_VERB_TRAIN, NB_UNUSABLE, "label"},
    {BYTES("{\"text\": \"x\", \"label\": \"a\\nb\"}"), NB_VERB_TRAIN, NB_UNUSABLE, "label"},
    {BYTES("{\"text\": \"x\", \"label\": \"a\\u0000\"}"), NB_VERB_CLASSIFY, NB_UNUSABLE, "label"},
    {BYTES("{\"text\": \"x\", \"id\": \"\"}"), NB_VERB_CLASSIFY, NB_UNUSABLE, "id"},
    {BYTES("{\"id\": \"" L64 L64 L64 L64 "i\"}"), NB_VERB_UNTRAIN, NB_UNUSABLE, "id"},
    {BYTES("{\"mail_base64\": \"%%%\"}"), NB_VERB_CLASSIFY, NB_INVALID, "mail_base64"},
    {BYTES("{\"mail_base64\": \"AAA\"}"), NB_VERB_CLASSIFY, NB_INVALID, "mail_base64"},
    {BYTES("{\"mail_base64\": \"AB==\"}"), NB_VERB_CLASSIFY, NB_INVALID, "mail_base64"},
    {BYTES("{\"mail_base64\": \"AA==AA==\"}"), NB_VERB_CLASSIFY, NB_INVALID, "mail_base64"},
    {BYTES("{\"mail_base64\": \"-_8=\"}"), NB_VERB_CLASSIFY, NB_INVALID, "mail_base64"},
};

START_TEST(wrong_documents_are_refused_by_name)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct nb_json_document d;
        struct nb_error error = {0};
        struct nb_string text = {bad[i].json, bad[i].length};
        int rc = nb_json_document_read(text, bad[i].verb, &d, &error);
        ck_assert_msg(rc == bad[i].code && error.code == rc, "row %zu: %d %s", i, rc, error.text);
        ck_assert_msg(strstr(error.text, bad[i].word) != NULL, "row %zu: %s", i, error.text);
        /* The same document as a whole body is also refused. */
        struct nb_json_body *body = NULL;
        rc = nb_json_body_new(text, 10, &body, NULL);
        if (rc == 0) {
            ck_assert(!nb_json_body_is_batch(body));
            rc = nb_json_body_document(body, 0, bad[i].verb, &d, NULL);
        }
        ck_assert_msg(rc == bad[i].code, "row %zu: %d", i, rc);
        nb_json_body_free(&body);
    }
}
END_TEST

START_TEST(nesting_and_numbers_of_values_are_bounded)
{
    static char deep[100000], wide[400000];
    struct nb_json_document d;
    struct nb_json_body *body;
    struct nb_error error;
    memset(deep, '[', sizeof deep);
    struct nb_string text = {deep, sizeof deep};
    ck_assert_int_eq(nb_json_body_new(text, 1000000, &body, &error), NB_INVALID);
    ck_assert_msg(strstr(error.text, "depth") != NULL, "%s", error.text);
    ck_assert_int_eq(nb_json_document_read(text, NB_VERB_CLASSIFY, &d, &error), NB_INVALID);
    for (size_t i = 0; i < sizeof wide; i += 2)
        memcpy(wide + i, "0,", 2);
    wide[0] = '[';
    text = (struct nb_string){wide, sizeof wide};
    ck_assert_int_eq(nb_json_body_new(text, 1000, &body, &error), NB_TOO_LARGE);
    /* Commas in a string do not count as values. */
    memcpy(wide, "{\"txet\":\"", 9);
    memcpy(wide + sizeof wide - 2, "\"}", 2);
    ck_assert_int_eq(nb_json_body_new(text, 1000, &body, &error), 0);
    ck_assert_int_eq(nb_json_body_document(body, 0, NB_VERB_CLASSIFY, &d, &error), NB_INVALID);
    nb_json_body_free(&body);
}
END_TEST

/* The same batch, read by the scanner and, with a member that only jansson can read, by jansson. */
START_TEST(a_batch_keeps_order_and_good_documents)
{
    static const char *const batches[] = {
        ("{\"documents\": [{\"text\": \"a b\", \"label\": \"x\", \"id\": \"1\"}, {\"text\": "
         "\"none\"},"
         " {\"mail\": \"c\\n\", \"label\": \"y\"}]}"),
        ("{\"documents\": [{\"te\\u0078t\": \"a b\", \"label\": \"x\", \"id\": \"1\"}, {\"txet\": "
         "5},"
         " {\"mail\": \"c\\n\", \"label\": \"y\"}]}"),
        ("{\"documents\": [{\"text\": \"a b\", \"label\": \"x\", \"id\": \"1\"}, 7,"
         " {\"mail\": \"c\\n\", \"label\": \"y\"}]}"),
    };
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        struct nb_json_body *body;
        struct nb_json_document first, second, third;
        struct nb_error error;
        struct nb_string text = nb_string_of(batches[i]);
        ck_assert_int_eq(nb_json_body_new(text, 3, &body, &error), 0);
        ck_assert(nb_json_body_is_batch(body));
        ck_assert_uint_eq(nb_json_body_size(body), 3);
        ck_assert_int_eq(nb_json_body_document(body, 0, NB_VERB_TRAIN, &first, &error), 0);
        ck_assert_int_eq(nb_json_body_document(body, 1, NB_VERB_TRAIN, &second, &error),
                         NB_INVALID);
        ck_assert_int_eq(nb_json_body_document(body, 2, NB_VERB_TRAIN, &third, &error), 0);
        nb_json_body_free(&body); /* the documents do not depend on the body */
        ck_assert(same(first.label, "x", 1) && same(first.id, "1", 1));
        ck_assert_uint_eq(first.document.length, 3);
        ck_assert_mem_eq(first.document.bytes, "a b", 3);
        ck_assert_int_eq(third.document.kind, NB_DOCUMENT_MAIL);
        ck_assert_mem_eq(third.document.bytes, "c\n", 2);
        nb_json_document_deinit(&first);
        nb_json_document_deinit(&third);
        ck_assert_int_eq(nb_json_body_new(text, 2, &body, &error), NB_TOO_LARGE);
        ck_assert_msg(strstr(error.text, "2 documents") != NULL, "%s", error.text);
    }
}
END_TEST

START_TEST(batches_of_other_shapes)
{
    static const struct {
        const char *json;
        int code;
        size_t size;
        const char *word;
    } table[] = {
        {"{\"documents\": []}", 0, 0, ""},
        {" { \"documents\" : [ { } , { } ] } ", 0, 2, ""},
        {"{\"documents\": 5}", NB_INVALID, 0, "\"documents\" must be an array"},
        {"{\"documents\": [], \"more\": 1}", NB_INVALID, 0, "unknown member \"more\""},
        {"{\"documents\": [], \"documents\": []}", NB_INVALID, 0, "duplicate"},
        {"{\"documents\": [{\"text\": \"a\"},]}", NB_INVALID, 0, "not valid JSON"},
        {"{\"documents\": [{\"text\": \"a\"}]", NB_INVALID, 0, "not valid JSON"},
        {"{\"documents\": [{\"text\": \"a\"}]} x", NB_INVALID, 0, "end of file"},
        {"[{\"text\": \"a\"}]", 0, 1, ""}, /* not a batch: its only document is not an object */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_json_body *body = NULL;
        struct nb_error error = {0};
        int rc = nb_json_body_new(nb_string_of(table[i].json), 10, &body, &error);
        ck_assert_msg(rc == table[i].code, "row %zu: %d %s", i, rc, error.text);
        ck_assert_msg(strstr(error.text, table[i].word) != NULL, "row %zu: %s", i, error.text);
        if (rc == 0)
            ck_assert_uint_eq(nb_json_body_size(body), table[i].size);
        nb_json_body_free(&body);
    }
}
END_TEST

/* ---- replies --------------------------------------------------------------------------------- */

START_TEST(models)
{
    struct nb_label_info labels[] = {{(char[]){"ham"}, 3, 40}, {(char[]){"spam"}, 0, 0}};
    struct nb_model_info infos[2] = {{.name = (char[]){"a"}}, {.name = (char[]){"b"}}};
    infos[0].documents = 3;
    infos[0].vocabulary = 25;
    infos[0].labels = labels;
    infos[0].label_count = 2;
    nb_settings_init(&infos[0].settings, NB_PRESET_TEXT);
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_json_models(&out, infos, 2, false), 0);
    json_t *value = parsed(&out);
    const json_t *first = json_array_get(at(value, "models"), 0);
    is_text(first, "name", "a");
    is_count(first, "documents", 3);
    is_count(first, "vocabulary", 25);
    is_count(at(at(first, "labels"), "ham"), "documents", 3);
    is_count(at(at(first, "labels"), "ham"), "tokens", 40);
    ck_assert_ptr_null(json_object_get(first, "settings"));
    ck_assert_ptr_null(json_object_get(value, "next"));
    ck_assert_uint_eq(json_object_size(at(json_array_get(at(value, "models"), 1), "labels")), 0);
    json_decref(value);
    ck_assert_int_eq(nb_json_model(&out, &infos[0], true), 0);
    value = parsed(&out);
    is_text(at(value, "settings"), "event_model", "multinomial");
    json_decref(value);
    ck_assert_int_eq(nb_json_models(&out, NULL, 0, false), 0);
    value = parsed(&out);
    ck_assert_uint_eq(json_array_size(at(value, "models")), 0);
    json_decref(value);
}
END_TEST

START_TEST(pages_and_damaged_models)
{
    struct nb_model_info infos[2] = {{.name = (char[]){"a"}}, {.name = (char[]){"b"}}};
    struct nb_buffer out = {0};
    infos[1].is_damaged = true;
    infos[1].damage = (char[]){"a checksum is wrong"};
    ck_assert_int_eq(nb_json_models(&out, infos, 2, true), 0);
    json_t *value = parsed(&out);
    is_text(value, "next", "b");
    const json_t *second = json_array_get(at(value, "models"), 1);
    is_text(second, "state", "damaged");
    is_text(second, "reason", "a checksum is wrong");
    ck_assert_uint_eq(json_object_size(second), 3);
    json_decref(value);
}
END_TEST

START_TEST(a_labels_new_name)
{
    static const struct {
        const char *text;
        int rc;
        const char *said;
        bool merges;
    } table[] = {{"{\"name\": \"sp\\u00e4m\"}", 0, "", false},
                 {"{\"name\": \"sp\\u00e4m\", \"merge\": true}", 0, "", true},
                 {"{\"name\": \"sp\\u00e4m\", \"merge\": false}", 0, "", false},
                 {"{\"name\": \"a\", \"merge\": 1}", NB_INVALID, "merge", false},
                 {"{\"name\": \"\"}", NB_UNUSABLE, "label", false},
                 {"{\"name\": 1}", NB_INVALID, "name", false},
                 {"{}", NB_INVALID, "name", false},
                 {"{\"name\": \"a\", \"id\": \"b\"}", NB_INVALID, "id", false},
                 {"\"a\"", NB_INVALID, "object", false},
                 {"", NB_INVALID, "nothing", false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_buffer name = {0};
        struct nb_error error = {0};
        bool merges = true;
        ck_assert_int_eq(nb_json_rename_read(nb_string_of(table[i].text), &name, &merges, &error),
                         table[i].rc);
        ck_assert_msg(strstr(error.text, table[i].said) != NULL, "%zu: %s", i, error.text);
        ck_assert(merges == table[i].merges);
        if (table[i].rc == 0)
            ck_assert(name.length == 5 && memcmp(name.bytes, "sp\xC3\xA4m", 5) == 0);
        nb_buffer_deinit(&name);
    }
}
END_TEST

START_TEST(times_are_rfc_3339)
{
    static const struct {
        int64_t milliseconds;
        const char *text;
    } table[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1, "1970-01-01T00:00:00.001Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {951782400123, "2000-02-29T00:00:00.123Z"},
        {1767225599999, "2025-12-31T23:59:59.999Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_buffer out = {0};
        struct nb_document_info info = {(char[]){"ham"}, (char[]){""}, table[i].milliseconds, 12,
                                        0};
        ck_assert_int_eq(nb_json_document_info(&out, model, &info), 0);
        json_t *value = parsed(&out);
        is_text(value, "id", "mail");
        is_text(value, "label", "ham");
        is_text(value, "learned", table[i].text);
        is_count(value, "tokens", 12);
        json_decref(value);
    }
}
END_TEST

START_TEST(vocabularies)
{
    static const char *const labels[] = {"ham", "spam"};
    uint64_t counts[] = {0, 10};
    struct nb_telling_token token = {{"a\"b", 3}, counts, 3.1000000000000001};
    struct nb_buffer out = {0};
    struct nb_json_vocabulary v = {.out = &out};
    ck_assert_int_eq(nb_json_vocabulary_begin(&v, 99, labels, 2), 0);
    ck_assert_int_eq(nb_json_vocabulary_token(&v, &token), 0);
    ck_assert_int_eq(nb_json_vocabulary_token(&v, &token), 0);
    ck_assert_int_eq(nb_json_vocabulary_end(&v), 0);
    json_t *value = parsed(&out);
    is_count(value, "vocabulary", 99);
    const json_t *listed = json_array_get(at(value, "tokens"), 1);
    is_text(listed, "token", "a\"b");
    is_count(at(listed, "counts"), "ham", 0);
    is_count(at(listed, "counts"), "spam", 10);
    is_bits(at(listed, "evidence"), 3.1000000000000001);
    json_decref(value);
}
END_TEST

/* ---- random input ---------------------------------------------------------------------------- */

/* Pieces that random inputs are put together from: most of them nearly make sense. */
static const struct nb_string pieces[] = {
    {BYTES("{")},
    {BYTES("}")},
    {BYTES("[")},
    {BYTES("]")},
    {BYTES(",")},
    {BYTES(":")},
    {BYTES(" ")},
    {BYTES("\n")},
    {BYTES("\"")},
    {BYTES("\\")},
    {BYTES("\0")},
    {BYTES("\xC3\xA9")},
    {BYTES("\xE2\x82")},
    {BYTES("\xF0\x9F\x92\xB0")},
    {BYTES("\"text\":\"")},
    {BYTES("\"mail\":\"")},
    {BYTES("\"mail_base64\":\"QUJD")},
    {BYTES("\"label\":\"spam\"")},
    {BYTES("\"id\":\"1\"")},
    {BYTES("{\"text\":\"some plain words\",\"label\":\"x\"}")},
    {BYTES("{\"documents\":[")},
    {BYTES("]}")},
    {BYTES("\\u00e9")},
    {BYTES("\\ud83d\\udcb0")},
    {BYTES("\\ud83d")},
    {BYTES("\\u")},
    {BYTES("\\n")},
    {BYTES("abcdefgh")},
    {BYTES("null")},
    {BYTES("-1.5e3")},
    {BYTES("{\"smoothing\":")},
    {BYTES("\"prior\":{\"a\":1,\"b\":2.5}")},
    {BYTES("\"tokenizer\":{\"fields\":[\"body\"]}")},
    {BYTES("{\"words\":{\"first_row\":0,")},
    {BYTES("{\"bayesd_dump\":1,\"tokenizer_version\":2,\"settings\":{},\"key\":"
           "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\",\"labels\":[\"a\"]}\n")},
    {BYTES("{\"words\":{\"first_row\":0,\"ids\":[\"0000000000000001\"],\"texts\":null}}\n")},
    {BYTES("{\"document\":{\"id\":\"1\",\"label\":0,\"learned\":1,\"tokens\":1,\"rows\":[0],"
           "\"counts\":[1]}}\n")},
    {BYTES("{\"end\":{\"documents\":1,\"words\":1}}\n")},
};

START_TEST(moments_read_back)
{
    static const struct {
        const char *text;
        int64_t want; /* -1: refused */
    } cases[] = {
        {"1970-01-01", 0},
        {"1970-01-01T00:00:00.001Z", 1},
        {"2000-02-29T23:59:59Z", 951868799000},
        {"2026-05-01", 1777593600000},
        {"2026-05-01t12:00:00.5z", 1777636800500},
        {"2026-05-01 12:00:00.123456+02:30", 1777627800123},
        {"2026-05-01T12:00:00-00:30", 1777638600000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
        {"", -1},
        {"2026", -1},
        {"2026-5-1", -1},
        {"2026-00-01", -1},
        {"2026-13-01", -1},
        {"2026-04-31", -1},
        {"2100-02-29", -1},
        {"1969-12-31", -1},
        {"1970-01-01T00:00:00+01:00", -1},
        {"2026-05-01T", -1},
        {"2026-05-01T12:00:00", -1},
        {"2026-05-01T24:00:00Z", -1},
        {"2026-05-01T12:60:00Z", -1},
        {"2026-05-01T12:00:00.Z", -1},
        {"2026-05-01T12:00:00Zx", -1},
        {"2026-05-01T12:00:00+1", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_error error = {0};
        int64_t got = -1;
        int rc = nb_json_read_time(nb_string_of(cases[i].text), "from", &got, &error);
        ck_assert_msg(got == cases[i].want, "%s gives %lld", cases[i].text, (long long)got);
        ck_assert_int_eq(rc, cases[i].want < 0 ? NB_INVALID : 0);
        ck_assert(rc == 0 || strstr(error.text, "from") != NULL);
    }
    for (int i = 0; i < 1000; i++) {
        int64_t moment = (int64_t)(draw() % 253402300800000u), back = -1;
        char text[NB_JSON_TIME_BYTES];
        nb_json_format_time(moment, text);
        ck_assert_int_eq(nb_json_read_time(nb_string_of(text), "to", &back, NULL), 0);
        ck_assert_int_eq(back, moment);
    }
}
END_TEST

START_TEST(random_inputs_do_no_harm)
{
    begin_random(20261120);
    const size_t count = sizeof pieces / sizeof *pieces;
    for (int round = 0; round < 10000; round++) {
        struct nb_buffer input = {0};
        for (uint64_t left = draw() % 12; left > 0; left--) {
            const struct nb_string *piece = &pieces[draw() % count];
            nb_buffer_append(&input, piece->bytes, piece->length);
        }
        for (uint64_t hits = draw() % 3; hits > 0 && input.length > 0; hits--)
            input.bytes[draw() % input.length] = (char)draw();
        LLVMFuzzerTestOneInput((const uint8_t *)input.bytes, input.length);
        nb_buffer_deinit(&input);
    }
}
END_TEST

/* The scanner reads eight bytes at once: every byte is tried at every place among them. */
START_TEST(no_byte_slips_through_at_any_place)
{
    char text[] = "{\"text\":\"0123456789abcdefghijklmnop\"}";
    const size_t begin = strlen("{\"text\":\""), end = strlen(text) - strlen("\"}");
    for (unsigned byte = 0; byte < 256; byte++) {
        for (size_t i = begin; i < end; i++) {
            char before = text[i];
            text[i] = (char)byte;
            struct nb_json_document d = {0};
            int rc = nb_json_document_read((struct nb_string){text, sizeof text - 1},
                                           NB_VERB_CLASSIFY, &d, NULL);
            bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
            /* A backslash may form an escape with the byte after it. */
            if (byte != '\\')
                ck_assert_msg((rc == 0) == plain, "byte %u at %zu", byte, i);
            nb_json_document_deinit(&d);
            LLVMFuzzerTestOneInput((const uint8_t *)text, sizeof text - 1);
            text[i] = before;
        }
    }
}
END_TEST

/* A label and an id that are numbers, read by the scanner and by jansson: both give the same text,
 * or both refuse it. Only jansson reads the escape in the name of a member. */
START_TEST(numbers_are_names)
{
    static const struct {
        const char *number, *name; /* NULL: refused */
    } numbers[] = {{"0", "0"},
                   {"7", "7"},
                   {"-7", "-7"},
                   {"-0", "0"},
                   {"123456789012345678", "123456789012345678"},
                   {"9223372036854775807", "9223372036854775807"},
                   {"-9223372036854775808", "-9223372036854775808"},
                   {"9223372036854775808", NULL},
                   {"1.0", NULL},
                   {"1.5", NULL},
                   {"1e3", NULL},
                   {"01", NULL},
                   {"-", NULL},
                   {"+1", NULL},
                   {"1x", NULL},
                   {"true", NULL}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        for (int way = 0; way < 2; way++) {
            char json[200];
            struct nb_json_document d;
            struct nb_error error = {0};
            snprintf(json, sizeof json, "{\"label\": %s , \"t%s\": \"x\", \"id\":%s}",
                     numbers[i].number, way == 0 ? "ext" : "e\\u0078t", numbers[i].number);
            int rc = nb_json_document_read(nb_string_of(json), NB_VERB_TRAIN, &d, &error);
            ck_assert_msg((rc == 0) == (numbers[i].name != NULL), "%s: %s", json, error.text);
            ck_assert(rc == 0 || rc == NB_INVALID);
            if (rc != 0)
                continue;
            ck_assert_msg(same(d.label, numbers[i].name, strlen(numbers[i].name)), "%s", json);
            ck_assert_msg(same(d.id, numbers[i].name, strlen(numbers[i].name)), "%s", json);
            nb_json_document_deinit(&d);
        }
    }
}
END_TEST

/* The scanner must accept valid documents of every shape; the fuzzer then compares its result with
 * that of jansson. */
START_TEST(every_right_document_takes_the_fast_way)
{
    static const char *const runs[] = {"word ",
                                       "abcdefgh12345678",
                                       "\xC3\xA9",
                                       "\\u00e9",
                                       "\\n",
                                       "\xF0\x9F\x92\xB0",
                                       "\\ud83d\\udcb0",
                                       "\\\\",
                                       "\\\"",
                                       "\x7f"};
    static const char *const ids[] = {"\"i\"", "0", "7", "-7", "123456789012345678"};
    begin_random(11);
    for (int round = 0; round < 2000; round++) {
        struct nb_buffer input = {0};
        nb_buffer_puts(&input, "{\"text\":\"");
        for (uint64_t left = draw() % 40; left > 0; left--)
            nb_buffer_puts(&input, runs[draw() % (sizeof runs / sizeof *runs)]);
        nb_buffer_puts(&input, "\" , \"id\" : ");
        nb_buffer_puts(&input, ids[draw() % (sizeof ids / sizeof *ids)]);
        nb_buffer_puts(&input, " }\n");
        struct nb_flat_document flat;
        const char *p = input.bytes, *end = p + input.length;
        ck_assert(nb_scan_document(&p, end, &flat) && nb_scan_end(p, end));
        LLVMFuzzerTestOneInput((const uint8_t *)input.bytes, input.length);
        nb_buffer_deinit(&input);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec");
    TCase *writing = tcase_create("writing");
    tcase_set_timeout(writing, 120);
    tcase_add_test(writing, numbers_read_back_to_the_last_bit);
    tcase_add_test(writing, numbers_look_as_printf_would_write_them);
    tcase_add_test(writing, decimals_look_as_printf_would_write_them);
    tcase_add_test(writing, small_numbers_look_as_printf_would_write_them);
    tcase_add_test(writing, numbers_of_fixed_decimals_look_as_printf_would_write_them);
    tcase_add_test(writing, whole_numbers_at_their_ends);
    tcase_add_test(writing, strings_are_valid_whatever_the_bytes);
    tcase_add_test(writing, an_odd_byte_is_escaped_at_every_place);
    tcase_add_test(writing, every_code_has_a_status_and_every_status_a_title);
    tcase_add_test(writing, problems);
    suite_add_tcase(suite, writing);
    TCase *documents = tcase_create("documents");
    tcase_add_test(documents, documents_are_read);
    tcase_add_test(documents, an_id_alone_is_enough_to_untrain);
    tcase_add_test(documents, wrong_documents_are_refused_by_name);
    tcase_add_test(documents, nesting_and_numbers_of_values_are_bounded);
    tcase_add_test(documents, a_batch_keeps_order_and_good_documents);
    tcase_add_test(documents, batches_of_other_shapes);
    suite_add_tcase(suite, documents);
    TCase *replies = tcase_create("replies");
    tcase_add_test(replies, models);
    tcase_add_test(replies, pages_and_damaged_models);
    tcase_add_test(replies, a_labels_new_name);
    tcase_add_test(replies, times_are_rfc_3339);
    tcase_add_test(replies, vocabularies);
    suite_add_tcase(suite, replies);
    TCase *anything = tcase_create("anything");
    tcase_set_timeout(anything, 120);
    tcase_add_test(anything, moments_read_back);
    tcase_add_test(anything, random_inputs_do_no_harm);
    tcase_add_test(anything, no_byte_slips_through_at_any_place);
    tcase_add_test(anything, every_right_document_takes_the_fast_way);
    tcase_add_test(anything, numbers_are_names);
    suite_add_tcase(suite, anything);
    return test_run(suite);
}
