/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail_header.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/platform/byte_order.h"
#include "core/base/string.h"
#include "tokenizer/bag_private.h"
#include "tokenizer/mail_charset.h"
#include "tokenizer/text.h"
#include "tokenizer/url.h"

/* ---- fields that never count ----------------------------------------------------------------- */

/* PATTERN: bytes of a pattern, padded with zeros. FIRST: bytes of a name and of a pattern that are
 * compared first. */
enum { PATTERN = 36, FIRST = 4 };

/* Sorted; a '*' at the end stands for any ending, after at least FIRST bytes. The list has
 *   - filters of spam and their parts: SpamAssassin, rspamd, bogofilter, DSPAM, CRM114, SpamBayes,
 *     POPFile, Pyzor, Razor, DCC, greylisting, bayesd;
 *   - scanners and appliances: Amavis, ClamAV, Kaspersky (KAS, KSE, KLMS, KSMG), Trend Micro (TM,
 *     IMSS), Sophos, Barracuda (ASG), Cisco (IronPort, IPAS, AMP, Talos), Proofpoint and Cloudmark
 *     (CMAE, CLX, PSTN, MDID), Mimecast, Fortinet (FEAS), McAfee (NAI), Halon, Vade (VR), MDaemon;
 *   - providers of mailboxes: Microsoft, Apple (ICL, CLX), Yahoo, AOL, GMX, OVH, Mail.ru, Free,
 *     Orange (ME), T-Online (TOI), Stalwart;
 *   - results of checks by other hosts (SPF, DKIM, DMARC, ARC), which anybody can write;
 *   - notes of mailboxes and mail programs, which are not in the mail when it arrives, and what
 * Exim adds for scanners of contents;
 *   - times of arrival: they tell when a mail was learned, and nothing about its label. */
