/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/decode.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tokenizer/character.h"

static const char UTF_8[] = "utf-8";

/* ---- the census ------------------------------------------------------------------------------ */

static bool is_undefined(unsigned char byte)
{
    return byte == 0x81 || byte == 0x8D || byte == 0x8F || byte == 0x90 || byte == 0x9D;
}

static void count_stray(struct nb_census *c, unsigned char byte)
{
    if (c->strays++ == 0)
        c->first_stray = c->line + 1;
    c->undefined += is_undefined(byte);
}

static void count_line_end(struct nb_census *c, unsigned char byte)
{
    if (byte == '\n' && c->is_behind_cr) { /* the CR before it was counted as a lone CR */
        c->quoted_cr -= c->is_quoted;
        c->lone_cr -= !c->is_quoted;
        c->crlf++;
    } else if (byte == '\n') {
        c->quoted_lf += c->is_quoted;
        c->lone_lf += !c->is_quoted;
        c->line++;
    } else {
        c->quoted_cr += c->is_quoted;
        c->lone_cr += !c->is_quoted;
        c->line++;
    }
}

static void count_ascii(struct nb_census *c, unsigned char byte, uint64_t place)
{
    if (byte == '\n' || byte == '\r')
        count_line_end(c, byte);
    c->is_behind_cr = byte == '\r';
    c->is_quoted = c->is_quoted != (byte == '"');
    if (byte != '\0')
        return;
    if (c->nuls[0] + c->nuls[1] + c->nuls[2] + c->nuls[3] == 0)
        c->first_nul = c->line + 1;
    c->nuls[place % 4]++;
}

/* Returns the length of a character that begins with this byte; 0: no character begins with it. */
static unsigned length_of(unsigned char first)
{
    if (first < 0xC2 || first > 0xF4)
        return 0;
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* Decides whether the kept bytes are a character or their first byte is a stray. Returns false
 * while they may still become a character. */
static bool settle(struct nb_census *c, bool is_last)
{
    unsigned wanted = length_of(c->kept[0]);
    bool may_be = wanted > 0;
    for (unsigned i = 1; i < c->kept_count && i < wanted; i++)
        may_be = may_be && nb_utf8_is_continuation(c->kept[i]);
    if (may_be && c->kept_count < wanted && !is_last)
        return false;
    size_t length =
        may_be && c->kept_count >= wanted ? nb_utf8_sequence(c->kept, c->kept + c->kept_count) : 0;
    if (length > 1)
        c->sequences++;
    else
        count_stray(c, c->kept[0]);
    unsigned taken = length > 1 ? (unsigned)length : 1;
    memmove(c->kept, c->kept + taken, c->kept_count - taken);
    c->kept_count -= taken;
    return true;
}

static void settle_all(struct nb_census *c, bool is_last)
{
    while (c->kept_count > 0 && settle(c, is_last))
        ;
}

void nb_census_add(struct nb_census *c, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        uint64_t place = c->bytes++;
        if (place < sizeof c->head)
            c->head[place] = byte;
        if (byte < 0x80) {
            settle_all(c, true);
            count_ascii(c, byte, place);
            continue;
        }
        c->is_behind_cr = false;
        c->kept[c->kept_count++] = byte;
        settle_all(c, false);
    }
}

void nb_census_end(struct nb_census *c)
{
    settle_all(c, true);
}

/* ---- the charset ----------------------------------------------------------------------------- */

static struct nb_text_charset named(const char *name, size_t mark, bool is_guessed)
{
    struct nb_text_charset charset = {.mark = mark, .is_guessed = is_guessed};
    (void)snprintf(charset.name, sizeof charset.name, "%s", name);
    return charset;
}

/* Sets the charset by the byte order mark. Returns false if there is none. */
static bool has_mark(const struct nb_census *c, struct nb_text_charset *charset)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *name;
    } MARKS[] = {{"\xEF\xBB\xBF", 3, UTF_8},
                 {"\xFF\xFE\0\0", 4, "utf-32le"},
                 {"\0\0\xFE\xFF", 4, "utf-32be"},
                 {"\xFF\xFE", 2, "utf-16le"},
                 {"\xFE\xFF", 2, "utf-16be"}};
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
        if (c->bytes >= MARKS[i].length && memcmp(c->head, MARKS[i].bytes, MARKS[i].length) == 0) {
            *charset = named(MARKS[i].name, MARKS[i].length, false);
            charset->is_damaged = MARKS[i].name == UTF_8 && c->strays > 0;
            return true;
        }
    return false;
}

