/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes through every reader of the JSON codec. What it must hold to: no crash; what the fast
 * scanner takes, jansson takes and reads the same from it; settings that are read can be written
 * and read again; every string is written as valid JSON.
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_codec.c
 */
#include <stdlib.h>
#include <string.h>

#include "server/base/document_json.h"
#include "server/base/dump_json.h"
#include "server/base/emit.h"
#include "server/base/json_values.h"
#include "server/base/problem.h"
#include "server/base/settings_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void fuzz_scanner(struct nb_string input)
{
    struct nb_flat_document flat;
    const char *at = input.bytes, *end = input.bytes + input.length;
    if (!nb_scan_document(&at, end, &flat) || !nb_scan_end(at, end))
        return;
    json_t *object;
    const json_t *values[NB_MEMBERS];
    demand(nb_json_load(input, 64, &object, NULL) == 0);
    struct nb_json_member members[NB_MEMBERS];
    for (unsigned i = 0; i < NB_MEMBERS; i++)
        members[i] = (struct nb_json_member){nb_scan_members[i], NB_TYPE_STRING, false};
    members[NB_MEMBER_LABEL].types = members[NB_MEMBER_ID].types = NB_TYPE_NAME;
    struct nb_buffer digits = {0};
    demand(nb_buffer_reserve(&digits, (size_t)2 * NB_NUMBER_TEXT) == 0);
    demand(nb_json_take(object, "", members, NB_MEMBERS, values, NULL) == 0);
    for (unsigned i = 0; i < NB_MEMBERS; i++) {
        demand((values[i] != NULL) == ((flat.given >> i & 1u) != 0));
        if (values[i] == NULL)
            continue;
        char *text = malloc(flat.raw[i].length + 1);
        demand(text != NULL);
        size_t length = nb_scan_unescape(flat.raw[i], text);
        struct nb_string read;
        demand(nb_json_name(values[i], &digits, &read) == 0);
        demand(length == read.length && memcmp(text, read.bytes, length) == 0);
        demand((flat.escaped >> i & 1u) != 0 || length == flat.raw[i].length);
        free(text);
    }
    nb_buffer_deinit(&digits);
    json_decref(object);
}

static void fuzz_documents(struct nb_string input)
{
    struct nb_json_document document;
    struct nb_json_body *body;
    struct nb_error error;
    for (enum nb_verb verb = NB_VERB_TRAIN; verb <= NB_VERB_TOKENIZE; verb++)
        if (nb_json_document_read(input, verb, &document, &error) == 0)
            nb_json_document_deinit(&document);
    if (nb_json_body_new(input, 3, &body, &error) != 0)
        return;
    demand(nb_json_body_size(body) <= 3);
    for (size_t i = 0; i < nb_json_body_size(body); i++)
        if (nb_json_body_document(body, i, NB_VERB_TRAIN, &document, &error) == 0)
            nb_json_document_deinit(&document);
    nb_json_body_free(&body);
}

static void fuzz_settings(struct nb_string input)
{
    struct nb_settings settings;
    struct nb_error error;
    struct nb_buffer first = {0}, second = {0};
    if (nb_json_settings_read(input, NULL, false, &settings, &error) != 0)
        return;
    demand(nb_json_settings(&first, &settings) == 0);
    nb_settings_deinit(&settings);
    struct nb_string written = {first.bytes, first.length};
    demand(nb_json_settings_read(written, NULL, false, &settings, &error) == 0);
    demand(nb_json_settings(&second, &settings) == 0);
    demand(first.length == second.length && memcmp(first.bytes, second.bytes, first.length) == 0);
    nb_settings_deinit(&settings);
    nb_buffer_deinit(&first);
    nb_buffer_deinit(&second);
}

static void fuzz_dump(struct nb_string input)
{
    struct nb_json_dump_reader *reader;
    struct nb_json_record record;
    demand(nb_json_dump_reader_new(&reader) == 0);
    const char *at = input.bytes, *end = input.bytes + input.length;
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const char *next = feed == NULL ? end : feed + 1;
        struct nb_string line = {at, (size_t)(next - at)};
        if (nb_json_dump_read(reader, 1, line, &record, NULL) != 0)
            break;
        at = next;
    }
    (void)nb_json_dump_finish(reader, NULL); /* whether it was whole does not matter here */
    nb_json_dump_reader_free(&reader);
}

static void fuzz_writer(struct nb_string input)
{
    struct nb_buffer out = {0};
    json_t *value;
    demand(nb_json_string(&out, input) == 0);
    demand(nb_json_load((struct nb_string){out.bytes, out.length}, 1, &value, NULL) == 0);
    demand(json_is_string(value));
    json_decref(value);
    nb_buffer_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of just this size: the sanitizer sees a read behind its end. */
    char *copy = malloc(size == 0 ? 1 : size);
    demand(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    struct nb_string input = {copy, size};
    fuzz_scanner(input);
    fuzz_documents(input);
    fuzz_settings(input);
    fuzz_dump(input);
    fuzz_writer(input);
    free(copy);
    return 0;
}
