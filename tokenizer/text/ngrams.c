/* SPDX-License-Identifier: Apache-2.0
 *
 * A mail has some 1,300 n-grams, more than of all other features together, and nearly all of them
 * are ASCII. Those are kept and hashed in registers; what touches another character is folded and
 * goes through a window of bytes.
 */
#include "tokenizer/text/ngrams.h"

#include <assert.h>
#include <endian.h>

#include "tokenizer/text/fold.h"
#include "tokenizer/text/token.h"

enum { NGRAM_BYTES = 4 * NB_NGRAM, WINDOW_BYTES = 256, WINDOW_STARTS = 8 };
_Static_assert((int)WINDOW_STARTS > (int)NB_NGRAM, "all starts of an n-gram are there");

static const char PREFIX[] = "ngram:";
enum { PREFIX_BYTES = sizeof PREFIX - 1 };

/* The last characters, as UTF-8, one behind the other. When the bytes are full, the last ones move
 * to the front; else nothing moves from character to character. */
struct window {
    unsigned char bytes[WINDOW_BYTES];
    unsigned starts[WINDOW_STARTS]; /* of the characters, by their number modulo WINDOW_STARTS */
    unsigned characters;            /* so far, of which the window may have missed some */
    unsigned end;
    bool blank; /* white space is left out now: there was some before, or nothing yet */
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
        w->starts[i] -= from; /* of older ones: not used again */
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

/* Counts the last NB_NGRAM characters. NGRAM_BYTES are copied, however many they have: a copy of
 * a size that is known takes two instructions. */
static inline int count_last(struct nb_tokenizing *t, const struct window *w)
{
    unsigned from = start_of(w, NB_NGRAM);
    char *room = t->bag->private_->room;
    assert(from + NGRAM_BYTES <= WINDOW_BYTES);
    memcpy(room, PREFIX, PREFIX_BYTES);
    memcpy(room + PREFIX_BYTES, w->bytes + from, NGRAM_BYTES);
    return nb_text_count_room(t, NB_FIELD_NGRAM, 0, PREFIX_BYTES + (w->end - from));
}

/* Whether the characters before the next n-gram's last are ASCII, or there are not as many. */
static bool is_ascii(const struct window *w)
{
    enum { BEFORE = NB_NGRAM - 1 };
    return w->characters < BEFORE ? w->characters == w->end
                                  : w->end - start_of(w, BEFORE) == BEFORE;
}

/* Counts the n-grams that end in a character from *at on, up to where ASCII may be counted faster.
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

/* The end of the ASCII from `p` on. */
static const unsigned char *ascii_end(const unsigned char *p, const unsigned char *end)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    for (uint64_t word; end - p >= 8; p += 8) {
        memcpy(&word, p, sizeof word);
        if ((word & high) != 0)
            break;
    }
    while (p < end && *p < 0x80)
        p++;
    return p;
}

/* Counts "ngram:" and the five characters of `last`, of which the lowest byte is the first. */
static inline int count_packed(struct nb_tokenizing *t, uint64_t last)
{
    enum { LENGTH = PREFIX_BYTES + NB_NGRAM };
    const uint64_t ngram = UINT64_C(0x3A6D6172676E); /* the prefix, 'n' in the lowest byte */
    uint64_t head = ngram | last << 48;
    uint64_t tail = ngram >> 24 | last << 24;
    char *room = t->bag->private_->room;
    uint64_t bytes[2] = {htole64(head), htole64(tail)};
    memcpy(room, &bytes[0], 8);
    memcpy(room + LENGTH - 8, &bytes[1], 8);
    return nb_text_count_hash(t, nb_feature_id(NB_FIELD_NGRAM, 0), NB_FIELD_HASH,
                              nb_key_hash_ends(t->key, head, tail, LENGTH), 0, LENGTH);
}

/* The last characters of the window, the latest in the fifth byte. */
static uint64_t last_of(const struct window *w)
{
    uint64_t last = 0;
    for (unsigned i = w->end < NB_NGRAM ? 0 : w->end - NB_NGRAM; i < w->end; i++)
        last = last >> 8 | (uint64_t)w->bytes[i] << 32;
    return last;
}

/* Counts the n-grams that end in a byte from `p` to `end`; the characters before are ASCII, too. */
static int count_ascii(struct nb_tokenizing *t, struct window *w, const unsigned char *p,
                       const unsigned char *end)
{
    uint64_t last = last_of(w);
    unsigned before = w->characters, characters = before;
    int rc = 0;
    for (; rc == 0 && p < end; p++) {
        uint32_t packed = nb_character_table[*p];
        bool is_space = nb_packed_class(packed) == NB_CLASS_SPACE;
        if (is_space && w->blank)
            continue;
        w->blank = is_space;
        last = last >> 8 | (uint64_t)(is_space ? ' ' : nb_packed_character(packed)) << 32;
        if (++characters >= NB_NGRAM)
            rc = count_packed(t, last);
    }
    unsigned fresh = characters - before;
    for (unsigned i = fresh < NB_NGRAM ? NB_NGRAM - fresh : 0; i < NB_NGRAM; i++)
        slide(w, (uint32_t)(last >> i * 8) & 0xFF);
    return rc;
}

int nb_ngrams_count(struct nb_tokenizing *t, const unsigned char *text, const unsigned char *end)
{
    struct window w = {.blank = true};
    const unsigned char *at = text;
    int rc = 0;
    while (rc == 0 && at < end) {
        const unsigned char *stop = ascii_end(at, end);
        if (stop < end && stop > at)
            stop--; /* the next character may compose with this one */
        rc = count_ascii(t, &w, at, stop);
        at = stop;
        if (rc == 0 && at < end)
            rc = count_folded(t, &w, &at, end);
    }
    return rc;
}
