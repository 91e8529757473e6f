/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail_values.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/string.h"

enum { VALUE_BYTES = 2048, RESULT_BYTES = 16, NETWORK = INET6_ADDRSTRLEN + 4 };

const char *const nb_mail_value_names[NB_MAIL_VALUES] = {[NB_MAIL_SPF] = "spf",
                                                         [NB_MAIL_DKIM] = "dkim",
                                                         [NB_MAIL_DMARC] = "dmarc",
                                                         [NB_MAIL_CLIENT] = "client",
                                                         [NB_MAIL_HELO] = "helo",
                                                         [NB_MAIL_SENDER] = "sender",
                                                         [NB_MAIL_RECIPIENT] = "recipient"};

/* ---- words of a field ------------------------------------------------------------------------ */

struct reader {
    const char *at, *end;
};

static struct reader read_from(struct nb_string value)
{
    size_t length = value.length < VALUE_BYTES ? value.length : VALUE_BYTES;
    return (struct reader){value.bytes, value.bytes == NULL ? NULL : value.bytes + length};
}

/* Skips the comment that begins here and may contain others (RFC 5322, 3.2.2). */
static void skip_comment(struct reader *r)
{
    size_t depth = 0;
    do {
        if (*r->at == '\\' && r->at + 1 < r->end)
            r->at++;
        else if (*r->at == '(')
            depth++;
        else if (*r->at == ')')
            depth--;
        r->at++;
    } while (depth > 0 && r->at < r->end);
}

static void skip_blank(struct reader *r)
{
    while (r->at < r->end && (nb_ascii_is_space(*r->at) || *r->at == '(')) {
        if (*r->at == '(')
            skip_comment(r);
        else
            r->at++;
    }
}

static bool ends_word(char c)
{
    return nb_ascii_is_space(c) || c == '(' || c == ';' || c == '=';
}

/* Returns the next word; a quoted string with its quotes is one word. The length is 0 at '=', ';'
 * and the end. */
static struct nb_string next_word(struct reader *r)
{
    skip_blank(r);
    const char *from = r->at;
    bool is_quoted = false;
    for (; r->at < r->end && (is_quoted || !ends_word(*r->at)); r->at++) {
        if (is_quoted && *r->at == '\\' && r->at + 1 < r->end)
            r->at++;
        else if (*r->at == '"')
            is_quoted = !is_quoted;
    }
    return (struct nb_string){from, (size_t)(r->at - from)};
}

/* Skips the character `c` if it comes next. Returns whether it did. */
static bool takes(struct reader *r, char c)
{
    skip_blank(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool is_own(const struct nb_mail_values *values, struct nb_string name)
{
    return name.length > 0 && name.length == values->server.length &&
           strncasecmp(name.bytes, values->server.bytes, name.length) == 0;
}

/* ---- the values ------------------------------------------------------------------------------ */

/* Notes a value in lower case, unless one is noted already or it is too long for a category. */
static void note(struct nb_mail_values *values, enum nb_mail_value number, struct nb_string text)
{
    struct nb_mail_known *known = &values->known[number];
    if (known->length > 0 || text.length == 0 || text.length > sizeof known->text)
        return;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c <= ' ' || c >= 0x7F) /* names and addresses of SMTP without extensions lack these */
            return;
        known->text[i] = nb_ascii_lower(text.bytes[i]);
    }
    known->length = text.length;
}

static struct nb_string without_angles(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length >= 2 && s.bytes[0] == '<' && s.bytes[s.length - 1] == '>')
        s = (struct nb_string){s.bytes + 1, s.length - 2};
    return s;
}

static void note_sender(struct nb_mail_values *values, struct nb_string sender)
{
    struct nb_string bare = without_angles(sender);
    const char *at = bare.length > 0 ? memrchr(bare.bytes, '@', bare.length) : NULL;
    if (nb_string_equals(nb_string_trim(sender), "<>"))
        note(values, NB_MAIL_SENDER, nb_string_of("<>"));
    else if (at != NULL)
        note(values, NB_MAIL_SENDER, nb_string_from(bare, (size_t)(at + 1 - bare.bytes)));
}

