/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a bag, for the tokenizer's own files, which count a token without a function call.
 * A bag belongs to one thread at a time.
 *
 * A token is written to `room`, behind the texts of the features so far. If the feature is new, its
 * text stays there; only a new feature moves `room` on, so a known word is never copied. A bag that
 * keeps no texts never moves `room`.
 */
#ifndef NB_TOKENIZER_BAG_PRIVATE_H
#define NB_TOKENIZER_BAG_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/attribute.h"
#include "core/base/error.h"
#include "core/base/platform/byte_order.h"
#include "core/base/string.h"
#include "tokenizer/bag.h"

/* Bytes that may always be written at `room`. The longest text that the tokenizer builds there is a
 * pair of words of 40 characters of 4 bytes, with its prefix; a 16-byte store may touch 15 bytes
 * behind it. */
enum { NB_BAG_ROOM = 512 };

struct nb_bag_chunk; /* a piece of text storage */

struct nb_bag_private {
    struct nb_string *texts; /* owned; the texts of the features, if the bag keeps them */
    char *room;              /* at least NB_BAG_ROOM bytes are free here after nb_bag_prepare */
    char *room_end;          /* if `room` is beyond this, the next text goes to another chunk */
    uint32_t *slots; /* hash table, open addressing: index of a feature plus one, 0 is free */
    size_t mask;     /* number of slots in use minus one: a power of two minus one */
    size_t most;     /* most features for this number of slots */
    size_t slot_capacity;
    size_t feature_capacity;
    struct nb_bag_chunk *first;
    struct nb_bag_chunk *current;
};

/* Allocates what an empty bag needs. Returns 0 or NB_NO_MEMORY. */
int nb_bag_allocate(struct nb_bag *bag);

/* Calls nb_bag_allocate if the bag is not allocated yet. Call it before nb_bag_count. */
static inline int nb_bag_prepare(struct nb_bag *bag)
{
    return bag->private_ != NULL ? 0 : nb_bag_allocate(bag);
}

/* Makes room for one more feature and for NB_BAG_ROOM more bytes. Returns 0 or NB_NO_MEMORY. */
int nb_bag_grow(struct nb_bag *bag);

enum { NB_BAG_KNOWN_MOST = 256 };

/* Counts one occurrence of each of `count` features (at most NB_BAG_KNOWN_MOST), if the bag already
 * has the feature in the slot where its look-up begins. Writes the indexes of the other features to
 * `rest` in their order; `rest` has room for `count` + 1. Returns how many it wrote. No branch
 * depends on a feature. */
size_t nb_bag_count_known(struct nb_bag *bag, const uint64_t *ids, size_t count,
                          unsigned char *rest);

/* The members of a bag that counting reads and writes, for a loop that counts many features: the
 * compiler keeps them in registers, because no store to a text or a feature can change them.
 * Between nb_bag_cursor and nb_bag_leave use the bag through the cursor only. */
struct nb_bag_cursor {
    struct nb_feature *features;
    struct nb_string *texts; /* NULL: not kept */
    uint32_t *slots;
    char *room;
    char *room_end;
    size_t mask;
    size_t most;
    size_t size;
    uint32_t passage;
};

/* Returns a cursor of a bag that nb_bag_prepare has prepared. */
static inline struct nb_bag_cursor nb_bag_cursor(const struct nb_bag *bag)
{
    const struct nb_bag_private *in = bag->private_;
    return (struct nb_bag_cursor){.features = bag->features,
                                  .texts = bag->texts == NULL ? NULL : in->texts,
                                  .slots = in->slots,
                                  .room = in->room,
                                  .room_end = in->room_end,
                                  .mask = in->mask,
                                  .most = in->most,
                                  .size = bag->size,
                                  .passage = bag->passage};
}

/* Writes the counts of the cursor back to the bag. */
static inline void nb_bag_leave(struct nb_bag *bag, const struct nb_bag_cursor *c)
{
    bag->size = c->size;
    bag->private_->room = c->room;
}

/* The place of an id in a table: of its keyed bits, so that nobody can write words that all have
 * one place. */
static inline size_t nb_bag_place(uint64_t id, size_t mask)
{
    return (size_t)(id >> NB_FEATURE_OPEN_BITS) & mask;
}

