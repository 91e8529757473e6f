/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail_decode.h"

#include <assert.h>
#include <gmime/gmime.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "tokenizer/mail_charset.h"
#include "tokenizer/transfer_encoding.h"

static const char blanks[] = " \t\r\n";

/* Whether a parameter of a well-known name begins here: "charset=", "name*0=", "boundary =". */
static bool begins_parameter(struct nb_string rest)
{
    static const char *const names[] = {"charset", "boundary", "name",   "filename",
                                        "format",  "delsp",    "method", "report-type",
                                        "type",    "protocol", "micalg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!nb_string_starts_nocase(rest, names[i]))
            continue;
        struct nb_string behind = nb_string_from(rest, strlen(names[i]));
        behind = nb_string_trim_start(behind, "*0123456789");
        behind = nb_string_trim_start(behind, blanks);
        if (behind.length > 0 && behind.bytes[0] == '=')
            return true;
    }
    return false;
}

/* Returns the length of the quoted string or comment at the beginning; 0 if it has no end. */
static size_t quoted_length(struct nb_string rest, char end)
{
    for (size_t i = 1; i < rest.length; i++) {
        if (rest.bytes[i] == '\\')
            i++;
        else if (rest.bytes[i] == end)
            return i + 1;
    }
    return 0;
}

/* Whether a byte ends the text before a parameter. */
static bool separates(char c)
{
    return nb_string_is_one_of(c, " \t\r\n,\")");
}

/* Returns the length of the next piece that is copied unchanged: a quoted string, a comment or a
 * byte. Sets is_open[0] or [1] if a quoted string or a comment has no end: then no later one has an
 * end either. */
static size_t piece_length(struct nb_string rest, bool is_open[2])
{
    char c = rest.bytes[0];
    if (c != '"' && c != '(')
        return 1;
    size_t length = is_open[c == '('] ? 0 : quoted_length(rest, c == '(' ? ')' : '"');
    is_open[c == '('] = length == 0;
    return length > 0 ? length : 1;
}

/* Appends the missing semicolon, or replaces a comma by it. */
static size_t put_semicolon(char *to, size_t used, char last)
{
    if (last == ',')
        while (to[--used] != ',')
            ;
    to[used] = ';';
    return used + 1;
}

/* Copies the value of a field to `to`, and adds the missing semicolons before parameters with
 * well-known names: "text/html charset=x", "text/html, charset=x". Quoted text and comments stay
 * unchanged. `to` has room for 2 * value.length bytes. Returns the number of bytes written. */
static size_t mail_mend_parameters(struct nb_string value, char *to)
{
    size_t used = 0;
    char last = ';'; /* the last non-blank byte */
    bool is_open[2] = {false, false};
    for (size_t i = 0, length; i < value.length; i += length) {
        struct nb_string rest = nb_string_from(value, i);
        bool is_behind = i > 0 && separates(value.bytes[i - 1]);
        if (is_behind && last != ';' && last != '=' && begins_parameter(rest))
            used = put_semicolon(to, used, last);
        length = piece_length(rest, is_open);
        memcpy(to + used, rest.bytes, length);
        used += length;
        if (!nb_string_is_one_of(rest.bytes[0], blanks) && (rest.bytes[0] != '(' || length == 1))
            last = rest.bytes[0];
    }
    return used;
}

enum {
    /* Longer Content-Type fields are cut: GMime compares each parameter with all others. */
    PARAMETERS = 2048,
    UTF7_PARAMETERS = 256
};

void nb_mail_decode_setup(void)
{
    g_mime_init();
}

void nb_mail_decode_teardown(void)
{
    g_mime_shutdown();
}

/* Copies as much of a C string as fits, in lower case if `lower`; NULL gives "". */
static void copy(char *to, size_t size, const char *from, bool lower)
{
    size_t length = from != NULL ? strnlen(from, size - 1) : 0;
    for (size_t i = 0; i < length; i++)
        to[i] = lower ? nb_ascii_lower(from[i]) : from[i];
    to[length] = '\0';
}

/* Turns a value into a C string for GMime: unfolded, with NUL bytes replaced by blanks. Free it
 * with g_free. */
