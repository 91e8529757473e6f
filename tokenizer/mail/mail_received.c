/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/mail_received.h"

#include <string.h>

#include "core/base/ascii.h"
#include "tokenizer/bag/feature_text.h"
#include "tokenizer/text/url.h"

enum {
    VALUE_BYTES = 2048, /* of a field that are read */
    WORD_BYTES = 64,
    ID_BYTES = 8 /* a word of this length or more that has a digit is an id */
};

static const char prefix[] = "received:";

/* What a byte says of the word that it is in; SEPARATOR alone: it is in none. */
enum { SEPARATOR = 1, DIGIT = 2, POINT = 4, COLON = 8, AT = 16, OTHER = 32 };

/* A switch, which becomes a table: a mail has some thousand bytes of Received. */
static unsigned class_of(char c)
{
    switch (c) {
    case '(':
    case ')':
    case '[':
    case ']':
    case '<':
    case '>':
    case ',':
    case ';':
    case '=':
    case '"':
    case '\'':
        return SEPARATOR;
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return DIGIT;
    case '.':
        return POINT;
    case ':':
        return COLON;
    case '@':
        return AT;
    default:
        return (unsigned char)c <= ' ' ? SEPARATOR : OTHER;
    }
}

static int count(struct nb_tokenizing *t, struct nb_string word)
{
    struct nb_feature_text f;
    nb_feature_begin(&f, prefix);
    nb_feature_put_string(&f, word);
    return nb_feature_count(t, NB_FIELD_RECEIVED, &f);
}

/* Counts an address like "2001:db8:1:2::25": its first two and four groups, and the whole. */
static int count_ipv6(struct nb_tokenizing *t, struct nb_string address)
{
    size_t groups = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < address.length && groups < 4; i++) {
        if (address.bytes[i] == ':' && (++groups == 2 || groups == 4))
            rc = count(t, (struct nb_string){address.bytes, i + 1});
    }
    return rc != 0 ? rc : count(t, address);
}

static bool is_ipv6_byte(char c)
{
    char small = nb_ascii_lower(c);
    return nb_ascii_is_digit(c) || (small >= 'a' && small <= 'f') || c == ':' || c == '.';
}

static bool is_ipv6(struct nb_string s)
{
    size_t colons = 0;
    for (size_t i = 0; i < s.length; i++) {
        colons += s.bytes[i] == ':';
        if (!is_ipv6_byte(s.bytes[i]))
            return false;
    }
    return colons >= 2;
}

static bool looks_like_id(struct nb_string word)
{
    size_t digits = 0;
    for (size_t i = 0; i < word.length; i++)
        digits += nb_ascii_is_digit(word.bytes[i]);
    return digits == word.length || (digits > 0 && word.length >= ID_BYTES) ||
           word.length > WORD_BYTES;
}

/* `classes`: of all bytes of the word. Most words are plain. */
static int count_word(struct nb_tokenizing *t, struct nb_string word, unsigned classes)
{
    if ((classes & (POINT | COLON | AT)) == 0)
        return word.length > WORD_BYTES || ((classes & DIGIT) != 0 && looks_like_id(word))
                   ? 0
                   : count(t, word);
    const char *at = memchr(word.bytes, '@', word.length);
    if (word.length > 5 && nb_string_starts_nocase(word, "IPv6:"))
        word = nb_string_from(word, 5);
    if (nb_is_ipv4(word) || nb_is_host(word))
        return nb_tokenize_host(t, NB_FIELD_RECEIVED, prefix, word);
    if (is_ipv6(word))
        return count_ipv6(t, word);
    if (at != NULL) { /* "for <user@host>", "helo=user@host" */
        int rc = count(t, word);
        size_t local = (size_t)(at - word.bytes) + 1;
        struct nb_string host = {at + 1, word.length - local};
        return rc != 0 || !nb_is_host(host) ? rc
                                            : nb_tokenize_host(t, NB_FIELD_RECEIVED, prefix, host);
    }
    return looks_like_id(word) ? 0 : count(t, word);
}

int nb_mail_received(struct nb_tokenizing *t, struct nb_string value)
{
    if (!nb_tokenizing_wants(t, NB_FIELD_RECEIVED) || value.length == 0)
        return 0;
    if (value.length > VALUE_BYTES)
        value.length = VALUE_BYTES;
    const char *date = memrchr(value.bytes, ';', value.length);
    const char *end = date != NULL ? date : value.bytes + value.length;
    bool after_id = false;
    int rc = 0;
    for (const char *at = value.bytes; rc == 0 && at < end; at++) {
        const char *from = at;
        unsigned classes = 0;
        for (unsigned class_; at < end && (class_ = class_of(*at)) != SEPARATOR; at++)
            classes |= class_;
        struct nb_string word = {from, (size_t)(at - from)};
        if (word.length == 0)
            continue;
        if (!after_id)
            rc = count_word(t, word, classes);
        after_id = word.length == 2 && nb_string_equals_nocase(word, "id");
    }
    return rc;
}