/* The slot of the feature `id`, or the free one where it belongs. */
static inline uint32_t *nb_bag_slot(const struct nb_bag_cursor *c, uint64_t id)
{
    size_t at = nb_bag_place(id, c->mask);
    while (c->slots[at] != 0 && c->features[c->slots[at] - 1].id != id)
        at = (at + 1) & c->mask;
    return &c->slots[at];
}

/* Counts one more occurrence of the feature at a slot that is not free. */
static inline void nb_bag_again(const struct nb_bag_cursor *c, const uint32_t *slot)
{
    c->features[*slot - 1].count++;
}

/* Counts the first occurrence of the feature `id` at `slot`, the free slot where it belongs; it
 * becomes the last feature of the bag. If texts are kept, its text is the `length` bytes at the
 * room. Returns 0 or NB_NO_MEMORY, in which case nothing was counted. */
static inline int nb_bag_enter(struct nb_bag *bag, struct nb_bag_cursor *c, uint32_t *slot,
                               uint64_t id, size_t length)
{
    struct nb_string text = {c->room, length};
    if (c->texts == NULL)
        length = 0;
    c->room += length;
    if (__builtin_expect(c->size == c->most || c->room > c->room_end, 0)) {
        nb_bag_leave(bag, c);
        int rc = nb_bag_grow(bag);
        if (rc != 0) {
            c->room -= length;
            nb_bag_leave(bag, c);
            return rc;
        }
        *c = nb_bag_cursor(bag);
        slot = nb_bag_slot(c, id); /* growing moves the slots */
    }
    if (c->texts != NULL)
        c->texts[c->size] = text;
    c->features[c->size] = (struct nb_feature){.id = id, .count = 1, .passage = c->passage};
    *slot = (uint32_t)++c->size;
    return 0;
}

/* Counts one occurrence of the feature `id`, whose text is the `length` bytes at `room`. `step` is
 * 1 for fields that are tokens and 0 for others (nb_field_is_token). Returns 0 or NB_NO_MEMORY, in
 * which case nothing was counted. */
static inline int nb_bag_count(struct nb_bag *bag, uint64_t id, size_t length, unsigned step)
{
    struct nb_bag_cursor c = nb_bag_cursor(bag);
    uint32_t *slot = nb_bag_slot(&c, id);
    if (*slot != 0) {
        nb_bag_again(&c, slot);
    } else {
        int rc = nb_bag_enter(bag, &c, slot, id, length);
        if (rc != 0)
            return rc;
        nb_bag_leave(bag, &c);
    }
    bag->positions += step;
    return 0;
}

/* The state of one document while it is tokenized, shared by all its parts, and the function that
 * counts one feature. A tokenizing belongs to one thread.
 */

struct nb_mail_values;

/* The amount of work that one document may take. Pure functions; any thread.
 *
 * Work is counted in units and not measured in seconds, so that the same document has the same
 * features on a busy machine as on an idle one. A unit takes 1 to 15 ns. Every stage spends units
 * for each byte that it reads, and extra units where the bytes are not the main cost: opening a
 * charset, a call of iconv, a header field, a part. */
enum {
    /* Units for each byte that is decoded, read as HTML or cut into words; for each byte of a
     * header field and of its parameters, which are compared with each other. Charsets have their
     * own units (tokenizer/charset.h). */
    NB_WORK_DECODE = 1,
    NB_WORK_HTML = 4,
    NB_WORK_WORDS = 4,
    NB_WORK_FIELD = 2,
    NB_WORK_PARAMETERS = 16,
    /* Units for a part of a mail and for a header field. */
    NB_WORK_PART = 256,
    NB_WORK_HEADER = 64,
    /* A shorter document may take as much as one of this many bytes. */
    NB_WORK_LEAST_BYTES = 65536
};

struct nb_bag_work {
    uint64_t left;
    bool is_short; /* the work ran out: something was left out */
};

/* Work without a bound. */
#define NB_WORK_UNBOUNDED ((struct nb_bag_work){.left = UINT64_MAX})

