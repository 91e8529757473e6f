/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/derived.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/number.h"
#include "core/base/string.h"
#include "tokenizer/text/character.h"
#include "tokenizer/text/token.h"
#include "tokenizer/text/url.h"
#include "tokenizer/text/utf8_decode.h"

/* Returns the length of the beginning of a text that has `most` bytes besides CRs before LF; the
 * length of the whole text if that has fewer. Sets *counted to the number of bytes besides these
 * CRs. */
static size_t line_ends_span(struct nb_string text, size_t most, size_t *counted)
{
    size_t at = 0;
    *counted = 0;
    while (at < text.length && *counted < most) {
        size_t rest = text.length - at < most - *counted ? text.length - at : most - *counted;
        const char *begin = text.bytes + at, *found = memchr(begin, '\r', rest);
        size_t before = found != NULL ? (size_t)(found - begin) : rest;
        at += before;
        *counted += before;
        if (found == NULL)
            continue;
        at++;
        bool is_end = at < text.length && text.bytes[at] == '\n';
        *counted += !is_end;
    }
    return at;
}

size_t nb_line_ends_size(struct nb_string text)
{
    size_t counted;
    (void)line_ends_span(text, text.length, &counted);
    return counted;
}

static bool is_capital(uint32_t character)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)character);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT;
}

/* Counts a word with capitals in its original case, without invisible characters. */
static int count_case(struct nb_text_run *run, const unsigned char *from, const unsigned char *to)
{
    static const char prefix[] = "case:";
    /* 40 folded characters may come from 80 characters: a letter and a mark can compose. */
    enum { MOST = 2 * 4 * NB_TOKEN_CHARACTERS };
    unsigned char *text = (unsigned char *)run->storage->room;
    size_t length = sizeof prefix - 1;
    bool capitals = false;
    memcpy(text, prefix, length);
    while (from < to && length < MOST) {
        uint32_t character = nb_utf8_decode(&from, to);
        if (nb_packed_kind(nb_character(character)) == NB_KIND_IGNORED)
            continue;
        if (character == 0x2018 || character == 0x2019)
            character = '\'';
        capitals = capitals || (character < 0x80 ? character >= 'A' && character <= 'Z'
                                                 : is_capital(character));
        length += nb_utf8_encode(character, text + length);
    }
    return capitals ? nb_text_count_room(run->t, NB_FIELD_CASE, 0, length) : 0;
}

static inline char *put_word(char *to, struct nb_string word)
{
    nb_bag_copy(to, word.bytes, word.length);
    return to + word.length;
}

/* Counts the pair of the previous word and `word`, which has this hash. */
static int count_pair(struct nb_text_run *run, struct nb_string word, uint64_t hash)
{
    static const char prefix[] = "pair:";
    const struct nb_derived *before = run->derived;
    char *text = run->storage->room;
    memcpy(text, prefix, sizeof prefix - 1);
    char *end = put_word(text + sizeof prefix - 1, before->word);
    *end++ = ' ';
    end = put_word(end, word);
    return nb_text_count_hash(run->t, nb_feature_id(NB_FIELD_PAIR, 0), NB_FIELD_HASH,
                              nb_feature_hash_pair(run->t->key, before->hash, hash), 0,
                              (size_t)(end - text));
}

int nb_derived_word(struct nb_text_run *run, size_t length, const unsigned char *from,
                    const unsigned char *to)
{
    const struct nb_key *key = run->t->key;
    const char *room = run->storage->room;
    size_t head = run->prefix_length;
    struct nb_derived now;
    assert(length <= NB_WORD_BYTES);
    uint64_t hash = nb_feature_hash_padded(key, room, head + length);
    uint64_t plain = head == 0 ? hash : nb_feature_hash_padded(key, room + head, length);
    nb_derived_keep(&now, (struct nb_string){room + head, length}, plain);
    int rc = nb_text_count_hash(run->t, run->space, run->hashed, hash, run->step, head + length);
    if (rc == 0 && nb_tokenizing_wants(run->t, NB_FIELD_CASE))
        rc = count_case(run, from, to);
    if (rc == 0 && run->derived->word.length != 0 && nb_tokenizing_wants(run->t, NB_FIELD_PAIR))
        rc = count_pair(run, now.word, plain);
    nb_derived_keep(run->derived, now.word, plain);
    return rc;
}

/* ---- parts of a text ------------------------------------------------------------------------- */

/* Returns the length of the longest beginning of a text that has at most `most` bytes and cuts no
 * character. Only a first character that is longer than `most` is cut. */
static size_t cut(const unsigned char *text, size_t length, size_t most)
{
    if (length <= most)
        return length;
    size_t whole = nb_utf8_cut((struct nb_string){(const char *)text, length}, most).length;
    return whole > 0 ? whole : most;
}

/* ---- URLs and mail domains ------------------------------------------------------------------- */

enum { SCHEME_BYTES = 16 };

static bool is_host_byte(unsigned char byte)
{
    return nb_ascii_is_alphanumeric(byte) || byte == '-' || byte == '.' || byte >= 0x80;
}

static bool ends_url(unsigned char byte)
{
    return byte <= ' ' || byte == 0x7F || strchr("<>\"`{}|\\^", byte) != NULL;
}

/* Returns the end of the URL that continues at `p`. Marks at its end are left out: they belong to
 * the sentence around it. */
static const unsigned char *url_end(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *begin = p;
    while (p < end && !ends_url(*p))
        p++;
    while (p > begin && strchr(".,;:!?'()[]*_", p[-1]) != NULL)
        p--;
    return p;
}

