/* SPDX-License-Identifier: Apache-2.0 */
#include "config/value.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/base/string.h"

static const char *const truths[] = {"no", "false", "off", "0", "yes", "true", "on", "1"};
#define TRUTHS (sizeof truths / sizeof truths[0])

/* The units of sizes, each 1024 times the one before. */
static const char units[] = {'K', 'M', 'G', 'T'};

static void *member_of(struct nb_config *config, const struct nb_option *option)
{
    return (char *)config + option->offset;
}

static const void *const_member_of(const struct nb_config *config, const struct nb_option *option)
{
    return (const char *)config + option->offset;
}

bool nb_value_is_text(const struct nb_option *option)
{
    return option->type == NB_OPTION_STRING || option->type == NB_OPTION_ADDRESS ||
           option->type == NB_OPTION_SECRET;
}

size_t nb_value_bad_byte(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        const unsigned char *from = (const unsigned char *)text + at;
        const unsigned char *end = (const unsigned char *)text + length;
        size_t size = nb_utf8_sequence(from, end);
        if (size == 0 || (size == 1 && nb_utf8_control(from, end) == 1 && *from != '\t'))
            return at;
        at += size;
    }
    return length;
}

/* ---- allowed values -------------------------------------------------------------------------- */

static int append_number(const struct nb_option *option, uint64_t value, struct nb_buffer *out)
{
    char unit[2] = "";
    if (option->type == NB_OPTION_BYTES)
        for (size_t i = 0; i < sizeof units && value != 0 && value % 1024 == 0; i++) {
            value /= 1024;
            unit[0] = units[i];
        }
    return nb_buffer_printf(out, "%llu%s", (unsigned long long)value, unit);
}