/* Returns the address without brackets, port and the tag of RFC 5321, 4.1.3. */
static struct nb_string bare_address(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length > 0 && s.bytes[0] == '[') {
        const char *close = memchr(s.bytes, ']', s.length);
        size_t length = close != NULL ? (size_t)(close - s.bytes) : s.length;
        s = (struct nb_string){s.bytes + 1, length - 1};
    }
    if (nb_string_starts_nocase(s, "IPv6:"))
        s = nb_string_from(s, 5);
    const char *colon = s.length > 0 ? memchr(s.bytes, ':', s.length) : NULL;
    if (colon != NULL && memchr(s.bytes, '.', (size_t)(colon - s.bytes)) != NULL)
        s.length = (size_t)(colon - s.bytes);
    return s;
}

/* Writes the network of an address; "" for text that is no address, and for an address of the
 * machine itself. */
static void network_of(struct nb_string address, char text[NETWORK])
{
    static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    unsigned char bytes[16] = {0};
    char given[INET6_ADDRSTRLEN];
    text[0] = '\0';
    address = bare_address(address);
    if (address.length == 0 || address.length >= sizeof given)
        return;
    (void)snprintf(given, sizeof given, "%.*s", (int)address.length, address.bytes);
    bool is_6 = inet_pton(AF_INET6, given, bytes) == 1;
    if (!is_6 && inet_pton(AF_INET, given, bytes + 12) != 1)
        return;
    const unsigned char *four = bytes + 12;
    if (!is_6 || memcmp(bytes, mapped, sizeof mapped) == 0) {
        if (four[0] != 127)
            (void)sprintf(text, "%d.%d.%d.0/24", four[0], four[1], four[2]);
        return;
    }
    static const unsigned char loopback[16] = {[15] = 1};
    if (memcmp(bytes, loopback, sizeof bytes) == 0)
        return;
    memset(bytes + 6, 0, sizeof bytes - 6);
    if (inet_ntop(AF_INET6, bytes, given, sizeof given) != NULL)
        (void)snprintf(text, NETWORK, "%s/48", given);
}