/* Returns the beginning of the scheme before the "://" at `p`. */
static const unsigned char *scheme_begin(const unsigned char *p, const unsigned char *begin)
{
    const unsigned char *from = p;
    while (from > begin && p - from < SCHEME_BYTES && nb_ascii_is_letter(from[-1]))
        from--;
    return from;
}

static bool is_www(const unsigned char *p, const unsigned char *begin, const unsigned char *end)
{
    return end - p > 4 && p[3] == '.' && (p[1] | 0x20) == 'w' && (p[2] | 0x20) == 'w' &&
           is_host_byte(p[4]) && (p == begin || !is_host_byte(p[-1]));
}

/* Counts a URL without a scheme: "www.example.com". */
static int count_www(struct nb_tokenizing *t, const unsigned char *url, size_t length)
{
    char text[1026] = "//"; /* nb_tokenize_url reads 1,024 bytes */
    if (length > sizeof text - 2)
        length = sizeof text - 2;
    memcpy(text + 2, url, length);
    return nb_tokenize_url(t, text, length + 2);
}

static int count_mail_domain(struct nb_tokenizing *t, const unsigned char *from,
                             const unsigned char *to)
{
    while (to > from && (to[-1] == '.' || to[-1] == '-'))
        to--;
    struct nb_string host = {(const char *)from, (size_t)(to - from)};
    return nb_is_host(host) ? nb_tokenize_host(t, NB_FIELD_URL, "url:", host) : 0;
}

static int count_urls(struct nb_tokenizing *t, const unsigned char *begin, const unsigned char *end)
{
    int rc = 0;
    const unsigned char *done = begin; /* earlier bytes are not read again: linear time */
    for (const unsigned char *p = begin; rc == 0; p++) {
        p = nb_link_mark(p, end);
        if (p == end)
            break;
        const unsigned char *to = NULL;
        if (*p == ':' && end - p > 3 && p[1] == '/' && p[2] == '/' && scheme_begin(p, done) != p) {
            const unsigned char *from = scheme_begin(p, done);
            to = url_end(p + 3, end);
            rc = nb_tokenize_url(t, (const char *)from, (size_t)(to - from));
        } else if (*p == '@' && p > done && !ends_url(p[-1])) {
            to = p + 1;
            while (to < end && is_host_byte(*to))
                to++;
            rc = count_mail_domain(t, p + 1, to);
        } else if ((*p | 0x20) == 'w' && is_www(p, done, end)) {
            to = url_end(p, end);
            rc = count_www(t, p, (size_t)(to - p));
        }
        if (to != NULL) {
            done = to;
            p = to - 1;
        }
    }
    return rc;
}

/* ---- the shape of a Subject ------------------------------------------------------------------ */

static const char UPPER[] = "shape:upper=", EXCLAMATIONS[] = "shape:!=";

/* Counts a feature of the shape: `name` with a number after it. */
static int count_shape_number(struct nb_tokenizing *t, struct nb_string name, size_t number)
{
    char text[sizeof UPPER + NB_NUMBER_DIGITS];
    memcpy(text, name.bytes, name.length);
    size_t digits = nb_number_put(text + name.length, number);
    return nb_tokenize_feature(t, NB_FIELD_STRUCTURE, text, name.length + digits);
}

/* Counts "shape:upper=3", how many quarters of the letters are capitals, and "shape:!=2", the
 * number of exclamation marks. */
static int count_shape(struct nb_tokenizing *t, const unsigned char *at, const unsigned char *end)
{
    size_t letters = 0;
    size_t capitals = 0;
    size_t exclamations = 0;
    while (at < end) {
        uint32_t packed = nb_utf8_decode(&at, end);
        exclamations += packed == '!' || packed == 0xFF01;
        capitals += is_capital(packed);
        letters += nb_packed_class(nb_character(packed)) == NB_CLASS_LETTER;
    }
    int rc = 0;
    if (letters != 0)
        rc = count_shape_number(t, (struct nb_string){UPPER, sizeof UPPER - 1},
                                capitals >= letters ? 4 : capitals * 4 / letters);
    if (rc != 0 || exclamations == 0)
        return rc;
    if (exclamations > NB_SHAPE_EXCLAMATIONS)
        exclamations = NB_SHAPE_EXCLAMATIONS;
    return count_shape_number(t, (struct nb_string){EXCLAMATIONS, sizeof EXCLAMATIONS - 1},
                              exclamations);
}

int nb_derived_text(struct nb_tokenizing *t, enum nb_field field, const char *text, size_t length)
{
    const unsigned char *begin = (const unsigned char *)text;
    int rc = 0;
    if (field == NB_FIELD_SUBJECT && nb_tokenizing_wants(t, NB_FIELD_STRUCTURE))
        rc = count_shape(t, begin, begin + length);
    if (rc == 0 && field == NB_FIELD_BODY && nb_tokenizing_wants(t, NB_FIELD_URL))
        rc = count_urls(t, begin, begin + length);
    if (rc == 0 && nb_tokenizing_wants(t, NB_FIELD_NGRAM) && t->ngram_bytes < NB_NGRAM_BYTES) {
        size_t counted;
        size_t most = line_ends_span((struct nb_string){text, length},
                                     NB_NGRAM_BYTES - t->ngram_bytes, &counted);
        t->ngram_bytes += counted;
        rc = nb_ngrams_count(t, begin, begin + cut(begin, length, most));
    }
    return rc;
}
