/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/url.h"

#include <assert.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/string.h"
#include "tokenizer/ascii_window.h"
#include "tokenizer/bag_private.h"

enum {
    URL_BYTES = 1024, /* bytes of a URL that are read */
    HOST_BYTES = 255, /* RFC 1035, 2.3.4 */
    SUFFIXES = 4,
    PATH_WORDS = 20,
    PATH_WORD_BYTES = 24
};

/* Whether a character is an ASCII letter or digit, or not ASCII. */
static bool is_alphanumeric(char c)
{
    return nb_ascii_is_alphanumeric(c) || (c & 0x80) != 0;
}

bool nb_is_ipv4(struct nb_string s)
{
    size_t points = 0;
    size_t digits = 0;
    for (size_t i = 0; i < s.length; i++) {
        if (s.bytes[i] == '.' && digits > 0) {
            points++;
            digits = 0;
        } else if (!nb_ascii_is_digit(s.bytes[i]) || ++digits > 3) {
            return false;
        }
    }
    return points == 3 && digits > 0;
}

static bool is_host_byte(char c)
{
    return is_alphanumeric(c) || c == '.' || c == '-' || c == '_';
}

bool nb_is_host(struct nb_string s)
{
    if (s.length == 0 || s.length > HOST_BYTES || !is_alphanumeric(s.bytes[0]) ||
        !is_alphanumeric(s.bytes[s.length - 1]))
        return false;
    for (size_t i = 0; i < s.length; i++)
        if (!is_host_byte(s.bytes[i]))
            return false;
    const char *end = s.bytes + s.length, *last = NULL; /* the last dot */
    for (const char *p = s.bytes; (p = memchr(p, '.', (size_t)(end - p))) != NULL; p++) {
        if (p[1] == '.')
            return false;
        last = p;
    }
    return last != NULL && !nb_ascii_is_digit(last[1]); /* "5.9.0" is a version, not a host */
}

static int count(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                 struct nb_string s)
{
    struct nb_feature_text f;
    nb_feature_begin(&f, prefix);
    nb_feature_put_string(&f, s);
    return nb_feature_count(t, field, &f);
}

/* Counts "10.", "10.1.", "10.1.2." and "10.1.2.3". */
static int count_networks(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                          struct nb_string address)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < address.length; i++) {
        if (address.bytes[i] == '.')
            rc = count(t, field, prefix, (struct nb_string){address.bytes, i + 1});
    }
    return rc != 0 ? rc : count(t, field, prefix, address);
}

/* Counts a whole host, and then its last 1 to SUFFIXES labels. */
static int count_labels(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                        struct nb_string host)
{
    struct nb_feature_text f;
    nb_feature_begin(&f, prefix);
    size_t head = f.length;
    nb_feature_put_string(&f, host);
    assert(f.length <= head + host.length && f.length < NB_FEATURE_TEXT);
    int rc = nb_feature_count(t, field, &f);
    size_t labels = 0;
    for (size_t i = f.length; rc == 0 && i > head && labels < SUFFIXES; i--) {
        if (f.bytes[i - 1] != '.')
            continue;
        rc = nb_feature_count_ends(t, field, &f, head, i);
        labels++;
    }
    return rc;
}

int nb_tokenize_host(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                     struct nb_string host)
{
    while (host.length > 0 && host.bytes[host.length - 1] == '.')
        host.length--;
    if (host.length == 0 || host.length > HOST_BYTES)
        return 0;
    return nb_is_ipv4(host) ? count_networks(t, field, prefix, host)
                            : count_labels(t, field, prefix, host);
}

/* Copies a URL with %XX decoded and without white space and control characters, which browsers
 * leave out. */
static struct nb_string decode(const char *url, size_t length, char out[URL_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < length && used < URL_BYTES; i++) {
        int high = url[i] == '%' && i + 2 < length ? nb_hex_digit(url[i + 1]) : -1;
        int low = high >= 0 ? nb_hex_digit(url[i + 2]) : -1;
        if (low >= 0) {
            out[used++] = (char)(high << 4 | low);
            i += 2;
        } else if ((unsigned char)url[i] > ' ') {
            out[used++] = url[i];
        }
    }
    return (struct nb_string){out, used};
}

/* Returns the number of bytes before the first one of `stops`, a literal. */
static inline size_t span(struct nb_string s, const char *stops)
{
    size_t i = 0;
    while (i < s.length && !nb_string_is_one_of(s.bytes[i], stops))
        i++;
    return i;
}

static int count_path(struct nb_tokenizing *t, struct nb_string path)
{
    int rc = 0;
    size_t words = 0;
    for (size_t i = 0; rc == 0 && i < path.length && words < PATH_WORDS; i++) {
        size_t from = i;
        while (i < path.length && is_alphanumeric(path.bytes[i]))
            i++;
        if (i == from)
            continue;
        size_t length = i - from < PATH_WORD_BYTES ? i - from : PATH_WORD_BYTES;
        rc = count(t, NB_FIELD_URL, "url:/", (struct nb_string){path.bytes + from, length});
        words++;
    }
    return rc;
}

/* Counts the parts of "user@host:port". */
static int count_authority(struct nb_tokenizing *t, struct nb_string authority)
{
    const char *at = memrchr(authority.bytes, '@', authority.length);
    int rc = 0;
    if (at != NULL) {
        rc = nb_tokenize_feature(t, NB_FIELD_URL, "url:@", 5);
        authority = nb_string_from(authority, (size_t)(at - authority.bytes) + 1);
    }
    struct nb_string host = {authority.bytes, span(authority, ":")};
    struct nb_string port = nb_string_from(authority, host.length);
    if (rc == 0)
        rc = nb_tokenize_host(t, NB_FIELD_URL, "url:", host);
    if (rc == 0 && port.length > 1)
        rc = count(t, NB_FIELD_URL, "url:port=", nb_string_from(port, 1));
    return rc;
}

int nb_tokenize_url(struct nb_tokenizing *t, const char *url, size_t length)
{
    if (!nb_tokenizing_wants(t, NB_FIELD_URL))
        return 0;
    char bytes[URL_BYTES];
    struct nb_string s = decode(url, length, bytes);
    if (nb_string_starts_nocase(s, "mailto:")) {
        size_t at = span(s, "@");
        struct nb_string domain =
            at < s.length ? nb_string_from(s, at + 1) : nb_string_from(s, s.length);
        domain.length = span(domain, "?>, ");
        return nb_tokenize_host(t, NB_FIELD_URL, "url:", domain);
    }
    size_t scheme = span(s, ":/?#");
    if (nb_string_starts_nocase(nb_string_from(s, scheme), "://"))
        s = nb_string_from(s, scheme + 3);
    else if (nb_string_starts_nocase(s, "//"))
        s = nb_string_from(s, 2);
    else
        return 0;
    struct nb_string authority = {s.bytes, span(s, "/?#\\")};
    int rc = count_authority(t, authority);
    return rc != 0 ? rc : count_path(t, nb_string_from(s, authority.length));
}