void nb_mail_values_begin(struct nb_mail_values *values, struct nb_string server,
                          const struct nb_envelope *envelope)
{
    char network[NETWORK];
    values->server = server;
    values->has_envelope = values->has_own = values->has_border = values->is_foreign = false;
    for (size_t i = 0; i < NB_MAIL_VALUES; i++)
        values->known[i].length = 0;
    if (envelope == NULL ||
        envelope->address.length + envelope->helo.length + envelope->sender.length == 0)
        return;
    values->has_envelope = values->has_own = true;
    network_of(envelope->address, network);
    note(values, NB_MAIL_CLIENT, nb_string_of(network));
    if (network[0] != '\0') /* the client is another machine */
        note(values, NB_MAIL_HELO, nb_string_trim(envelope->helo));
    note_sender(values, envelope->sender);
    note(values, NB_MAIL_RECIPIENT, without_angles(envelope->recipient));
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* The contents of a Received field (RFC 5321, 4.4). */
struct received {
    struct nb_string helo, address, by, recipient;
};

/* Reads the client. Its address is the last one in brackets before "by"; its name is the word after
 * "from", or in Exim's fields the word after "helo=". */
static void read_client(struct nb_string from, struct received *is)
{
    static const char mark[] = "helo=";
    const char *end = from.bytes + from.length;
    const char *open = from.length > 0 ? memrchr(from.bytes, '[', from.length) : NULL;
    if (open != NULL)
        is->address = (struct nb_string){open, (size_t)(end - open)};
    const char *helo = memmem(from.bytes, from.length, mark, sizeof mark - 1);
    if (helo == NULL)
        return;
    helo += sizeof mark - 1;
    size_t length = 0;
    while (helo + length < end && !nb_ascii_is_space(helo[length]) && helo[length] != ')')
        length++;
    is->helo = (struct nb_string){helo, length};
}

/* Reads a Received field. Returns whether it is a hop from another machine or program: "from ... by
 * ...". */
static bool read_received(struct nb_string value, struct received *is)
{
    struct reader r = read_from(value);
    *is = (struct received){.helo = {"", 0}};
    if (!nb_string_equals_nocase(next_word(&r), "from"))
        return false;
    const char *from = r.at;
    is->helo = next_word(&r);
    struct nb_string word = is->helo;
    while (word.length > 0 && !nb_string_equals_nocase(word, "by"))
        word = next_word(&r);
    if (word.length == 0)
        return false;
    read_client((struct nb_string){from, (size_t)(word.bytes - from)}, is);
    is->by = next_word(&r);
    while (word.length > 0 && !nb_string_equals_nocase(word, "for"))
        word = next_word(&r);
    is->recipient = without_angles(next_word(&r));
    return true;
}

static void received_field(struct nb_mail_values *values, struct nb_string value)
{
    struct received is;
    char network[NETWORK];
    bool is_of_server = read_received(value, &is) && is_own(values, is.by);
    network_of(is.address, network);
    if (is_of_server && network[0] == '\0') /* a hop within the machine: a filter or program */
        return;
    if (!is_of_server || values->has_border) { /* a mail enters from outside only once */
        values->is_foreign = values->has_own;
        return;
    }
    values->has_own = values->has_border = true;
    if (values->has_envelope)
        return;
    note(values, NB_MAIL_CLIENT, nb_string_of(network));
    note(values, NB_MAIL_HELO, is.helo);
    note(values, NB_MAIL_RECIPIENT, is.recipient);
}

static bool is_result(struct nb_string word)
{
    bool is = word.length > 0 && word.length <= RESULT_BYTES;
    for (size_t i = 0; is && i < word.length; i++)
        is = nb_ascii_is_letter(word.bytes[i]);
    return is;
}

/* Takes the result of one method; one good signature of several is enough. */
static void take_result(struct nb_string found[NB_MAIL_DMARC + 1], struct nb_string method,
                        struct nb_string result)
{
    for (size_t i = NB_MAIL_SPF; i <= NB_MAIL_DMARC; i++) {
        if (!nb_string_equals_nocase(method, nb_mail_value_names[i]) || !is_result(result))
            continue;
        if (found[i].length == 0 || nb_string_equals_nocase(result, "pass"))
            found[i] = result;
    }
}

/* Takes the results of a field. If the server wrote several, the topmost field with a method
 * decides. */
static void results_field(struct nb_mail_values *values, struct nb_string value)
{
    struct nb_string found[NB_MAIL_DMARC + 1] = {{"", 0}};
    struct reader r = read_from(value);
    if (!is_own(values, next_word(&r)))
        return;
    values->has_own = true;
    while (r.at < r.end) {
        struct nb_string method = next_word(&r);
        const char *slash = method.length > 0 ? memchr(method.bytes, '/', method.length) : NULL;
        if (slash != NULL) /* a version */
            method.length = (size_t)(slash - method.bytes);
        if (takes(&r, '='))
            take_result(found, method, next_word(&r));
        while (r.at < r.end && *r.at != ';') { /* reason and properties */
            if (next_word(&r).length == 0 && r.at < r.end && *r.at != ';')
                r.at++;
        }
        (void)takes(&r, ';');
    }
    for (size_t i = NB_MAIL_SPF; i <= NB_MAIL_DMARC; i++)
        note(values, (enum nb_mail_value)i, found[i]);
}

static void spf_field(struct nb_mail_values *values, struct nb_string value)
{
    struct reader r = read_from(value);
    struct nb_string result = next_word(&r);
    bool is_of_server = false;
    while (r.at < r.end && !is_of_server) {
        struct nb_string key = next_word(&r);
        if (takes(&r, '='))
            is_of_server =
                nb_string_equals_nocase(key, "receiver") && is_own(values, next_word(&r));
        else if (key.length == 0 && r.at < r.end)
            r.at++;
    }
    if (is_of_server && is_result(result))
        note(values, NB_MAIL_SPF, result);
}

void nb_mail_values_field(struct nb_mail_values *values, struct nb_string name,
                          struct nb_string value)
{
    if (values->is_foreign)
        return;
    if (nb_string_equals_nocase(name, "Received"))
        received_field(values, value);
    else if (nb_string_equals_nocase(name, "Authentication-Results"))
        results_field(values, value);
    else if (nb_string_equals_nocase(name, "Received-SPF"))
        spf_field(values, value);
    else if (nb_string_equals_nocase(name, "Return-Path") && !values->has_envelope)
        note_sender(values, value);
}