/* Returns UTF-16 or UTF-32, with its byte order, if the NULs of a text show it; else NULL. Text in
 * a Latin script has a NUL beside each letter. Such a text has NULs in more than half of its
 * characters, but a text with a few stray NULs has not. */
static const char *wide_of(const struct nb_census *c)
{
    const uint64_t *n = c->nuls;
    uint64_t quarter = c->bytes / 4;
    if (c->bytes < 4 || c->bytes % 2 != 0)
        return NULL;
    if (c->bytes % 4 == 0 && n[0] == 0 && n[3] == quarter && n[2] > quarter / 2)
        return "utf-32le";
    if (c->bytes % 4 == 0 && n[3] == 0 && n[0] == quarter && n[1] > quarter / 2)
        return "utf-32be";
    if (n[0] + n[2] == 0 && n[1] + n[3] > quarter)
        return "utf-16le";
    return n[1] + n[3] == 0 && n[0] + n[2] > quarter ? "utf-16be" : NULL;
}

struct nb_text_charset nb_text_charset_of(const struct nb_census *c, struct nb_string given)
{
    struct nb_text_charset charset;
    if (has_mark(c, &charset))
        return charset;
    char name[NB_CHARSET_NAME];
    const char *meant = given.length > 0 ? nb_charset_of_label(given, name) : NB_CHARSET_NONE;
    if (meant == NB_CHARSET_UTF_8)
        return named(UTF_8, 0, false);
    if (meant != NB_CHARSET_NONE) { /* decoding will refuse an unknown name */
        (void)snprintf(name, sizeof name, "%.*s", (int)given.length, given.bytes);
        return named(name, 0, false);
    }
    const char *wide = wide_of(c);
    if (wide != NULL)
        return named(wide, 0, true);
    if (c->strays == 0)
        return named(UTF_8, 0, false);
    if (c->sequences >= c->strays) {
        charset = named(UTF_8, 0, false);
        charset.is_damaged = true;
        return charset;
    }
    charset = named("windows-1252", 0, true);
    charset.is_unlikely = c->undefined > 0;
    return charset;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static int from_utf8(struct nb_string text, size_t most, struct nb_buffer *out,
                     struct nb_error *error)
{
    const unsigned char *at = (const unsigned char *)text.bytes, *end = at + text.length;
    size_t limit = most > SIZE_MAX - out->length ? SIZE_MAX : out->length + most;
    bool is_valid = nb_utf8_is_valid(text);
    int rc = is_valid && text.length <= most ? nb_buffer_append(out, at, text.length) : 0;
    while (!is_valid && rc == 0 && at < end && out->length <= limit) {
        unsigned char block[NB_UTF8_MOST];
        rc = nb_buffer_append(out, block, nb_utf8_encode(nb_utf8_decode(&at, end), block));
    }
    if (rc != 0)
        return nb_error_no_memory(error);
    if ((is_valid && text.length > most) || out->length > limit)
        return nb_error_set(error, NB_TOO_LARGE, "the text takes more than %zu bytes as UTF-8",
                            most);
    return 0;
}

int nb_text_decode(const struct nb_text_charset *charset, struct nb_string text, size_t most,
                   struct nb_buffer *out, struct nb_error *error)
{
    if (text.length == 0)
        return 0;
    if (strcmp(charset->name, UTF_8) == 0)
        return from_utf8(text, most, out, error);
    return nb_charset_to_utf8(NULL, nb_string_of(charset->name), text.bytes, text.length, most, out,
                              error);
}

int nb_text_decode_whole(struct nb_string *text, struct nb_string given, size_t most,
                         struct nb_buffer *out, struct nb_text_charset *charset,
                         struct nb_error *error)
{
    struct nb_census census = {0};
    bool is_wide = text->length > 0 && memchr(text->bytes, '\0', text->length) != NULL;
    if (given.length == 0 && !is_wide && nb_utf8_is_valid(*text)) { /* fast path for most texts */
        *charset = named(UTF_8, nb_string_starts(*text, "\xEF\xBB\xBF") ? 3 : 0, false);
        *text = nb_string_from(*text, charset->mark);
        return 0;
    }
    nb_census_add(&census, text->bytes, text->length);
    nb_census_end(&census);
    *charset = nb_text_charset_of(&census, given);
    *text = nb_string_from(*text, charset->mark);
    if (strcmp(charset->name, UTF_8) == 0 && census.strays == 0)
        return 0;
    out->length = 0;
    int rc = nb_text_decode(charset, *text, most, out, error);
    *text = (struct nb_string){out->bytes == NULL ? "" : out->bytes, out->length};
    return rc;
}
