/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/mail_received.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/ascii.h"
#include "tokenizer/bag/feature_text.h"
#include "tokenizer/text/url.h"

enum {
    VALUE_BYTES = 2048, /* bytes of a field that are read */
    WORD_BYTES = 64,
    ID_BYTES = 8 /* a word of this length or more that has a digit is an id */
};

static const char prefix[] = "received:";

/* Classes of bytes, a bit for each byte; separators are in none. The ends of words are
 * unpredictable, and a mail has some thousand bytes of Received. */
struct classes {
    uint64_t separators, digits;
    uint64_t marks; /* '.', ':' and '@' */
};

enum { WINDOW = 64 };

static bool is_separator(char c)
{
    return (unsigned char)c <= ' ' || strchr("()[]<>,;=\"'", c) != NULL;
}

static bool is_mark(char c)
{
    return c == '.' || c == ':' || c == '@';
}

#ifdef __SSE2__

/* The bytes that are `from` or at most `more` above. */
static inline __m128i in_range(__m128i text, char from, char more)
{
    __m128i above = _mm_sub_epi8(text, _mm_set1_epi8(from));
    return _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8(more)), above);
}

static inline __m128i is_byte(__m128i text, char c)
{
    return _mm_cmpeq_epi8(text, _mm_set1_epi8(c));
}

static inline uint64_t bits(__m128i a, __m128i b, unsigned shift)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_or_si128(a, b)) << shift;
}

static struct classes classify(const char *p)
{
    struct classes c = {0};
    for (unsigned i = 0; i < WINDOW; i += 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i blank = in_range(text, '\0', ' ');
        __m128i quote = _mm_or_si128(is_byte(text, '"'), in_range(text, '\'', ')' - '\''));
        __m128i bracket = _mm_or_si128(is_byte(text, '['), is_byte(text, ']'));
        __m128i comma = _mm_or_si128(is_byte(text, ','), in_range(text, ';', '>' - ';'));
        __m128i point = _mm_or_si128(is_byte(text, '.'), is_byte(text, ':'));
        c.separators |= bits(_mm_or_si128(blank, quote), _mm_or_si128(bracket, comma), i);
        c.digits |= bits(in_range(text, '0', 9), _mm_setzero_si128(), i);
        c.marks |= bits(point, is_byte(text, '@'), i);
    }
    return c;
}

#else

static struct classes classify(const char *p)
{
    struct classes c = {0};
    for (unsigned i = 0; i < WINDOW; i++) {
        uint64_t bit = UINT64_C(1) << i;
        c.separators |= is_separator(p[i]) ? bit : 0;
        c.digits |= nb_ascii_is_digit(p[i]) ? bit : 0;
        c.marks |= is_mark(p[i]) ? bit : 0;
    }
    return c;
}

#endif

/* Like the function above, for the first bytes of a text that may be shorter; bytes after its end
 * count as separators. */
static inline struct classes classes_of(struct nb_string text)
{
    char tail[WINDOW] = {0};
    if (text.length >= WINDOW)
        return classify(text.bytes);
    memcpy(tail, text.bytes, text.length);
    return classify(tail);
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

static int count_word(struct nb_tokenizing *t, struct nb_string word, bool has_digits,
                      bool has_marks)
{
    if (!has_marks) /* most words */
        return word.length > WORD_BYTES || (has_digits && looks_like_id(word)) ? 0 : count(t, word);
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

/* The words of one field. */
struct walk {
    struct nb_tokenizing *t;
    bool after_id; /* the word before was "id" */
};

static int next_word(struct walk *walk, struct nb_string word, bool has_digits, bool has_marks)
{
    int rc = walk->after_id ? 0 : count_word(walk->t, word, has_digits, has_marks);
    walk->after_id = word.length == 2 && nb_string_equals_nocase(word, "id");
    return rc;
}

/* Counts the words that lie wholly in the first window of a text. Sets *done to the bytes before
 * the first word that does not end there. */
static int count_window(struct walk *walk, struct nb_string text, size_t *done)
{
    struct classes c = classes_of(text);
    uint64_t words = ~c.separators;
    int rc = 0;
    *done = WINDOW;
    for (uint64_t begins = words & ~(words << 1); rc == 0 && begins != 0; begins &= begins - 1) {
        unsigned from = (unsigned)__builtin_ctzll(begins);
        uint64_t behind = ~(words >> from) & ~UINT64_C(0) >> from;
        if (behind == 0) { /* the word may continue after the window */
            *done = from;
            break;
        }
        unsigned length = (unsigned)__builtin_ctzll(behind);
        uint64_t word = ((UINT64_C(1) << length) - 1) << from;
        rc = next_word(walk, (struct nb_string){text.bytes + from, length}, (c.digits & word) != 0,
                       (c.marks & word) != 0);
    }
    return rc;
}

/* Counts the first word of a text, of any length. Sets *done to its length. */
static int count_first(struct walk *walk, struct nb_string text, size_t *done)
{
    bool has_digits = false, has_marks = false;
    size_t length = 0;
    for (; length < text.length && !is_separator(text.bytes[length]); length++) {
        has_digits |= nb_ascii_is_digit(text.bytes[length]);
        has_marks |= is_mark(text.bytes[length]);
    }
    *done = length;
    return next_word(walk, (struct nb_string){text.bytes, length}, has_digits, has_marks);
}

int nb_mail_received(struct nb_tokenizing *t, struct nb_string value)
{
    if (!nb_tokenizing_wants(t, NB_FIELD_RECEIVED) || value.length == 0)
        return 0;
    if (value.length > VALUE_BYTES)
        value.length = VALUE_BYTES;
    const char *date = memrchr(value.bytes, ';', value.length);
    if (date != NULL)
        value.length = (size_t)(date - value.bytes);
    struct walk walk = {.t = t, .after_id = false};
    int rc = 0;
    while (rc == 0 && value.length > 0) {
        size_t done;
        rc = count_window(&walk, value, &done);
        if (rc == 0 && done == 0)
            rc = count_first(&walk, value, &done);
        value = nb_string_from(value, done < value.length ? done : value.length);
    }
    return rc;
}