static char *c_string(struct nb_string value, size_t most)
{
    size_t length = value.length < most ? value.length : most;
    char *text = g_malloc(length + 1);
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        char c = value.bytes[i];
        if (c != '\r' && c != '\n')
            text[used++] = c != '\0' ? c : ' ';
    }
    text[used] = '\0';
    return text;
}

static bool names_utf7(const char *text)
{
    while ((text = strcasestr(text, "utf")) != NULL) {
        text += strlen("utf");
        if (text[0] == '7' || (text[0] == '-' && text[1] == '7'))
            return true;
    }
    return false;
}

/* GMime is not shown encoded words (RFC 2047): its versions read base64 without padding, and words
 * after padded ones, differently. The '?' of "=?" is this byte until the values are read. */
enum { HIDDEN = '\x01' };

static void hide_words(char *text)
{
    for (char *at = text; (at = strstr(at, "=?")) != NULL; at += 2)
        at[1] = HIDDEN;
}

/* Shows them again in a value, whose first byte may have been after the '=' of its parameter.
 * Returns whether there were any. */
static bool show_words(char *value)
{
    bool is_any = false;
    for (char *at = value; *at != '\0'; at++) {
        if (*at == HIDDEN && (at == value || at[-1] == '=')) {
            *at = '?';
            is_any = true;
        }
    }
    return is_any;
}

/* Turns a value with parameters into a C string for GMime, which decodes them by iconv. Decoding
 * UTF-7 takes long (tokenizer/charset.h), so a value that may have UTF-7 is cut earlier. */
static char *parameters_of(struct nb_string value)
{
    char mended[2 * PARAMETERS];
    if (value.length > PARAMETERS)
        value.length = PARAMETERS;
    value = (struct nb_string){mended, mail_mend_parameters(value, mended)};
    char *text = c_string(value, PARAMETERS);
    if (names_utf7(text) && strlen(text) > UTF7_PARAMETERS)
        text[UTF7_PARAMETERS] = '\0';
    hide_words(text);
    return text;
}

/* Returns the value of a parameter with its encoded words decoded; "" if there is none. RFC 2047
 * forbids words here, but programs write them, for file names first of all. Free it with g_free. */
static char *parameter(GMimeParamList *list, const char *name)
{
    GMimeParam *found = g_mime_param_list_get_parameter(list, name);
    const char *value = found != NULL ? g_mime_param_get_value(found) : NULL;
    char *text = g_strdup(value != NULL ? value : "");
    if (!show_words(text) ||
        g_mime_param_get_encoding_method(found) == GMIME_PARAM_ENCODING_METHOD_RFC2231)
        return text;
    struct nb_bag_work work = NB_WORK_UNBOUNDED; /* the value is short */
    struct nb_mail_charsets charsets = {.state.work = &work};
    struct nb_buffer words = {0};
    if (nb_mail_decode_words(&charsets, nb_string_of(text), &words) == 0) {
        g_free(text);
        text = g_strndup(words.bytes, words.length);
    }
    nb_buffer_deinit(&words);
    nb_mail_charsets_deinit(&charsets);
    return text;
}

static void copy_parameter(char *to, size_t size, GMimeParamList *list, const char *name,
                           bool lower)
{
    char *value = parameter(list, name);
    copy(to, size, value, lower);
    g_free(value);
}

static void read_parameters(struct nb_mail_type *type, GMimeParamList *list)
{
    static const char *const names[] = {"name", "filename"};
    for (size_t i = 0; i < 2; i++) {
        if (g_mime_param_list_get_parameter(list, names[i]) != NULL)
            copy_parameter(type->file_name, NB_MAIL_FILE_NAME, list, names[i], false);
    }
}

void nb_mail_read_flowed(struct nb_mail_type *type, struct nb_string format, struct nb_string delsp)
{
    type->is_flowed =
        nb_string_equals_nocase(format, "flowed") && nb_string_equals_nocase(delsp, "yes");
}