/* clang-format off */
static const char ignored[][PATTERN] = {
    "arc-*", "authentication-results*", "content-length", "delivery-date", "dkim-filter",
    "domainkey-status", "greylist*", "ironport-*", "lines", "old-authentication-results",
    "original-authentication-results", "pstn*", "received-dkim", "received-spf*", "spam-*",
    "status", "suspected-spam", "x-account*", "x-amavis*", "x-amp-*", "x-annoyance*",
    "x-aol-global*", "x-aol-scoll*", "x-aol-vss*", "x-apple-action", "x-apple-movetofolder",
    "x-appriver*", "x-arc-*", "x-arrival-time", "x-asg-*", "x-assp*", "x-auth-result*",
    "x-authentication-*", "x-authority-analysis*", "x-av-*", "x-avanan*", "x-avas*", "x-avg*",
    "x-avira*", "x-barracuda*", "x-bayes*", "x-bitdefender*", "x-bmi-*", "x-bogosity*",
    "x-brightmail*", "x-bulk-score", "x-bytes", "x-canit*", "x-checked*", "x-clam*", "x-cleanmail*",
    "x-cloudmark*", "x-clx-*", "x-cm-analysis*", "x-cmae*", "x-cmcategory*", "x-cmscore*",
    "x-cnfs-*", "x-commtouch*", "x-content-scan*", "x-cpei*", "x-crm114*", "x-crowdstrike*",
    "x-cse-*", "x-ct-*", "x-ctch-*", "x-cyren*", "x-darktrace*", "x-dcc*", "x-declude*",
    "x-delivery-time", "x-dkim*", "x-dmarc*", "x-dnsbl*", "x-dovecot*", "x-drweb*", "x-edgewave*",
    "x-eleven*", "x-envelope-from", "x-envelope-to", "x-eop*", "x-eset*", "x-evolution*",
    "x-exchange-scl", "x-exchange-senderid*", "x-exiscan*", "x-expurgate*", "x-f-prot*",
    "x-f-secure*", "x-fe-*", "x-feas-*", "x-filter*", "x-fireeye*", "x-folder*", "x-forefront-*",
    "x-fortinet*", "x-fprot*", "x-fsecure*", "x-fuglu*", "x-gbudb-*", "x-gdata*", "x-gfi*",
    "x-gm-*", "x-gmail-labels", "x-gmx-*", "x-greylist*", "x-habeas-report*", "x-halon*", "x-ham-*",
    "x-hammie*", "x-haraka*", "x-hmailserver*", "x-hornetsecurity*", "x-icewarp*", "x-icl-*",
    "x-ifile*", "x-ikarus*", "x-imap*", "x-imss-*", "x-interscan*", "x-ipas-*", "x-iphas*",
    "x-ironport*", "x-ironscales*", "x-junk*", "x-kas*", "x-keywords", "x-klms-*", "x-kmail*",
    "x-kse-*", "x-ksmg-*", "x-label", "x-mail-filter*", "x-mail-scan*", "x-mailcleaner*",
    "x-mailfilter*", "x-mailgun-dkim*", "x-mailgun-sflag", "x-mailgun-spf", "x-mailgun-sscore",
    "x-mailroute*", "x-mailspike*", "x-mailwasher*", "x-mcafee*", "x-mdaemon*", "x-mdarrival-date",
    "x-mdav*", "x-mdhelolookup", "x-mdid*", "x-mdmaillookup", "x-mdptrlookup", "x-me-vs*",
    "x-message-delivery", "x-message-info", "x-message-sniffer*", "x-message-status",
    "x-messagelabs*", "x-messagesniffer*", "x-milter-*", "x-mimecast*", "x-mimedefang*", "x-mlf-*",
    "x-mozilla-*", "x-mras", "x-mru-*", "x-ms-exchange-atp*", "x-ms-exchange-organization*",
    "x-ms-office365-filtering*", "x-mutt*", "x-mx-logic*", "x-mxl-*", "x-mxlogic*", "x-mxthunder*",
    "x-nai-*", "x-ncsc*", "x-nicebayes*", "x-nod32*", "x-norton*", "x-originalarrivaltime",
    "x-osbf*", "x-panda*", "x-perlmx*", "x-pmx-*", "x-policy*", "x-popfile*", "x-postini*",
    "x-proofpoint*", "x-proxad-sc", "x-pstn*", "x-puremessage*", "x-purgate*", "x-pyzor*",
    "x-qmail-scanner*", "x-quarantine*", "x-rav*", "x-razor*", "x-rbl*", "x-received-spf*",
    "x-recommended-action*", "x-redcondor*", "x-reflexion*", "x-reputation-*", "x-rpd*",
    "x-rzg-class-id", "x-sa-*", "x-sanitizer*", "x-sbrs*", "x-scan-*", "x-scanned*", "x-scanner*",
    "x-scl", "x-score", "x-scores", "x-scrollout*", "x-sender-id*", "x-senderid*", "x-sendio*",
    "x-sid-*", "x-sieve*", "x-signature-violations", "x-simscan*", "x-smartermail*", "x-sonicwall*",
    "x-sophos*", "x-spf*", "x-stalwart*", "x-starscan*", "x-status", "x-surfcontrol*",
    "x-suspected*", "x-symantec*", "x-talos-*", "x-terra-karma", "x-tessian*", "x-text-class*",
    "x-threat*", "x-tm-*", "x-tmase-*", "x-toi-*", "x-trend*", "x-trustwave*", "x-tuffmail*",
    "x-tuid", "x-ube*", "x-uce*", "x-ui-*", "x-uid", "x-uidl", "x-uvscan*", "x-vade*", "x-verdict*",
    "x-vipre*", "x-vr-*", "x-vscan*", "x-watchguard*", "x-websense*", "x-yahoo-filtered*",
    "x-yahoofilteredbulk*", "x-ymailisg",
};
/* clang-format on */

