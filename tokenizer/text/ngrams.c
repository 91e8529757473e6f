/* SPDX-License-Identifier: Apache-2.0
 *
 * A mail has some 1,300 n-grams, more than all other features together, and nearly all of them are
 * ASCII. These are folded, hashed and counted in blocks, in three short loops whose variables stay
 * in registers; n-grams near other characters are folded and go through a window of bytes.
 */
#include "tokenizer/text/token.h"

#include <assert.h>
#include <endian.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/string.h"
#include "tokenizer/text/character.h"

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

static void hash_block(const struct nb_key *key, const unsigned char *block, size_t count,
                       uint64_t *ids)
{
    const struct nb_key_words words = key->words; /* a copy, which no store to an id can change */
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
        size_t count = (size_t)(end - p) < BLOCK_BYTES ? (size_t)(end - p) : BLOCK_BYTES;
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
