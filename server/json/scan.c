/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents are read in place: a string without escapes is not copied. Every text that is accepted
 * here jansson accepts too, with the same result; the tests compare the two.
 */
#include "server/json/scan.h"

#include <endian.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/number.h"
#include "core/base/string.h"

const char *const nb_scan_members[NB_MEMBERS] = {
    [NB_MEMBER_TEXT] = "text",   [NB_MEMBER_MAIL] = "mail", [NB_MEMBER_MAIL_BASE64] = "mail_base64",
    [NB_MEMBER_LABEL] = "label", [NB_MEMBER_ID] = "id",     [NB_MEMBER_SOURCE] = "source",
};

static void skip_space(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r'))
        (*at)++;
}

/* Skips white space, and then `c` if it comes next. Returns whether it did. */
static bool take(const char **at, const char *end, char c)
{
    skip_space(at, end);
    if (*at == end || **at != c)
        return false;
    (*at)++;
    return true;
}

bool nb_scan_end(const char *at, const char *end)
{
    skip_space(&at, end);
    return at == end;
}

/* Returns the place of the next quote, backslash, control character or byte that is not ASCII. */
static const char *skip_plain(const char *at, const char *end)
{
    at += nb_json_plain(at, (size_t)(end - at));
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
           *at != '\\')
        at++;
    return at;
}