/* Words that filters and scanners write between the name of an organisation and the rest:
 * X-Acme-MailScanner-SpamCheck, X-Coremail-Antispam. In lower case. */
static const char *const inside[] = {"spam", "virus", "scanner", "phish", "malware"};

/* Whether the name matches a pattern that has the same first bytes. */
static bool matches(struct nb_string name, const char *pattern)
{
    size_t same = FIRST;
    while (same < name.length && pattern[same] != '\0' && pattern[same] != '*' &&
           pattern[same] == nb_ascii_lower(name.bytes[same]))
        same++;
    return pattern[same] == '*' || (pattern[same] == '\0' && same == name.length);
}

/* Returns the first bytes as a number that sorts like them. */
static uint32_t rank_of(const char *first)
{
    uint32_t bytes;
    memcpy(&bytes, first, sizeof bytes);
    _Static_assert(sizeof bytes == FIRST, "all of them");
    return be32toh(bytes);
}

/* Finds the first possible pattern without a branch that depends on the name: few names are listed,
 * and a mail has dozens of fields. */
static bool is_listed(struct nb_string name)
{
    const char(*at)[PATTERN] = ignored;
    const char(*end)[PATTERN] = ignored + sizeof ignored / sizeof *ignored;
    if (name.length < FIRST)
        return false;
    uint32_t rank = rank_of(name.bytes);
    rank |= (rank & UINT32_C(0x40404040)) >> 1; /* letters in lower case, as in the table */
    for (size_t count = (size_t)(end - at); count > 1;) {
        size_t half = count / 2;
        at += rank_of(at[half - 1]) < rank ? half : 0;
        count -= half;
    }
    at += rank_of(*at) < rank;
    assert(at == ignored || rank_of(at[-1]) < rank); /* the patterns are sorted */
    for (; at < end && rank_of(*at) == rank; at++) {
        if (matches(name, *at))
            return true;
    }
    return false;
}

static bool has_inside(struct nb_string name)
{
    for (size_t i = 0; i < name.length; i++) {
        if (!nb_string_is_one_of(nb_ascii_lower(name.bytes[i]), "svpm")) /* the first letters */
            continue;
        for (size_t k = 0; k < sizeof inside / sizeof *inside; k++) {
            if (nb_string_starts_nocase(nb_string_from(name, i), inside[k]))
                return true;
        }
    }
    return false;
}

bool nb_mail_header_ignored(struct nb_string name)
{
    return is_listed(name) || (nb_string_starts_nocase(name, "x-") && has_inside(name));
}

/* ---- fields that count ----------------------------------------------------------------------- */

enum {
    VALUE_BYTES = 2048, /* bytes of a field that are read */
    WORD_BYTES = 64,
    ID_BYTES = 8 /* a word of this length or more that has a digit is an id */
};

static const char received_prefix[] = "received:";

/* A mask of bytes for each class. Masks avoid branches on the ends of words, which are
 * unpredictable: a mail has some thousand bytes of Received. */
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

#ifdef __SSE2__ /* else classifying a mail takes 3 % more processor time */

/* Selects the bytes from `from` to `from` + `more`. */
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

