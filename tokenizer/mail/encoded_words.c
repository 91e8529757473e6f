/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/encoded_words.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/ascii.h"
#include "core/base/error.h"
#include "core/base/hex.h"
#include "tokenizer/mail/transfer_encoding.h"

struct word {
    struct nb_string charset; /* without the language (RFC 2231, section 5) */
    bool is_base64;
    struct nb_string text; /* the encoded text */
    const char *end;       /* the position after the word */
};

struct decoder {
    struct nb_mail_charsets *charsets;
    struct nb_buffer *out;
    struct nb_string charset; /* of `bytes` */
    struct nb_buffer bytes;   /* owned: decoded, in `charset`, not yet converted */
};

static struct nb_string between(const char *from, const char *to)
{
    return (struct nb_string){from, (size_t)(to - from)};
}

/* Finds the next encoded word at or after `at`. Returns its beginning; NULL if there is none. */
static const char *find_word(const char *at, const char *end, struct word *word)
{
    for (; (at = memchr(at, '=', (size_t)(end - at))) != NULL; at++) { /* few values have a '=' */
        if (end - at < 2 || at[1] != '?')
            continue;
        const char *text = nb_mail_word_label(at, end, &word->charset);
        if (text == NULL)
            continue;
        word->is_base64 = nb_ascii_lower(text[-2]) == 'b';
        const char *closing = memmem(text, (size_t)(end - text), "?=", 2);
        if (closing == NULL)
            return NULL; /* no later word has one either */
        word->text = between(text, closing);
        word->end = closing + 2;
        return at;
    }
    return NULL;
}

/* The encoding "Q" (RFC 2047, section 4.2). A '=' without two digits stands for itself. */
static int decode_q(struct nb_string text, struct nb_buffer *out)
{
    if (nb_buffer_reserve(out, text.length) != 0)
        return NB_NO_MEMORY;
    assert(out->bytes != NULL && text.length > 0);
    char *to = out->bytes + out->length;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        if (c == '=' && i + 2 < text.length && nb_hex_digit(text.bytes[i + 1]) >= 0 &&
            nb_hex_digit(text.bytes[i + 2]) >= 0) {
            *to++ = (char)(nb_hex_digit(text.bytes[i + 1]) << 4 | nb_hex_digit(text.bytes[i + 2]));
            i += 2;
        } else if (c != '\r' && c != '\n') {
            *to++ = c == '_' ? ' ' : c;
        }
    }
    assert((size_t)(to - out->bytes) <= out->capacity);
    out->length = (size_t)(to - out->bytes);
    return 0;
}

/* Converts the pending words. */
static int flush(struct decoder *d)
{
    struct nb_string text = {d->bytes.bytes, d->bytes.length};
    if (text.length == 0)
        return 0;
    int rc = nb_mail_field_to_utf8(d->charsets, d->charset, &text, d->out);
    if (rc == 0 && text.bytes == d->bytes.bytes) /* nothing was to be converted */
        rc = nb_buffer_append(d->out, text.bytes, text.length);
    d->bytes.length = 0;
    return rc;
}

static bool is_same_charset(struct nb_string a, struct nb_string b)
{
    return a.length == b.length && (a.length == 0 || strncasecmp(a.bytes, b.bytes, a.length) == 0);
}

static int take_word(struct decoder *d, const struct word *word)
{
    int rc = is_same_charset(d->charset, word->charset) ? 0 : flush(d);
    d->charset = word->charset;
    if (rc != 0 || word->text.length == 0)
        return rc;
    return word->is_base64 ? nb_transfer_base64(word->text, &d->bytes)
                           : decode_q(word->text, &d->bytes);
}

/* Appends text without the line breaks of folding; the blanks after them stay. */
static int append_unfolded(struct nb_string text, struct nb_buffer *out)
{
    const char *at = text.bytes;
    const char *end = at + text.length;
    int rc = 0;
    const char *feed = NULL; /* the next line feed, or the end */
    while (rc == 0 && at < end) {
        if (feed == NULL || feed < at)
            feed = memchr(at, '\n', (size_t)(end - at));
        if (feed == NULL)
            feed = end;
        const char *stop = memchr(at, '\r', (size_t)(feed - at));
        if (stop == NULL)
            stop = feed;
        rc = nb_buffer_append(out, at, (size_t)(stop - at));
        at = stop + (stop < end);
    }
    return rc;
}

/* Appends text that is not encoded. No words may be pending. */
static int take_text(struct decoder *d, struct nb_string text)
{
    size_t before = d->out->length;
    assert(d->bytes.length == 0);
    int rc = append_unfolded(text, d->out);
    if (rc != 0 || d->out->length == before)
        return rc;
    struct nb_string raw = {d->out->bytes + before, d->out->length - before};
    text = raw;
    rc = nb_mail_field_to_utf8(d->charsets, (struct nb_string){"", 0}, &text, &d->bytes);
    if (rc == 0 && text.bytes != raw.bytes) {
        d->out->length = before;
        rc = nb_buffer_append(d->out, text.bytes, text.length);
    }
    d->bytes.length = 0;
    return rc;
}

static bool is_blank(struct nb_string text)
{
    return nb_string_trim(text).length == 0;
}

int nb_mail_decode_words(struct nb_mail_charsets *charsets, struct nb_string value,
                         struct nb_buffer *out)
{
    if (value.length > NB_MAIL_FIELD)
        value.length = NB_MAIL_FIELD;
    if (value.length == 0)
        return 0;
    struct decoder d = {.charsets = charsets, .out = out};
    struct word word;
    const char *at = value.bytes;
    const char *end = at + value.length;
    int rc = 0;
    bool behind_word = false;
    for (const char *found; rc == 0 && (found = find_word(at, end, &word)) != NULL;) {
        struct nb_string text = between(at, found);
        if (!behind_word || !is_blank(text)) {
            rc = flush(&d);
            if (rc == 0)
                rc = take_text(&d, text);
        }
        if (rc == 0)
            rc = take_word(&d, &word);
        behind_word = true;
        at = word.end;
    }
    if (rc == 0)
        rc = flush(&d);
    if (rc == 0)
        rc = take_text(&d, between(at, end));
    nb_buffer_deinit(&d.bytes);
    return rc;
}