/* The work for a document of `length` bytes, at `per_byte` units for each byte (0: no bound). */
static inline struct nb_bag_work nb_work_of(size_t length, size_t per_byte)
{
    uint64_t bytes = length < NB_WORK_LEAST_BYTES ? NB_WORK_LEAST_BYTES : length;
    if (per_byte == 0 || bytes > UINT64_MAX / per_byte)
        return NB_WORK_UNBOUNDED;
    return (struct nb_bag_work){.left = bytes * per_byte};
}

/* Spends `units`. Returns false if fewer are left; then it spends those that are left. */
static inline bool nb_work_spend(struct nb_bag_work *work, uint64_t units)
{
    if (units <= work->left) {
        work->left -= units;
        return true;
    }
    work->left = 0;
    work->is_short = true;
    return false;
}

/* Spends `units` for each of `bytes` bytes. Returns how many of them may be read. */
static inline size_t nb_work_take(struct nb_bag_work *work, size_t bytes, unsigned units)
{
    uint64_t affordable = work->left / units;
    if (bytes <= affordable) {
        work->left -= (uint64_t)bytes * units;
        return bytes;
    }
    work->left = 0;
    work->is_short = true;
    return (size_t)affordable;
}

/* Everything is borrowed. */
struct nb_tokenizing {
    const struct nb_key *key;
    const struct nb_tokenizer_settings *settings;
    const struct nb_tokenizer_limits *limits;
    struct nb_bag *bag;
    size_t tokens_left; /* rest of limits->tokens; at 0 counting stops and sets bag->truncated */
    struct nb_bag_work work; /* when it is spent, reading stops and sets bag->truncated */
    size_t ngram_bytes;      /* bytes of Subject and body cut into n-grams so far; begins at 0 */
    struct nb_mail_values *mail_values; /* gets the fields of a mail's header; NULL: not wanted */
    const char
        *passage_text; /* the visible text that is being read; NULL: it stands in every passage */
    size_t passage_before; /* bytes of visible text before it */
};

/* Notes that the text continues at `at`: features that are counted now first belong to its passage.
 * Returns where the next passage begins; NULL: nowhere. */
const char *nb_tokenize_passage(struct nb_tokenizing *t, const char *at);

/* Whether features of a field are counted under the settings. */
static inline bool nb_tokenizing_wants(const struct nb_tokenizing *t, enum nb_field field)
{
    return (t->settings->fields >> field & 1u) != 0;
}

/* Counts one feature by its whole text ("html:hidden"), without folding, if the settings want its
 * field. Returns 0 (also when the limit on tokens is reached) or NB_NO_MEMORY. */
int nb_tokenize_feature(struct nb_tokenizing *t, enum nb_field field, const char *text,
                        size_t length);

/* The text of one feature, put together from pieces of a mail. Any thread; the functions work on
 * their arguments only.
 *
 * Capitals become small letters, white space is left out, and bytes that are not printable ASCII
 * become '?': names, hosts and addresses may hold any bytes, but the text of a feature is UTF-8. */
enum { NB_FEATURE_TEXT = 320 }; /* bytes; longer ones are cut */
_Static_assert((int)NB_FEATURE_TEXT <= (int)NB_BAG_ROOM, "a text fits into the room of a bag");

struct nb_feature_text {
    char bytes[NB_FEATURE_TEXT + NB_BAG_BLOCK]; /* copying in blocks may read behind the text */
    size_t length;
};

/* Maps each byte to the byte that stands for it; 0 for white space, which is left out. A table,
 * because the bytes of names and addresses are unpredictable and would mispredict branches. */
extern const char nb_feature_bytes[256];

/* Eight bytes in lower case, if all of them are visible ASCII; else 0. */
static inline uint64_t nb_feature_eight(uint64_t bytes)
{
    const uint64_t each = UINT64_C(0x0101010101010101), high = each << 7;
    bool is_ascii = ((bytes | (bytes + each)) & high) == 0; /* without DEL: so no carry below */
    bool is_visible = ((bytes + each * (0x80 - '!')) & high) == high;
    uint64_t capitals = (bytes + each * (0x80 - 'A')) & ~(bytes + each * (0x7F - 'Z')) & high;
    return is_ascii && is_visible ? bytes | capitals >> 2 : 0;
}

/* Loads the last `count` bytes of a text, 1 to 7, as eight bytes padded with '!'. Only one branch
 * depends on `count`. */
