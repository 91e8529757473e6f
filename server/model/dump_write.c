/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the lines of an export.
 */
#include "server/model/dump_write.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#include "server/json/emit.h"
#include "server/model/settings_json.h"

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
    if (header->stack.length > 0 && memcmp(header->stack_key, header->key, NB_KEY_BYTES) != 0)
        emit_key(&e, "stack_key", header->stack_key);
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
