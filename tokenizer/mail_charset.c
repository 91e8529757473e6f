/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail_charset.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/string.h"
#include "tokenizer/html.h"
#include "tokenizer/scripts.h"
#include "tokenizer/transfer_encoding.h"

static const struct nb_string nothing = {"", 0};

void nb_mail_charsets_message(struct nb_mail_charsets *charsets, struct nb_string message)
{
    charsets->message = message;
    charsets->is_searched = false;
}

void nb_mail_charsets_deinit(struct nb_mail_charsets *charsets)
{
    nb_charset_state_deinit(&charsets->state);
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether ASCII bytes are ASCII characters in the charset with this name for iconv. */
static bool extends_ascii(const char *charset)
{
    static const char *const known[] = {"ISO-8859", "CP125", "CP874", "CP93", "CP949", "UTF-8",
                                        "GB",       "BIG5",  "EUC-",  "KOI8", "IBM8",  "MAC"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (has_prefix(charset, known[i]))
            return true;
    }
    return false;
}

/* ---- the charset that a text names ----------------------------------------------------------- */

/* Returns the charset of a byte order mark at the beginning; the length is 0 if there is none. */
static struct nb_string marked(struct nb_string text)
{
    static const struct nb_string utf8 = {"utf-8", 5}, utf16 = {"utf-16", 6};
    if (nb_string_starts(text, "\xEF\xBB\xBF"))
        return utf8;
    return nb_string_starts(text, "\xFF\xFE") || nb_string_starts(text, "\xFE\xFF") ? utf16
                                                                                    : nothing;
}

/* Returns the label after "name", blanks, '=', blanks and perhaps a quote. */
static struct nb_string label_at(struct nb_string rest)
{
    rest = nb_string_trim_start(rest, " \t\r\n");
    if (rest.length == 0 || rest.bytes[0] != '=')
        return nothing;
    rest = nb_string_trim_start(nb_string_from(rest, 1), " \t\r\n\"'");
    size_t length = 0;
    while (length < rest.length && length < NB_CHARSET_NAME &&
           (nb_ascii_is_alphanumeric(rest.bytes[length]) ||
            (rest.bytes[length] != '\0' && strchr("-_.:()+", rest.bytes[length]) != NULL)))
        length++;
    return (struct nb_string){rest.bytes, length};
}

/* Returns the label after the first `name=`, with the name in any case. */
static struct nb_string label_behind(struct nb_string text, const char *name)
{
    for (size_t i = 0; i + strlen(name) < text.length; i++) {
        if (!nb_string_starts_nocase(nb_string_from(text, i), name))
            continue;
        struct nb_string label = label_at(nb_string_from(text, i + strlen(name)));
        if (label.length > 0)
            return label;
    }
    return nothing;
}

static struct nb_string label_of_meta(const struct nb_html_token *meta)
{
    struct nb_html_attributes attributes = nb_html_attributes_of(meta);
    struct nb_html_attribute attribute;
    struct nb_string content = nothing;
    bool is_type = false;
    while (nb_html_attribute(&attributes, &attribute)) {
        if (nb_string_equals_nocase(attribute.name, "charset") && attribute.value.length > 0)
            return attribute.value;
        if (nb_string_equals_nocase(attribute.name, "http-equiv") &&
            nb_string_equals_nocase(nb_string_trim(attribute.value), "content-type"))
            is_type = true;
        if (nb_string_equals_nocase(attribute.name, "content") && attribute.value.length > 0)
            content = attribute.value;
    }
    return is_type ? label_behind(content, "charset") : nothing;
}

/* Returns the charset in the first <meta charset> or <meta http-equiv=content-type>, or in the XML
 * declaration, of HTML in a charset that extends ASCII. */
static struct nb_string label_of_html(struct nb_string html)
{
    if (html.length > NB_MAIL_CHARSET_HTML)
        html.length = NB_MAIL_CHARSET_HTML;
    if (nb_string_starts_nocase(html, "<?xml ")) {
        const char *end = memchr(html.bytes, '>', html.length);
        size_t length = end != NULL ? (size_t)(end - html.bytes) : html.length;
        return label_behind((struct nb_string){html.bytes, length}, "encoding");
    }
    struct nb_html_lexer lexer = nb_html_lexer_of(html.bytes, html.length);
    struct nb_html_token token;
    while (nb_html_next(&lexer, &token) != NB_HTML_FINISHED) {
        if (token.kind != NB_HTML_START || !nb_string_equals_nocase(token.name, "meta"))
            continue;
        struct nb_string label = label_of_meta(&token);
        if (label.length > 0)
            return label;
    }
    return nothing;
}

/* Returns the charset of the escapes in a seven-bit text (RFC 1468, 1557, 1922); the length is 0 if
 * it has no such escapes. */
static struct nb_string label_of_escapes(struct nb_string text)
{
    static const struct {
        const char *escape, *label;
    } escapes[] = {{"$B", "iso-2022-jp"},  {"$@", "iso-2022-jp"},  {"$(D", "iso-2022-jp"},
                   {"(J", "iso-2022-jp"},  {"(I", "iso-2022-jp"},  {"$(Q", "iso-2022-jp"},
                   {"$)C", "iso-2022-kr"}, {"$)A", "iso-2022-cn"}, {"$)G", "iso-2022-cn"}};
    const char *end = text.bytes + text.length;
    for (const char *at = text.bytes; (at = memchr(at, 0x1b, (size_t)(end - at))) != NULL;) {
        at++;
        for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
            if (nb_string_starts((struct nb_string){at, (size_t)(end - at)}, escapes[i].escape))
                return nb_string_of(escapes[i].label);
    }
    return nothing;
}

/* ---- the charset that another part names ----------------------------------------------------- */

/* Whether a label names a charset that raw bytes above 127 may be in if they are not UTF-8. */
static bool says_of_bytes(struct nb_string label)
{
    char name[NB_CHARSET_NAME];
    const char *charset = nb_charset_of_label(label, name);
    return charset != NULL && charset != NB_CHARSET_NONE && charset != NB_CHARSET_UTF_8 &&
           extends_ascii(charset);
}

/* Reads "=?label?B?" or "=?label?Q?" (RFC 2047) at `at`, which is before `end`: sets the label,
 * without its language (RFC 2231, section 5), and returns the position after the letter and its
 * '?'. Returns NULL if `at` does not begin such a word. */
static const char *mail_word_label(const char *at, const char *end, struct nb_string *label)
{
    if (end - at < 2 || at[1] != '?')
        return NULL;
    const char *from = at + 2;
    size_t most = (size_t)(end - from) < NB_CHARSET_NAME ? (size_t)(end - from) : NB_CHARSET_NAME;
    const char *mark = memchr(from, '?', most);
    if (mark == NULL || mark == from || end - mark < 3 || mark[2] != '?')
        return NULL;
    char letter = nb_ascii_lower(mark[1]);
    const char *star = memchr(from, '*', (size_t)(mark - from));
    *label = (struct nb_string){from, (size_t)((star != NULL ? star : mark) - from)};
    return letter == 'b' || letter == 'q' ? mark + 3 : NULL;
}

/* Returns the label of a `charset=` whose '=' is at `at`. */
static struct nb_string label_of_parameter(const char *begin, const char *at, const char *end)
{
    static const char name[] = "charset";
    const char *from = at;
    while (from > begin && (from[-1] == ' ' || from[-1] == '\t'))
        from--;
    size_t length = sizeof name - 1;
    if ((size_t)(from - begin) < length ||
        !nb_string_equals_nocase((struct nb_string){from - length, length}, name))
        return nothing;
    return label_at((struct nb_string){at, (size_t)(end - at)});
}

/* Sets `other` to the first charset for raw bytes that a Content-Type or a <meta> of the message
 * names, or else an encoded word. */
static void search(struct nb_mail_charsets *charsets)
{
    struct nb_string message = charsets->message;
    struct nb_string found = nothing;
    charsets->is_searched = true;
    charsets->other[0] = '\0';
    if (message.length > NB_MAIL_CHARSET_SEARCH)
        message.length = NB_MAIL_CHARSET_SEARCH;
    message.length = nb_work_take(charsets->state.work, message.length, NB_WORK_DECODE);
    if (message.length == 0)
        return;
    const char *begin = message.bytes, *end = begin + message.length, *at = begin;
    for (; (at = memchr(at, '=', (size_t)(end - at))) != NULL; at++) {
        struct nb_string word = nothing;
        bool is_word = mail_word_label(at, end, &word) != NULL;
        struct nb_string label = label_of_parameter(begin, at, end);
        bool is_parameter = says_of_bytes(label);
        if (is_parameter || (is_word && found.length == 0 && says_of_bytes(word)))
            found = is_parameter ? label : word;
        if (is_parameter)
            break;
    }
    if (found.length < NB_CHARSET_NAME) {
        memcpy(charsets->other, found.bytes, found.length);
        charsets->other[found.length] = '\0';
    }
}

/* ---- conversion ------------------------------------------------------------------------------ */

/* Converts *text. Returns NB_UNSUPPORTED, with `out` unchanged, if there is no such charset. */
static int convert(struct nb_mail_charsets *charsets, struct nb_string label,
                   struct nb_string *text, struct nb_buffer *out)
{
    size_t before = out->length;
    int rc = nb_charset_to_utf8(&charsets->state, label, text->bytes, text->length,
                                4 * text->length + 16, out, NULL);
    if (rc == NB_TOO_LARGE) /* impossible: no charset expands more */
        rc = NB_UNSUPPORTED;
    if (rc != 0)
        out->length = before;
    else
        *text =
            (struct nb_string){out->length > 0 ? out->bytes + before : "", out->length - before};
    return rc;
}

/* Like convert, with a guessed label: fails if the result is not readable. */
static int try(struct nb_mail_charsets *charsets, struct nb_string label, struct nb_string *text,
               struct nb_buffer *out)
{
    size_t before = out->length;
    struct nb_string bytes = *text;
    int rc = convert(charsets, label, text, out);
    if (rc == 0 && !nb_text_is_readable(*text)) {
        out->length = before;
        *text = bytes;
        rc = NB_UNSUPPORTED;
    }
    return rc;
}

/* Reads a text without a charset in its MIME field. Text that is neither UTF-8 nor in a named
 * charset stays as it is, and the tokenizer reads it as windows-1252. */
static int guess(struct nb_mail_charsets *charsets, bool is_html, struct nb_string *text,
                 struct nb_buffer *out)
{
    int rc = NB_UNSUPPORTED;
    struct nb_string label = label_of_escapes(*text);
    if (label.length > 0)
        rc = try(charsets, label, text, out);
    if (rc != NB_UNSUPPORTED || nb_text_is_utf8(*text))
        return rc == NB_NO_MEMORY ? rc : 0;
    label = is_html ? label_of_html(*text) : nothing;
    if (says_of_bytes(label))
        rc = try(charsets, label, text, out);
    if (rc != NB_UNSUPPORTED)
        return rc;
    if (!charsets->is_searched)
        search(charsets);
    if (charsets->other[0] != '\0')
        rc = try(charsets, nb_string_of(charsets->other), text, out);
    return rc == NB_NO_MEMORY ? rc : 0;
}

/* Whether the text cannot be in the charset that it names. Some programs name UTF-16, their
 * encoding in memory, although they write the text in single bytes. */
static bool is_denied(const char *charset, struct nb_string text)
{
    return has_prefix(charset, "UTF-16") && memchr(text.bytes, '\0', text.length) == NULL &&
           nb_text_is_utf8(text);
}

static int to_utf8(struct nb_mail_charsets *charsets, struct nb_string label, bool is_html,
                   struct nb_string *text, struct nb_buffer *out)
{
    char name[NB_CHARSET_NAME];
    const char *charset = label.length > 0 ? nb_charset_of_label(label, name) : NB_CHARSET_NONE;
    if (charset == NB_CHARSET_UTF_8)
        return 0; /* the tokenizer reads it correctly by itself */
    bool is_said = charset != NULL && charset != NB_CHARSET_NONE && !is_denied(charset, *text);
    if ((!is_said || extends_ascii(charset)) && nb_text_is_ascii(*text))
        return 0;
    int rc = is_said ? convert(charsets, label, text, out) : NB_UNSUPPORTED;
    return rc == NB_UNSUPPORTED ? guess(charsets, is_html, text, out) : rc;
}

int nb_mail_body_to_utf8(struct nb_mail_charsets *charsets, struct nb_string label, bool is_html,
                         struct nb_string *text, struct nb_buffer *out)
{
    if (text->length == 0)
        return 0;
    struct nb_string mark = marked(*text);
    return to_utf8(charsets, mark.length > 0 ? mark : label, is_html, text, out);
}

int nb_mail_field_to_utf8(struct nb_mail_charsets *charsets, struct nb_string label,
                          struct nb_string *text, struct nb_buffer *out)
{
    return text->length == 0 ? 0 : to_utf8(charsets, label, false, text, out);
}

struct word {
    struct nb_string charset; /* without the language (RFC 2231, section 5) */
    bool is_base64;
    struct nb_string text; /* the encoded text */
    const char *end;       /* the position after the word */
};

struct decoder {
    struct nb_mail_charsets *charsets;
    struct nb_buffer *out;
    struct nb_string charset; /* charset of `bytes` */
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
        const char *text = mail_word_label(at, end, &word->charset);
        if (text == NULL)
            continue;
        word->is_base64 = nb_ascii_lower(text[-2]) == 'b';
        const char *closing = memmem(text, (size_t)(end - text), "?=", 2);
        if (closing == NULL)
            return NULL; /* no later word has an end either */
        word->text = between(text, closing);
        word->end = closing + 2;
        return at;
    }
    return NULL;
}

/* Decodes the encoding "Q" (RFC 2047, section 4.2). A '=' without two digits stands for itself. */
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
    if (rc == 0 && text.bytes == d->bytes.bytes) /* the text needed no conversion */
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