static inline uint64_t nb_feature_tail(const char *bytes, size_t count)
{
    const unsigned char *b = (const unsigned char *)bytes;
    uint64_t eight =
        b[0] | (uint64_t)b[count / 2] << count / 2 * 8 | (uint64_t)b[count - 1] << (count - 1) * 8;
    if (count >= 4) {
        uint32_t first, last; /* overlapping */
        memcpy(&first, bytes, sizeof first);
        memcpy(&last, bytes + count - sizeof last, sizeof last);
        eight = le32toh(first) | (uint64_t)le32toh(last) << (count - sizeof last) * 8;
    }
    return htole64(eight | UINT64_C(0x2121212121212121) << count * 8);
}

/* Writes eight bytes without a call (see NB_BAG_BLOCK). */
static inline void nb_feature_store(char *to, uint64_t eight)
{
    __builtin_memcpy(to, &eight, sizeof eight);
}

/* The next functions append bytes, a C string or a text, as far as they fit. */
static inline void nb_feature_put(struct nb_feature_text *f, const char *bytes, size_t length)
{
    size_t end = f->length; /* a copy, which no store to a byte can change */
    size_t i = 0;
    for (uint64_t eight; length - i >= 8 && end + 8 <= NB_FEATURE_TEXT; i += 8, end += 8) {
        memcpy(&eight, bytes + i, 8);
        eight = nb_feature_eight(eight);
        if (eight == 0)
            break;
        nb_feature_store(f->bytes + end, eight);
    }
    if (length - i - 1 < 7 && end + 8 <= NB_FEATURE_TEXT) {
        uint64_t eight = nb_feature_eight(nb_feature_tail(bytes + i, length - i));
        if (eight != 0) {
            nb_feature_store(f->bytes + end, eight);
            f->length = end + length - i;
            return;
        }
    }
    for (; i < length && end < NB_FEATURE_TEXT; i++) {
        char c = nb_feature_bytes[(unsigned char)bytes[i]];
        f->bytes[end] = c;
        end += c != '\0';
    }
    f->length = end;
}

static inline void nb_feature_puts(struct nb_feature_text *f, const char *text)
{
    nb_feature_put(f, text, strlen(text));
}

/* Sets the text to a literal of lower-case letters and marks. The bytes behind it are not cleared,
 * because a mail has hundreds of these texts. */
static inline void nb_feature_begin(struct nb_feature_text *f, const char *text)
{
    f->length = strlen(text);
    memcpy(f->bytes, text, f->length);
}

/* Like nb_feature_begin, for a text of at most NB_FEATURE_TEXT bytes that comes from another
 * feature text. */
static inline void nb_feature_begin_string(struct nb_feature_text *f, struct nb_string text)
{
    f->length = text.length;
    memcpy(f->bytes, text.bytes, text.length);
}

static inline void nb_feature_put_string(struct nb_feature_text *f, struct nb_string s)
{
    nb_feature_put(f, s.bytes, s.length);
}

/* Counts the feature with this text, as nb_tokenize_feature does. */
int nb_feature_count(struct nb_tokenizing *t, enum nb_field field, const struct nb_feature_text *f);

/* Like nb_feature_count, for the text without its bytes from `head` to `from`. */
int nb_feature_count_ends(struct nb_tokenizing *t, enum nb_field field,
                          const struct nb_feature_text *f, size_t head, size_t from);

/* Appends the shape of an identifier, at most `most` characters: '9' for a run of digits, 'a' for a
 * run of small letters, 'A' for a run of capitals, and any other character once for each run of it.
 * Identifiers that a program makes (message ids, boundaries) differ every time, but have one
 * shape. */
static inline void nb_feature_put_shape(struct nb_feature_text *f, struct nb_string s, size_t most)
{
    char last = '\0';
    for (size_t i = 0; i < s.length && most > 0; i++) {
        char c = s.bytes[i];
        char letter = c == nb_ascii_lower(c) ? 'a' : 'A';
        char kind = nb_ascii_is_digit(c) ? '9' : nb_ascii_is_letter(c) ? letter : c;
        if (kind == last || f->length == NB_FEATURE_TEXT)
            continue;
        f->bytes[f->length++] = kind > ' ' && kind < 0x7f ? kind : '?';
        last = kind;
        most--;
    }
}

#endif