/* Like the function above, for the beginning of a text that may be shorter than a window; bytes
 * after its end count as separators. */
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
    nb_feature_begin(&f, received_prefix);
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
    if (!has_marks) /* most words have none */
        return word.length > WORD_BYTES || (has_digits && looks_like_id(word)) ? 0 : count(t, word);
    const char *at = memchr(word.bytes, '@', word.length);
    if (word.length > 5 && nb_string_starts_nocase(word, "IPv6:"))
        word = nb_string_from(word, 5);
    if (nb_is_ipv4(word) || nb_is_host(word))
        return nb_tokenize_host(t, NB_FIELD_RECEIVED, received_prefix, word);
    if (is_ipv6(word))
        return count_ipv6(t, word);
    if (at != NULL) { /* "for <user@host>", "helo=user@host" */
        int rc = count(t, word);
        size_t local = (size_t)(at - word.bytes) + 1;
        struct nb_string host = {at + 1, word.length - local};
        return rc != 0 || !nb_is_host(host)
                   ? rc
                   : nb_tokenize_host(t, NB_FIELD_RECEIVED, received_prefix, host);
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

/* Counts the words that end within the first window of a text. Sets *done to the number of bytes
 * before the first word that does not. */
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

enum {
    ADDRESS_BYTES = 4096, /* bytes of an address field that are read */
    OTHER_BYTES = 400,    /* bytes of any other field that are read */
    IDS = 8,              /* message ids of one field that are counted */
    ID_SHAPE = 24,
    ADDRESS_SUFFIX = 3, /* the last 2 and 3 labels of the host of an address are counted */
    PREFIX = 40,        /* bytes of a prefix that nb_tokenize_text takes */
    NAME = 28           /* bytes of a name in a table, padded with zeros */
};

/* Fields whose value is a date: only their presence counts. */
static const char dates[][NAME] = {
    "resent-date",         "expires",           "expiry-date", "x-original-date",
    "nntp-posting-date",   "deferred-delivery", "reply-by",    "x-mail-created-date",
    "latest-delivery-time"};

static const char addresses[][NAME] = {
    "from",        "to",        "cc",        "reply-to",      "bcc",
    "return-path", "sender",    "errors-to", "x-sender",      "delivered-to",
    "resent-from", "resent-to", "resent-cc", "resent-sender", "x-original-to"};

static const char message_ids[][NAME] = {"message-id", "references", "in-reply-to",
                                         "resent-message-id", "content-id"};

/* Fields that are counted with the structure of the mail. */
static const char structure[][NAME] = {"content-type", "content-transfer-encoding",
                                       "content-disposition"};

/* Returns the first four bytes of a name as a number. Names are compared by these first, which is
 * enough for most of the dozens of fields of a mail. */
static uint32_t first_four(const char *bytes)
{
    uint32_t four;
    memcpy(&four, bytes, sizeof four);
    return four;
}

static bool is_in(struct nb_string name, const char (*names)[NAME], size_t count)
{
    char begin[4] = {0};
    memcpy(begin, name.bytes, name.length < sizeof begin ? name.length : sizeof begin);
    uint32_t four = first_four(begin);
    four |= (four & UINT32_C(0x40404040)) >> 1; /* letters in lower case, as in all tables */
    for (size_t i = 0; i < count; i++) {
        if (first_four(names[i]) == four && nb_string_equals_nocase(name, names[i]))
            return true;
    }
    return false;
}

#define IS_IN(name, names) is_in(name, names, sizeof(names) / sizeof *(names))

/* Writes the prefix of the features of a field to `bytes`, with a NUL behind it: "to:",
 * "x-mailer:". */
static struct nb_string make_prefix(struct nb_string name, char bytes[PREFIX + 1])
{
    struct nb_feature_text f;
    nb_feature_begin(&f, "");
    nb_feature_put(&f, name.bytes, name.length < PREFIX - 1 ? name.length : PREFIX - 1);
    nb_feature_put(&f, ":", 1);
    memcpy(bytes, f.bytes, f.length);
    bytes[f.length] = '\0';
    return (struct nb_string){bytes, f.length};
}

static struct nb_string cut(const struct nb_buffer *buffer, size_t most)
{
    return (struct nb_string){buffer->bytes, buffer->length < most ? buffer->length : most};
}

static bool is_address_byte(char c)
{
    switch (c) {
    case '<':
    case '>':
    case '(':
    case ')':
    case '[':
    case ']':
    case ',':
    case ';':
    case ':':
    case '"':
    case '\'':
    case '@':
    case '\\':
        return false;
    default:
        return (c & 0x80) != 0 || (c > ' ' && c < 0x7f);
    }
}

/* Counts the text made of a prefix of at most PREFIX bytes, a mark (unless it is '\0'), and
 * `text`. */
static int count_parts(struct nb_tokenizing *t, enum nb_field field, struct nb_string prefix,
                       char mark, struct nb_string s)
{
    struct nb_feature_text f;
    nb_feature_begin_string(&f, prefix);
    f.bytes[f.length] = mark;
    f.length += mark != '\0';
    nb_feature_put_string(&f, s);
    return nb_feature_count(t, field, &f);
}

/* Counts a host, "from:@mail.example.com", and its last 2 and 3 labels, "from:.example.com". */
static int count_domain(struct nb_tokenizing *t, enum nb_field field, struct nb_string prefix,
                        struct nb_string host)
{
    int rc = count_parts(t, field, prefix, '@', host);
    size_t labels = 1;
    for (size_t i = host.length; rc == 0 && i > 0 && labels <= ADDRESS_SUFFIX; i--) {
        if (host.bytes[i - 1] != '.')
            continue;
        if (labels >= 2)
            rc = count_parts(t, field, prefix, '.',
                             (struct nb_string){host.bytes + i, host.length - i});
        labels++;
    }
    if (rc == 0 && labels >= 2 && labels <= ADDRESS_SUFFIX) /* the host has 2 or 3 labels */
        rc = count_parts(t, field, prefix, '.', host);
    return rc;
}

/* Counts everything that looks like user@host. */
static int count_addresses(struct nb_tokenizing *t, struct nb_string prefix, struct nb_string text)
{
    const char *end = text.bytes + text.length;
    const char *free_from = text.bytes; /* end of the last address: no byte belongs to two */
    int rc = 0;
    for (const char *at = text.bytes; rc == 0 && at < end; at++) {
        at = memchr(at, '@', (size_t)(end - at));
        if (at == NULL)
            break;
        const char *from = at;
        const char *to = at + 1;
        while (from > free_from && is_address_byte(from[-1]))
            from--;
        while (to < end && is_address_byte(*to))
            to++;
        free_from = to;
        if (from == at || to == at + 1)
            continue;
        rc = count_parts(t, NB_FIELD_ADDRESS, prefix, '\0',
                         (struct nb_string){from, (size_t)(to - from)});
        if (rc == 0)
            rc = count_domain(t, NB_FIELD_ADDRESS, prefix,
                              (struct nb_string){at + 1, (size_t)(to - at) - 1});
        at = to - 1;
    }
    return rc;
}

static int address_field(struct nb_tokenizing *t, struct nb_string prefix, struct nb_string value,
                         struct nb_mail_charsets *charsets, struct nb_buffer *scratch)
{
    if (!nb_tokenizing_wants(t, NB_FIELD_ADDRESS))
        return 0;
    int rc = nb_mail_decode_words(charsets, value, scratch);
    if (rc != 0)
        return rc;
    struct nb_string text = cut(scratch, ADDRESS_BYTES);
    rc = nb_tokenize_text(t, NB_FIELD_ADDRESS, prefix.bytes, text.bytes, text.length);
    return rc != 0 || text.length == 0 ? rc : count_addresses(t, prefix, text);
}

/* Counts a message id, "local@host": the host, and the shape of the local part. */
static int count_id(struct nb_tokenizing *t, struct nb_string prefix, struct nb_string id)
{
    const char *at = memchr(id.bytes, '@', id.length);
    size_t local = at != NULL ? (size_t)(at - id.bytes) : id.length;
    struct nb_feature_text f;
    nb_feature_begin_string(&f, prefix);
    nb_feature_puts(&f, "shape=");
    nb_feature_put_shape(&f, (struct nb_string){id.bytes, local}, ID_SHAPE);
    int rc = nb_feature_count(t, NB_FIELD_HEADER, &f);
    if (rc != 0 || at == NULL)
        return rc;
    return count_domain(t, NB_FIELD_HEADER, prefix,
                        (struct nb_string){at + 1, id.length - local - 1});
}

static int id_field(struct nb_tokenizing *t, struct nb_string prefix, struct nb_string value)
{
    const char *at = value.bytes;
    const char *end = at + value.length;
    int rc = 0;
    for (size_t ids = 0; rc == 0 && at < end && ids < IDS; ids++) {
        const char *from = memchr(at, '<', (size_t)(end - at));
        const char *to = from != NULL ? memchr(from, '>', (size_t)(end - from)) : NULL;
        if (to == NULL)
            break;
        rc = count_id(t, prefix, (struct nb_string){from + 1, (size_t)(to - from) - 1});
        at = to + 1;
    }
    return rc;
}

/* Counts only the zone of a date, "date:+0200". */
static int date_field(struct nb_tokenizing *t, struct nb_string value)
{
    static const struct nb_string date = {"date:", 5};
    for (size_t i = 0; i + 5 <= value.length; i++) {
        char sign = value.bytes[i];
        if ((sign != '+' && sign != '-') || i == 0 || value.bytes[i - 1] != ' ')
            continue;
        return count_parts(t, NB_FIELD_HEADER, date, '\0', (struct nb_string){value.bytes + i, 5});
    }
    size_t word = value.length;
    while (word > 0 && nb_ascii_is_letter(value.bytes[word - 1]))
        word--;
    if (word == value.length || value.length - word > 5)
        return count_parts(t, NB_FIELD_HEADER, date, '\0', (struct nb_string){"none", 4});
    return count_parts(t, NB_FIELD_HEADER, date, '\0', nb_string_from(value, word));
}

static int other_field(struct nb_tokenizing *t, struct nb_string prefix, struct nb_string value,
                       struct nb_mail_charsets *charsets, struct nb_buffer *scratch)
{
    value.length = value.length < 4 * (size_t)OTHER_BYTES ? value.length : 4 * (size_t)OTHER_BYTES;
    int rc = nb_mail_decode_words(charsets, value, scratch);
    if (rc != 0)
        return rc;
    struct nb_string text = cut(scratch, OTHER_BYTES);
    return nb_tokenize_text(t, NB_FIELD_HEADER, prefix.bytes, text.bytes, text.length);
}

static int header_value(struct nb_tokenizing *t, struct nb_string name, struct nb_string value,
                        struct nb_mail_charsets *charsets, struct nb_buffer *scratch)
{
    if (nb_string_equals_nocase(name, "date"))
        return date_field(t, value);
    if (IS_IN(name, dates) || IS_IN(name, structure))
        return 0;
    char bytes[PREFIX + 1];
    struct nb_string prefix = make_prefix(name, bytes);
    return IS_IN(name, message_ids) ? id_field(t, prefix, value)
                                    : other_field(t, prefix, value, charsets, scratch);
}

int nb_mail_header(struct nb_tokenizing *t, struct nb_string name, struct nb_string value,
                   struct nb_mail_charsets *charsets, struct nb_buffer *scratch)
{
    static const struct nb_string header = {"header:", 7};
    scratch->length = 0;
    if (nb_string_equals_nocase(name, "subject"))
        return 0;
    if (nb_string_equals_nocase(name, "received"))
        return nb_mail_received(t, value);
    if (IS_IN(name, addresses)) {
        char bytes[PREFIX + 1];
        int rc = address_field(t, make_prefix(name, bytes), value, charsets, scratch);
        return rc != 0 ? rc : count_parts(t, NB_FIELD_HEADER, header, '\0', name);
    }
    if (!nb_tokenizing_wants(t, NB_FIELD_HEADER) || nb_mail_header_ignored(name))
        return 0;
    int rc = count_parts(t, NB_FIELD_HEADER, header, '\0', name);
    return rc != 0 ? rc : header_value(t, name, value, charsets, scratch);
}