void nb_mail_read_type(struct nb_mail_type *type, struct nb_string value)
{
    if (value.length == 0 || memchr(value.bytes, '/', value.length) == NULL) {
        copy(type->media, NB_MAIL_MEDIA, "text/plain", false); /* RFC 2045, 5.2 */
        return;
    }
    char *text = parameters_of(value);
    GMimeContentType *parsed = g_mime_content_type_parse(NULL, text);
    g_free(text);
    char *media = g_mime_content_type_get_mime_type(parsed);
    copy(type->media, NB_MAIL_MEDIA, media, true);
    g_free(media);
    GMimeParamList *list = g_mime_content_type_get_parameters(parsed);
    copy_parameter(type->charset, NB_MAIL_CHARSET, list, "charset", true);
    copy_parameter(type->boundary, NB_MAIL_BOUNDARY, list, "boundary", false);
    char *format = parameter(list, "format"), *delsp = parameter(list, "delsp");
    nb_mail_read_flowed(type, nb_string_of(format), nb_string_of(delsp));
    g_free(format);
    g_free(delsp);
    read_parameters(type, list);
    g_object_unref(parsed);
}

void nb_mail_read_disposition(struct nb_mail_type *type, struct nb_string value)
{
    char *text = parameters_of(value);
    GMimeContentDisposition *parsed = g_mime_content_disposition_parse(NULL, text);
    g_free(text);
    read_parameters(type, g_mime_content_disposition_get_parameters(parsed));
    g_object_unref(parsed);
}

void nb_mail_read_encoding(struct nb_mail_type *type, struct nb_string value)
{
    char *word = type->transfer;
    size_t used = 0;
    for (size_t i = 0; i < value.length && used < NB_MAIL_TRANSFER - 1; i++) {
        char c = value.bytes[i];
        if (c > ' ' && c != '"' && c != ';')
            word[used++] = c;
        else if (used > 0)
            break;
    }
    word[used] = '\0';
    switch (g_mime_content_encoding_from_string(word)) {
    case GMIME_CONTENT_ENCODING_BASE64:
        type->encoding = NB_MAIL_BASE64;
        break;
    case GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE:
        type->encoding = NB_MAIL_QUOTED_PRINTABLE;
        break;
    case GMIME_CONTENT_ENCODING_UUENCODE:
        type->encoding = NB_MAIL_UUENCODE;
        break;
    case GMIME_CONTENT_ENCODING_DEFAULT:
    case GMIME_CONTENT_ENCODING_7BIT:
    case GMIME_CONTENT_ENCODING_8BIT:
    case GMIME_CONTENT_ENCODING_BINARY:
        break;
    }
}

static int decode_uuencoded(struct nb_string body, struct nb_buffer *out)
{
    GMimeEncoding state;
    g_mime_encoding_init_decode(&state, GMIME_CONTENT_ENCODING_UUENCODE);
    size_t most = g_mime_encoding_outlen(&state, body.length + 1);
    if (nb_buffer_reserve(out, most) != 0)
        return NB_NO_MEMORY;
    char *to = out->bytes + out->length;
    size_t written = g_mime_encoding_step(&state, body.bytes, body.length, to);
    assert(written <= most); /* g_mime_encoding_outlen is an upper bound */
    out->length += written;
    return 0;
}

/* Returns the lines after "begin MODE NAME". */
static struct nb_string after_begin(struct nb_string body)
{
    const char *end = body.bytes + body.length;
    for (const char *line = body.bytes, *next; line < end; line = next) {
        next = nb_lines_next(line, end);
        struct nb_string text = {line, (size_t)(next - line)};
        if (nb_string_starts(text, "begin ") && text.length > 6)
            return nb_string_from(body, (size_t)(next - body.bytes));
    }
    return body;
}

int nb_mail_decode_body(enum nb_mail_encoding encoding, struct nb_string body,
                        struct nb_buffer *out)
{
    if (body.length == 0)
        return 0;
    switch (encoding) {
    case NB_MAIL_BASE64:
        return nb_transfer_base64_body(body, out);
    case NB_MAIL_QUOTED_PRINTABLE:
        return nb_transfer_quoted_printable(body, out);
    case NB_MAIL_UUENCODE:
        return decode_uuencoded(after_begin(body), out);
    case NB_MAIL_IDENTITY:
        break;
    }
    return nb_buffer_append(out, body.bytes, body.length);
}