static int append_names(const char *const *names, struct nb_buffer *out)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        const char *before = i == 0 ? "" : names[i + 1] == NULL ? " or " : ", ";
        int rc = nb_buffer_printf(out, "%s%s", before, names[i]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int nb_value_range(const struct nb_option *option, struct nb_buffer *out)
{
    int rc = 0;
    switch (option->type) {
    case NB_OPTION_BOOL:
        return nb_buffer_puts(out, "yes or no");
    case NB_OPTION_COUNT:
    case NB_OPTION_BYTES:
    case NB_OPTION_NUMBER:
        rc = append_number(option, option->minimum, out);
        if (rc == 0)
            rc = nb_buffer_puts(out, " to ");
        return rc == 0 ? append_number(option, option->maximum, out) : rc;
    case NB_OPTION_ENUM:
        return append_names(option->names, out);
    case NB_OPTION_ADDRESS:
        return nb_buffer_puts(out, "ADDRESS:PORT or [IPv6]:PORT");
    case NB_OPTION_STRING:
    case NB_OPTION_SECRET:
        break;
    }
    return nb_buffer_printf(out, "text of %s%llu bytes", option->minimum == 0 ? "up to " : "1 to ",
                            (unsigned long long)option->maximum);
}

/* ---- from text ------------------------------------------------------------------------------- */

/* Returns how many bytes of a value a message shows: enough to recognise it, cut between
 * characters. */
static int shown(const char *text)
{
    enum { MOST = 60 };
    return (int)nb_utf8_cut((struct nb_string){text, strnlen(text, MOST + 1)}, MOST).length;
}

static int refuse(const struct nb_option *option, const char *text, const char *where,
                  const char *reason, struct nb_error *error)
{
    struct nb_buffer range = {0};
    bool is_secret = option->type == NB_OPTION_SECRET; /* messages end up in logs */
    int rc = nb_value_range(option, &range);
    if (rc == 0)
        rc = nb_buffer_append(&range, "", 1);
    if (rc != 0)
        rc = nb_error_no_memory(error);
    else
        rc = nb_error_set(error, NB_INVALID, "%s: [%s] %s: %s%.*s%s %s; write %s", where,
                          option->group, option->key, is_secret ? "the value" : "\"",
                          is_secret ? 0 : shown(text), text, is_secret ? "" : "\"", reason,
                          range.bytes);
    nb_buffer_deinit(&range);
    return rc;
}

static bool parse_bool(const char *text, bool *value)
{
    for (size_t i = 0; i < TRUTHS; i++)
        if (strcasecmp(text, truths[i]) == 0) {
            *value = i >= TRUTHS / 2;
            return true;
        }
    return false;
}

/* Returns the power of 1024 that a unit's letter stands for; -1 if it is no unit. */
static int unit_power(char letter)
{
    for (size_t i = 0; i < sizeof units; i++)
        if (nb_ascii_upper(letter) == units[i])
            return (int)i + 1;
    return -1;
}

/* Reads digits and, for sizes, one unit. Own code, because strtoull accepts signs and blanks, and
 * returns the largest number for one that does not fit. Returns NULL or the fault. */
static const char *parse_number(const struct nb_option *option, const char *text, uint64_t *value)
{
    uint64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
            return "is too large";
    if (at == text)
        return "is no whole number";
    if (option->type == NB_OPTION_BYTES && *at != '\0' && at[1] == '\0') {
        for (int power = unit_power(*at); power > 0; power--, at = "")
            if (__builtin_mul_overflow(number, (uint64_t)1024, &number))
                return "is too large";
    }
    if (*at != '\0')
        return option->type == NB_OPTION_BYTES ? "is no size (a whole number, then K, M, G or T)"
                                               : "is no whole number";
    if (number < option->minimum)
        return "is too small";
    *value = number;
    return number > option->maximum ? "is too large" : NULL;
}

/* Reads a number with an optional fraction. Returns NULL or the fault. */
static const char *parse_real(const struct nb_option *option, const char *text, double *value)
{
    if (!nb_number_read((struct nb_string){text, strlen(text)}, value))
        return "is no number";
    if (*value < (double)option->minimum)
        return "is too small";
    return *value > (double)option->maximum ? "is too large" : NULL;
}

static bool parse_name(const struct nb_option *option, const char *text, int *value)
{
    for (int i = 0; option->names[i] != NULL; i++)
        if (strcmp(text, option->names[i]) == 0) {
            *value = i;
            return true;
        }
    return false;
}

/* Accepts only addresses in digits: the resolver may not be available yet when the daemon starts,
 * and it must be clear whether an address is loopback. Returns NULL or the fault. */
static const char *check_address(const char *text)
{
    char host[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    const char *colon = strrchr(text, ':');
    if (colon == NULL)
        return "has no port";
    bool is_v6 = text[0] == '[' && colon > text + 1 && colon[-1] == ']';
    const char *from = is_v6 ? text + 1 : text;
    size_t length = (size_t)(colon - from) - (is_v6 ? 1 : 0);
    if (length >= sizeof host)
        return "is no address in digits";
    memcpy(host, from, length);
    host[length] = '\0';
    if (inet_pton(is_v6 ? AF_INET6 : AF_INET, host, address) != 1)
        return "is no address in digits";
    struct nb_option port = {.type = NB_OPTION_COUNT, .maximum = 65535};
    uint64_t value;
    return parse_number(&port, colon + 1, &value) == NULL ? NULL : "has no port from 0 to 65535";
}

static const char *check_string(const struct nb_option *option, const char *text)
{
    size_t length = strnlen(text, (size_t)option->maximum + 1);
    if (length > option->maximum)
        return "is too long";
    if (length < option->minimum)
        return "is empty";
    if (nb_value_bad_byte(text, length) != length)
        return "has a control character or is not UTF-8";
    /* The reader of files trims values, so this value would not survive --print-config. */
    if (nb_string_trim((struct nb_string){text, length}).length != length)
        return "begins or ends with a blank";
    if (strstr(text, " #") != NULL || strstr(text, "\t#") != NULL)
        return "has a comment behind it: comments stand on lines of their own";
    return option->type == NB_OPTION_ADDRESS ? check_address(text) : NULL;
}

static int set_string(struct nb_config *config, const struct nb_option *option, const char *text,
                      struct nb_error *error)
{
    char *copy = strdup(text);
    if (copy == NULL)
        return nb_error_no_memory(error);
    nb_value_free(config, option);
    *(char **)member_of(config, option) = copy;
    return 0;
}

int nb_value_set(struct nb_config *config, const struct nb_option *option, const char *text,
                 const char *where, struct nb_error *error)
{
    assert(option->offset < sizeof *config && option->minimum <= option->maximum);
    const char *reason = NULL;
    void *member = member_of(config, option);
    uint64_t number = 0;
    double real = 0;
    bool truth = false;
    int name = 0;
    switch (option->type) {
    case NB_OPTION_BOOL:
        if (!parse_bool(text, &truth))
            return refuse(option, text, where, "is neither yes nor no", error);
        *(bool *)member = truth;
        return 0;
    case NB_OPTION_COUNT:
    case NB_OPTION_BYTES:
        reason = parse_number(option, text, &number);
        if (reason != NULL)
            return refuse(option, text, where, reason, error);
        *(uint64_t *)member = number;
        return 0;
    case NB_OPTION_NUMBER:
        reason = parse_real(option, text, &real);
        if (reason != NULL)
            return refuse(option, text, where, reason, error);
        *(double *)member = real;
        return 0;
    case NB_OPTION_ENUM:
        if (!parse_name(option, text, &name))
            return refuse(option, text, where, "is none of the choices", error);
        *(int *)member = name;
        return 0;
    case NB_OPTION_STRING:
    case NB_OPTION_ADDRESS:
    case NB_OPTION_SECRET:
        break;
    }
    reason = check_string(option, text);
    if (reason != NULL)
        return refuse(option, text, where, reason, error);
    return set_string(config, option, text, error);
}

void nb_value_free(struct nb_config *config, const struct nb_option *option)
{
    if (!nb_value_is_text(option))
        return;
    char **member = member_of(config, option);
    free(*member);
    *member = NULL;
}

/* ---- to text --------------------------------------------------------------------------------- */

int nb_value_print(const struct nb_config *config, const struct nb_option *option,
                   struct nb_buffer *out)
{
    const void *member = const_member_of(config, option);
    switch (option->type) {
    case NB_OPTION_BOOL:
        return nb_buffer_puts(out, *(const bool *)member ? "yes" : "no");
    case NB_OPTION_COUNT:
    case NB_OPTION_BYTES:
        return append_number(option, *(const uint64_t *)member, out);
    case NB_OPTION_NUMBER:
        return nb_number_print(*(const double *)member, out);
    case NB_OPTION_ENUM:
        return nb_buffer_puts(out, option->names[*(const int *)member]);
    case NB_OPTION_STRING:
    case NB_OPTION_ADDRESS:
    case NB_OPTION_SECRET:
        break;
    }
    return nb_buffer_puts(out, *(char *const *)member);
}