/* Returns the value of the four hexadecimal digits at `at`, or -1. */
static int hex4(const char *at, const char *end)
{
    if (end - at < 4)
        return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = nb_hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static bool is_high(int unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(int unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

/* Returns the length of the escape whose backslash is at `at`, or 0 if it is no valid escape. */
static size_t escape_length(const char *at, const char *end)
{
    if (end - at < 2)
        return 0;
    if (at[1] != 'u')
        return at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) != NULL ? 2 : 0;
    int unit = hex4(at + 2, end);
    if (unit < 0 || is_low(unit))
        return 0;
    if (!is_high(unit))
        return 6;
    /* A pair of surrogates is one character; half a pair is none. */
    bool paired = end - at >= 12 && at[6] == '\\' && at[7] == 'u' && is_low(hex4(at + 8, end));
    return paired ? 12 : 0;
}

/* Scans a string from its opening quote on. */
static bool scan_string(const char **at, const char *end, struct nb_string *raw, bool *escaped)
{
    if (!take(at, end, '"'))
        return false;
    const char *begin = *at, *p = begin;
    *escaped = false;
    for (;;) {
        if (p < end && (unsigned char)*p < 0x80)
            p = skip_plain(p, end);
        if (p == end || (unsigned char)*p < 0x20)
            return false;
        if (*p == '"')
            break;
        size_t length =
            *p == '\\' ? escape_length(p, end)
                       : nb_utf8_sequence((const unsigned char *)p, (const unsigned char *)end);
        if (length == 0)
            return false;
        *escaped = *escaped || *p == '\\';
        p += length;
    }
    *raw = (struct nb_string){begin, (size_t)(p - begin)};
    *at = p + 1;
    return true;
}

/* Scans a whole number in the form in which it is written: at most 18 digits, which fit 64 bits, no
 * leading zeros, and not -0. */
static bool scan_count(const char **at, const char *end, struct nb_string *raw)
{
    enum { DIGITS_MOST = 18 };
    const char *begin = *at, *p = begin + (*begin == '-'), *first = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    size_t digits = (size_t)(p - first);
    bool is_zero = digits > 0 && *first == '0';
    if (digits == 0 || digits > DIGITS_MOST || (is_zero && (digits > 1 || first != begin)) ||
        p == end || *p == '.' || *p == 'e' || *p == 'E')
        return false;
    *raw = (struct nb_string){begin, (size_t)(p - begin)};
    *at = p;
    return true;
}

static bool scan_value(const char **at, const char *end, unsigned member, struct nb_string *raw,
                       bool *escaped)
{
    skip_space(at, end);
    bool is_name = member == NB_MEMBER_LABEL || member == NB_MEMBER_ID;
    *escaped = false;
    if (is_name && *at < end && **at != '"')
        return scan_count(at, end, raw);
    return scan_string(at, end, raw, escaped);
}

static bool scan_member(const char **at, const char *end, struct nb_flat_document *document)
{
    struct nb_string name;
    bool escaped;
    if (!scan_string(at, end, &name, &escaped) || !take(at, end, ':'))
        return false;
    unsigned i = 0;
    while (i < NB_MEMBERS && !nb_string_equals(name, nb_scan_members[i]))
        i++;
    if (i == NB_MEMBERS || (document->given >> i & 1u) != 0 ||
        !scan_value(at, end, i, &document->raw[i], &escaped))
        return false;
    document->given |= 1u << i;
    document->escaped |= (unsigned)escaped << i;
    return true;
}

bool nb_scan_document(const char **at, const char *end, struct nb_flat_document *document)
{
    *document = (struct nb_flat_document){0};
    if (!take(at, end, '{'))
        return false;
    if (take(at, end, '}'))
        return true;
    do {
        if (!scan_member(at, end, document))
            return false;
    } while (take(at, end, ','));
    return take(at, end, '}');
}

bool nb_scan_batch_open(const char **at, const char *end)
{
    struct nb_string name;
    bool escaped;
    return take(at, end, '{') && scan_string(at, end, &name, &escaped) &&
           nb_string_equals(name, "documents") && take(at, end, ':') && take(at, end, '[');
}

int nb_scan_batch_next(const char **at, const char *end, bool first)
{
    if (take(at, end, ']'))
        return take(at, end, '}') && nb_scan_end(*at, end) ? 0 : -1;
    return first || take(at, end, ',') ? 1 : -1;
}

/* Writes the character for the valid escape at `at`. */
static char *put_meaning(char *to, const char *at, const char *end)
{
    static const char from[] = "bfnrt\"\\/";
    static const char as[] = "\b\f\n\r\t\"\\/";
    if (at[1] != 'u') {
        *to++ = as[strchr(from, at[1]) - from];
        return to;
    }
    unsigned c = (unsigned)hex4(at + 2, end);
    if (is_high((int)c))
        c = 0x10000 + ((c - 0xD800) << 10) + ((unsigned)hex4(at + 8, end) - 0xDC00);
    return to + nb_utf8_encode(c, (unsigned char *)to);
}

size_t nb_scan_unescape(struct nb_string raw, char *to)
{
    const char *at = raw.bytes, *end = raw.bytes + raw.length;
    char *begin = to;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((slash == NULL ? end : slash) - at);
        memcpy(to, at, plain);
        to += plain;
        at += plain;
        if (at < end) {
            size_t length = escape_length(at, end);
            to = put_meaning(to, at, end);
            at += length;
        }
    }
    return (size_t)(to - begin);
}

/* ---- base64 ---------------------------------------------------------------------------------- */

/* The value of each digit, with the bit DIGIT; 0: no digit. */
enum { DIGIT = 0x40, VALUE = DIGIT - 1 };
#define V(n) (DIGIT | (n))
static const unsigned char digits[256] = {
    ['A'] = V(0),  ['B'] = V(1),  ['C'] = V(2),  ['D'] = V(3),  ['E'] = V(4),  ['F'] = V(5),
    ['G'] = V(6),  ['H'] = V(7),  ['I'] = V(8),  ['J'] = V(9),  ['K'] = V(10), ['L'] = V(11),
    ['M'] = V(12), ['N'] = V(13), ['O'] = V(14), ['P'] = V(15), ['Q'] = V(16), ['R'] = V(17),
    ['S'] = V(18), ['T'] = V(19), ['U'] = V(20), ['V'] = V(21), ['W'] = V(22), ['X'] = V(23),
    ['Y'] = V(24), ['Z'] = V(25), ['a'] = V(26), ['b'] = V(27), ['c'] = V(28), ['d'] = V(29),
    ['e'] = V(30), ['f'] = V(31), ['g'] = V(32), ['h'] = V(33), ['i'] = V(34), ['j'] = V(35),
    ['k'] = V(36), ['l'] = V(37), ['m'] = V(38), ['n'] = V(39), ['o'] = V(40), ['p'] = V(41),
    ['q'] = V(42), ['r'] = V(43), ['s'] = V(44), ['t'] = V(45), ['u'] = V(46), ['v'] = V(47),
    ['w'] = V(48), ['x'] = V(49), ['y'] = V(50), ['z'] = V(51), ['0'] = V(52), ['1'] = V(53),
    ['2'] = V(54), ['3'] = V(55), ['4'] = V(56), ['5'] = V(57), ['6'] = V(58), ['7'] = V(59),
    ['8'] = V(60), ['9'] = V(61), ['+'] = V(62), ['/'] = V(63)};

/* Decodes four digits to three bytes. Returns false if one of them is no digit. */
static inline bool decode_four(const unsigned char *four, unsigned char *out)
{
    unsigned a = digits[four[0]], b = digits[four[1]], c = digits[four[2]], d = digits[four[3]];
    if ((a & b & c & d & DIGIT) == 0)
        return false;
    uint32_t bits = (a & VALUE) << 18 | (b & VALUE) << 12 | (c & VALUE) << 6 | (d & VALUE);
    out[0] = (unsigned char)(bits >> 16);
    out[1] = (unsigned char)(bits >> 8);
    out[2] = (unsigned char)bits;
    return true;
}

#ifdef __SSE2__

/* Returns a mask of the bytes from `first` to `last`, and adds `added` to these bytes in *sum,
 * which turns a digit into its value. Without decoding sixteen digits at once, learning mails in
 * batches of JSON takes 3.2 % more instructions. */
static inline __m128i add_range(__m128i sixteen, char first, char last, char added, __m128i *sum)
{
    __m128i from = _mm_cmpgt_epi8(sixteen, _mm_set1_epi8((char)(first - 1)));
    __m128i to = _mm_cmplt_epi8(sixteen, _mm_set1_epi8((char)(last + 1)));
    __m128i inside = _mm_and_si128(from, to);
    *sum = _mm_add_epi8(*sum, _mm_and_si128(inside, _mm_set1_epi8(added)));
    return inside;
}

static inline __m128i add_one(__m128i sixteen, char digit, char added, __m128i *sum)
{
    __m128i same = _mm_cmpeq_epi8(sixteen, _mm_set1_epi8(digit));
    *sum = _mm_add_epi8(*sum, _mm_and_si128(same, _mm_set1_epi8(added)));
    return same;
}

/* Writes the upper six bytes of `six`, the highest one first, and the two others, which are
 * zeros. */
static inline void put_six(unsigned char *out, int64_t six)
{
    uint64_t bytes = htobe64((uint64_t)six);
    memcpy(out, &bytes, sizeof bytes);
}

/* Decodes sixteen digits to twelve bytes; writes fourteen. Returns false if one of them is no
 * digit. */
static inline bool decode_sixteen(const unsigned char *digit, unsigned char *out)
{
    __m128i sixteen = _mm_loadu_si128((const __m128i *)(const void *)digit);
    __m128i values = sixteen;
    __m128i are_digits = add_range(sixteen, 'A', 'Z', -'A', &values);
    are_digits = _mm_or_si128(are_digits, add_range(sixteen, 'a', 'z', 26 - 'a', &values));
    are_digits = _mm_or_si128(are_digits, add_range(sixteen, '0', '9', 52 - '0', &values));
    are_digits = _mm_or_si128(are_digits, add_one(sixteen, '+', 62 - '+', &values));
    are_digits = _mm_or_si128(are_digits, add_one(sixteen, '/', 63 - '/', &values));
    if (_mm_movemask_epi8(are_digits) != 0xFFFF)
        return false;
    __m128i first = _mm_slli_epi16(_mm_and_si128(values, _mm_set1_epi16(0xFF)), 6);
    __m128i twelve = _mm_or_si128(first, _mm_srli_epi16(values, 8)); /* 12 bits of two digits */
    __m128i three = _mm_madd_epi16(twelve, _mm_set1_epi32(1 << 16 | 1 << 12)); /* 3 bytes each */
    __m128i six =
        _mm_or_si128(_mm_slli_epi64(three, 40), _mm_slli_epi64(_mm_srli_epi64(three, 32), 16));
    put_six(out, _mm_cvtsi128_si64(six));
    put_six(out + 6, _mm_cvtsi128_si64(_mm_unpackhi_epi64(six, six)));
    return true;
}

/* Decodes sixteen digits at a time, up to the first byte that is no digit. `out` has room for two
 * bytes more than the digits make. Returns the number of digits. */
static size_t decode_digits(const unsigned char *at, size_t left, unsigned char *out, size_t room)
{
    size_t digit_count = 0;
    for (size_t done = 0; left - digit_count >= 16 && room - done >= 14; done += 12) {
        if (!decode_sixteen(at + digit_count, out + done))
            break;
        digit_count += 16;
    }
    return digit_count;
}

#else

static size_t decode_digits(const unsigned char *at, size_t left, unsigned char *out, size_t room)
{
    (void)at;
    (void)left;
    (void)out;
    (void)room;
    return 0;
}

#endif

/* Decodes groups of four digits, and skips white space between the groups. From the first other
 * byte on, which is the padding in a valid text, the library decodes, as if the text began
 * there. */
const char *nb_base64_decode(struct nb_string text, unsigned char *out, size_t room, size_t *length)
{
    static const char WHITE_SPACE[] = " \t\r\n";
    const unsigned char *at = (const unsigned char *)text.bytes;
    size_t left = text.length, done = 0, rest = 0;
    const char *end = NULL;
    while (left >= 4 && room - done >= 3) {
        size_t many = decode_digits(at, left, out + done, room - done);
        at += many;
        left -= many;
        done += many / 4 * 3;
        if (left < 4 || room - done < 3)
            break;
        bool is_four = decode_four(at, out + done);
        if (!is_four && (*at == '\0' || strchr(WHITE_SPACE, *at) == NULL))
            break;
        at += is_four ? 4 : 1;
        left -= is_four ? 4 : 1;
        done += is_four ? 3 : 0;
    }
    *length = done;
    if (left == 0)
        return NULL;
    int rc = sodium_base642bin(out + done, room - done, (const char *)at, left, WHITE_SPACE, &rest,
                               &end, sodium_base64_VARIANT_ORIGINAL);
    *length = done + rest;
    return rc == 0 && end == text.bytes + text.length ? NULL : end;
}
