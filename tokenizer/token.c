/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/token.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/number.h"
#include "core/base/platform/byte_order.h"
#include "core/base/string.h"
#include "tokenizer/character.h"
#include "tokenizer/url.h"

int nb_text_count_long(struct nb_text_run *run, uint32_t first, size_t characters)
{
    assert(characters > NB_TOKEN_CHARACTERS);
    unsigned char letter[NB_UTF8_MOST + 1] = {0};
    nb_utf8_encode(first, letter);
    size_t coarse = 1;
    while (coarse <= characters / 2)
        coarse *= 2;
    char *token = (char *)nb_text_token(run);
    int length = snprintf(token, NB_BAG_ROOM - NB_PREFIX_BYTES, "long:%s:%zu", letter, coarse);
    return nb_text_count(run, (size_t)length);
}

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
        (void)nb_tokenize_passage(t, (const char *)p);
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

/* ---- n-grams --------------------------------------------------------------------------------- */

/* A mail has some 1,300 n-grams, more than all other features together, and nearly all of them are
 * ASCII. These are folded, hashed and counted in blocks, in three short loops whose variables stay
 * in registers; n-grams near other characters are folded and go through a window of bytes. */
enum { NGRAM_BYTES = 4 * NB_NGRAM, WINDOW_BYTES = 256, WINDOW_STARTS = 8 };
_Static_assert((int)WINDOW_STARTS > (int)NB_NGRAM, "all starts of an n-gram are there");

static const char PREFIX[] = "ngram:";
enum { PREFIX_BYTES = sizeof PREFIX - 1 };

/* The last folded characters of the text in UTF-8. When the array is full, the last characters move
 * to the front; otherwise no bytes move. */
struct window {
    unsigned char bytes[WINDOW_BYTES];
    unsigned starts[WINDOW_STARTS]; /* by the character's number modulo WINDOW_STARTS */
    unsigned characters;            /* number of characters put into the window so far */
    unsigned end;
    bool blank; /* skip white space: some was just written, or nothing was yet */
};

static unsigned start_of(const struct window *w, unsigned characters)
{
    return w->starts[(w->characters - characters) % WINDOW_STARTS];
}

static void move_to_front(struct window *w)
{
    unsigned from = start_of(w, NB_NGRAM);
    memmove(w->bytes, w->bytes + from, w->end - from);
    for (unsigned i = 0; i < WINDOW_STARTS; i++)
        w->starts[i] -= from; /* starts of older characters are not used again */
    w->end -= from;
}

static inline void slide(struct window *w, uint32_t character)
{
    if (w->end > WINDOW_BYTES - NGRAM_BYTES)
        move_to_front(w);
    w->starts[w->characters++ % WINDOW_STARTS] = w->end;
    w->end += nb_utf8_encode(character, w->bytes + w->end);
}

/* ---- any characters -------------------------------------------------------------------------- */

/* Counts the last NB_NGRAM characters. Always copies NGRAM_BYTES, because a copy of constant size
 * takes two instructions. */
static inline int count_last(struct nb_tokenizing *t, const struct window *w)
{
    unsigned from = start_of(w, NB_NGRAM);
    char *room = t->bag->private_->room;
    assert(from + NGRAM_BYTES <= WINDOW_BYTES);
    memcpy(room, PREFIX, PREFIX_BYTES);
    memcpy(room + PREFIX_BYTES, w->bytes + from, NGRAM_BYTES);
    return nb_text_count_room(t, NB_FIELD_NGRAM, 0, PREFIX_BYTES + (w->end - from));
}

/* Whether all characters of the next n-gram except its last one are ASCII, or not there yet. */
static bool is_ascii(const struct window *w)
{
    enum { BEFORE = NB_NGRAM - 1 };
    return w->characters < BEFORE ? w->characters == w->end
                                  : w->end - start_of(w, BEFORE) == BEFORE;
}

/* Counts the n-grams that end at or after *at, up to where the faster ASCII loop can take over.
 * Moves *at there, or to `end`. */
static int count_folded(struct nb_tokenizing *t, struct window *w, const unsigned char **at,
                        const unsigned char *end)
{
    struct nb_fold fold;
    nb_fold_begin(&fold, *at, end);
    do {
        uint32_t packed = nb_fold_next(&fold);
        unsigned class_ = nb_packed_class(packed);
        if (class_ == NB_CLASS_END)
            break;
        if (class_ == NB_CLASS_SPACE && w->blank)
            continue;
        w->blank = class_ == NB_CLASS_SPACE;
        (void)nb_tokenize_passage(t, (const char *)fold.from);
        slide(w, w->blank ? ' ' : nb_packed_character(packed));
        int rc = w->characters < NB_NGRAM ? 0 : count_last(t, w);
        if (rc != 0)
            return rc;
    } while (fold.taken < fold.queued || fold.ahead_at == end || *fold.ahead_at >= 0x80 ||
             !is_ascii(w));
    *at = fold.ahead_at;
    return 0;
}

/* ---- ASCII ----------------------------------------------------------------------------------- */

/* The n-grams of ASCII are counted from blocks of folded characters. A block begins with the last
 * characters of the block before it. */
enum { BEFORE = NB_NGRAM - 1, BLOCK_BYTES = 256, LOAD_BYTES = 8 };

/* Folds `count` bytes of ASCII; white space becomes blanks. Compilers vectorize this loop. */
static void fold_bytes(unsigned char *to, const unsigned char *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = from[i];
        unsigned char lower = (unsigned char)(c - 'A') < 26 ? (unsigned char)(c | 0x20) : c;
        to[i] = c <= ' ' || c == 0x7F ? ' ' : lower;
    }
}

/* Leaves out each blank after a blank. No branch depends on a byte. Returns how many bytes are
 * left. */
static inline size_t squeeze_bytes(unsigned char *to, const unsigned char *from, size_t count,
                                   unsigned *was_blank)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned is_blank = from[i] == ' ';
        to[left] = from[i];
        left += 1 - (is_blank & *was_blank);
        *was_blank = is_blank;
    }
    return left;
}

/* Like squeeze_bytes; moves sixteen bytes at once if they have no blank after a blank. If bytes are
 * moved one by one, classifying a mail of SpamAssassin's corpus takes 2.5 % more instructions
 * (callgrind); if the other such loops are simple, too, 5 % more. */
static size_t squeeze(unsigned char *bytes, size_t count, bool *blank)
{
    unsigned was_blank = *blank;
    size_t left = 0, i = 0;
#ifdef __SSE2__
    for (; count - i >= 16; i += 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i));
        unsigned blanks = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(' ')));
        if ((blanks & (blanks << 1 | was_blank)) == 0) {
            _mm_storeu_si128((__m128i *)(void *)(bytes + left), text);
            left += 16;
            was_blank = blanks >> 15;
        } else {
            left += squeeze_bytes(bytes + left, bytes + i, 16, &was_blank);
        }
    }
#endif
    left += squeeze_bytes(bytes + left, bytes + i, count - i, &was_blank);
    *blank = was_blank;
    return left;
}

enum { PACKED_BYTES = PREFIX_BYTES + NB_NGRAM };

/* Returns the text of an n-gram: "ngram:" and the five characters at `at`. Reads LOAD_BYTES. */
static inline struct nb_feature_block pack(const unsigned char *at)
{
    const uint64_t prefix = UINT64_C(0x3A6D6172676E); /* 'n' in the lowest byte */
    uint64_t ngram = nb_feature_load(at) & UINT64_C(0xFFFFFFFFFF);
    return (struct nb_feature_block){prefix | ngram << 48, ngram >> 16};
}

static inline void put_text(char *room, struct nb_feature_block packed)
{
    uint64_t text[2] = {htole64(packed.low), htole64(packed.high)};
    memcpy(room, text, sizeof text);
}

/* A function and four n-grams a round: the classification of a mail takes 1 % fewer instructions.
 */
__attribute__((noinline)) static void
hash_block(const struct nb_key *key, const unsigned char *block, size_t count, uint64_t *ids)
{
    const struct nb_key_words words = key->words; /* a copy, which no store to an id can change */
#pragma GCC unroll 4
    for (size_t i = 0; i < count; i++)
        ids[i] = nb_feature_id(NB_FIELD_NGRAM,
                               nb_feature_hash_block(&words, pack(block + i), PACKED_BYTES));
}

/* Counts the n-grams that begin at the first `count` places of the block. */
static int count_block(struct nb_tokenizing *t, const unsigned char *block, size_t count)
{
    uint64_t ids[BLOCK_BYTES];
    struct nb_bag_cursor cursor = nb_bag_cursor(t->bag);
    size_t most = count < t->tokens_left ? count : t->tokens_left;
    int rc = 0;
    assert(count <= BLOCK_BYTES);
    hash_block(t->key, block, most, ids);
    for (size_t i = 0; rc == 0 && i < most; i++) {
        uint32_t *slot = nb_bag_slot(&cursor, ids[i]);
        if (*slot != 0) {
            nb_bag_again(&cursor, slot);
            continue;
        }
        if (cursor.texts != NULL)
            put_text(cursor.room, pack(block + i));
        rc = nb_bag_enter(t->bag, &cursor, slot, ids[i], PACKED_BYTES);
    }
    nb_bag_leave(t->bag, &cursor);
    t->tokens_left -= most;
    if (rc != 0 || most == count)
        return rc;
    t->bag->truncated = true;
    return NB_BUDGET_SPENT;
}

/* Counts the n-grams that end at one of the bytes from `p` to `end`. The last characters before `p`
 * must be ASCII, too. */
static int count_ascii(struct nb_tokenizing *t, struct window *w, const unsigned char *p,
                       const unsigned char *end)
{
    unsigned char block[BEFORE + BLOCK_BYTES + LOAD_BYTES];
    size_t before = w->end < BEFORE ? w->end : BEFORE;
    int rc = 0;
    memcpy(block, w->bytes + w->end - before, before);
    while (rc == 0 && p < end) {
        const unsigned char *next = (const unsigned char *)nb_tokenize_passage(t, (const char *)p);
        size_t most = (size_t)((next != NULL && next < end ? next : end) - p);
        size_t count = most < BLOCK_BYTES ? most : BLOCK_BYTES;
        fold_bytes(block + before, p, count);
        p += count;
        count = squeeze(block + before, count, &w->blank);
        size_t all = before + count;
        for (size_t i = count < NB_NGRAM ? before : all - NB_NGRAM; i < all; i++)
            slide(w, block[i]);
        if (all > BEFORE)
            rc = count_block(t, block, all - BEFORE);
        before = all < BEFORE ? all : BEFORE;
        memmove(block, block + all - before, before);
    }
    return rc;
}

int nb_ngrams_count(struct nb_tokenizing *t, const unsigned char *text, const unsigned char *end)
{
    struct window w = {.blank = true};
    const unsigned char *at = text;
    int rc = 0;
    while (rc == 0 && at < end) {
        const unsigned char *stop = nb_utf8_ascii_end(at, end);
        if (stop < end && stop > at)
            stop--; /* the next character may compose with this one */
        rc = count_ascii(t, &w, at, stop);
        at = stop;
        if (rc == 0 && at < end)
            rc = count_folded(t, &w, &at, end);
    }
    return rc;
}
