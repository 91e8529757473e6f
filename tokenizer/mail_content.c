/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail_content.h"

#include <string.h>
#include <strings.h>

#include "core/base/string.h"
#include "tokenizer/html_text.h"
#include "tokenizer/text_formats.h"

enum {
    PLAIN_BYTES = 256 /* bytes of a plain field; longer ones may be cut (mail_decode.c) */
};

/* The parameters that matter; each is the index of its name in `names`. */
enum { CHARSET, BOUNDARY, NAME, FILENAME, FORMAT, DELSP, COUNTING };
static const char *const names[COUNTING] = {"charset",  "boundary", "name",
                                            "filename", "format",   "delsp"};

/* Whether a character is a letter, a digit or a mark without special meaning (RFC 2045, 5.1). */
static bool is_plain(char c)
{
    return nb_ascii_is_alphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '+';
}

/* Removes a token from the beginning of *rest and returns it; its length is 0 if there is none. */
static struct nb_string take_token(struct nb_string *rest)
{
    size_t length = 0;
    while (length < rest->length && is_plain(rest->bytes[length]))
        length++;
    struct nb_string token = {rest->bytes, length};
    *rest = nb_string_from(*rest, length);
    return token;
}

static bool take_byte(struct nb_string *rest, char c)
{
    if (rest->length == 0 || rest->bytes[0] != c)
        return false;
    *rest = nb_string_from(*rest, 1);
    return true;
}

static void skip_blanks(struct nb_string *rest)
{
    *rest = nb_string_trim_start(*rest, " \t\r\n");
}

/* Removes a quoted string and returns its text; the length is 0 if it is not plain. "=?" is not
 * plain, because it may begin an encoded word. */
static struct nb_string take_quoted(struct nb_string *rest)
{
    size_t length = 0;
    for (; length < rest->length && rest->bytes[length] != '"'; length++) {
        char c = rest->bytes[length];
        bool encodes = c == '?' && length > 0 && rest->bytes[length - 1] == '=';
        if (c < ' ' || c > '~' || c == '\\' || encodes)
            return (struct nb_string){NULL, 0};
    }
    struct nb_string text = {rest->bytes, length};
    *rest = nb_string_from(*rest, length);
    return take_byte(rest, '"') ? text : (struct nb_string){NULL, 0};
}

/* Reads one parameter after its semicolon into `values`. */
static bool take_parameter(struct nb_string *rest, struct nb_string values[COUNTING])
{
    skip_blanks(rest);
    struct nb_string name = take_token(rest);
    if (name.length == 0 || !take_byte(rest, '='))
        return false;
    struct nb_string value = take_byte(rest, '"') ? take_quoted(rest) : take_token(rest);
    if (value.length == 0 || (rest->length > 0 && rest->bytes[0] != ';'))
        return false;
    for (size_t i = 0; i < COUNTING; i++) {
        if (!nb_string_equals_nocase(name, names[i]))
            continue;
        if (values[i].length != 0)
            return false;
        values[i] = value;
    }
    return true;
}

/* Copies as much of a text as fits, in lower case if `lower`. */
static void copy(char *to, size_t size, struct nb_string from, bool lower)
{
    size_t length = from.length < size - 1 ? from.length : size - 1;
    for (size_t i = 0; i < length; i++)
        to[i] = lower ? nb_ascii_lower(from.bytes[i]) : from.bytes[i];
    to[length] = '\0';
}

bool nb_mail_plain_type(struct nb_mail_type *type, struct nb_string value)
{
    struct nb_string values[COUNTING] = {{NULL, 0}};
    if (value.length > PLAIN_BYTES)
        return false;
    skip_blanks(&value);
    struct nb_string media = {value.bytes, 0};
    size_t first = take_token(&value).length;
    if (first == 0 || !take_byte(&value, '/'))
        return false;
    size_t second = take_token(&value).length;
    media.length = first + 1 + second;
    if (second == 0)
        return false;
    while (value.length > 0) {
        if (!take_byte(&value, ';') || !take_parameter(&value, values))
            return false;
    }
    copy(type->media, NB_MAIL_MEDIA, media, true);
    copy(type->charset, NB_MAIL_CHARSET, values[CHARSET], true);
    copy(type->boundary, NB_MAIL_BOUNDARY, values[BOUNDARY], false);
    nb_mail_read_flowed(type, values[FORMAT], values[DELSP]);
    for (size_t i = NAME; i <= FILENAME; i++) {
        if (values[i].length != 0)
            copy(type->file_name, NB_MAIL_FILE_NAME, values[i], false);
    }
    return true;
}

struct row {
    const char *name;
    enum nb_mail_content content;
};

static const struct row TYPES[] = {
    {"text/html", NB_CONTENT_HTML},
    {"application/xhtml+xml", NB_CONTENT_HTML},
    {"application/html", NB_CONTENT_HTML},
    {"application/xhtml", NB_CONTENT_HTML},
    {"text/calendar", NB_CONTENT_CALENDAR},
    {"text/x-vcalendar", NB_CONTENT_CALENDAR},
    {"application/ics", NB_CONTENT_CALENDAR},
    {"text/vcard", NB_CONTENT_CALENDAR},
    {"text/x-vcard", NB_CONTENT_CALENDAR},
    {"text/directory", NB_CONTENT_CALENDAR},
    {"text/enriched", NB_CONTENT_ENRICHED},
    {"text/richtext", NB_CONTENT_ENRICHED},
    {"text/rtf", NB_CONTENT_RTF},
    {"text/x-rtf", NB_CONTENT_RTF},
    {"application/rtf", NB_CONTENT_RTF},
    {"application/x-rtf", NB_CONTENT_RTF},
    {"image/svg+xml", NB_CONTENT_SVG},
    {"image/svg", NB_CONTENT_SVG},
    {"message/rfc822", NB_CONTENT_MESSAGE},
    {"message/global", NB_CONTENT_MESSAGE},
    {"message/news", NB_CONTENT_MESSAGE},
};

static const struct row NAMES[] = {
    {".html", NB_CONTENT_HTML},    {".htm", NB_CONTENT_HTML},     {".xhtml", NB_CONTENT_HTML},
    {".xht", NB_CONTENT_HTML},     {".shtml", NB_CONTENT_HTML},   {".shtm", NB_CONTENT_HTML},
    {".hta", NB_CONTENT_HTML},     {".svg", NB_CONTENT_SVG},      {".ics", NB_CONTENT_CALENDAR},
    {".vcs", NB_CONTENT_CALENDAR}, {".vcf", NB_CONTENT_CALENDAR}, {".rtf", NB_CONTENT_RTF},
    {".eml", NB_CONTENT_MESSAGE},
};

void nb_mail_content_field(struct nb_mail_type *type, struct nb_string name, struct nb_string value)
{
    if (nb_string_equals_nocase(name, "Content-Type") && type->media[0] == '\0') {
        if (!nb_mail_plain_type(type, value))
            nb_mail_read_type(type, value);
    } else if (nb_string_equals_nocase(name, "Content-Disposition")) {
        nb_mail_read_disposition(type, value);
    } else if (nb_string_equals_nocase(name, "Content-Transfer-Encoding") &&
               type->transfer[0] == '\0') {
        nb_mail_read_encoding(type, value);
    }
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_text(const char *media)
{
    return has_prefix(media, "text/") || has_prefix(media, "message/") ||
           has_prefix(media, "multipart/");
}

/* Returns the kind of content by the type alone. Most parts have one of the first two types. */
static enum nb_mail_content content_of(const char *media)
{
    if (*media == '\0' || strcmp(media, "text/plain") == 0)
        return NB_CONTENT_PLAIN;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        if (strcmp(media, TYPES[i].name) == 0)
            return TYPES[i].content;
    }
    return is_text(media) ? NB_CONTENT_PLAIN : NB_CONTENT_NONE;
}

enum nb_mail_content nb_mail_content_of_type(const struct nb_mail_type *type, struct nb_string text)
{
    enum nb_mail_content content = content_of(type->media);
    if (text.length == 0 || (content != NB_CONTENT_PLAIN && content != NB_CONTENT_ENRICHED))
        return content;
    if (nb_html_sniff(text.bytes, text.length))
        return NB_CONTENT_HTML;
    if (content == NB_CONTENT_ENRICHED && nb_rtf_sniff(text)) /* both are called rich text */
        return NB_CONTENT_RTF;
    return content;
}

bool nb_mail_content_is_vague(const struct nb_mail_type *type)
{
    return has_prefix(type->media, "application/") || strchr(type->media, '/') == NULL;
}

enum nb_mail_content nb_mail_content_of_name(const struct nb_mail_type *type)
{
    if (type->file_name[0] == '\0')
        return NB_CONTENT_NONE;
    struct nb_string name = nb_string_trim_end(nb_string_of(type->file_name), " .");
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        size_t length = strlen(NAMES[i].name);
        if (name.length > length &&
            strncasecmp(name.bytes + name.length - length, NAMES[i].name, length) == 0)
            return NAMES[i].content;
    }
    return NB_CONTENT_NONE;
}

/* Whether a text begins with markup, after anything that editors and XML put before it. */
static bool begins_with_markup(struct nb_string text)
{
    if (nb_string_starts(text, "\xEF\xBB\xBF"))
        text = nb_string_from(text, 3);
    text = nb_string_trim_start(text, " \t\r\n\f");
    return text.length > 0 && text.bytes[0] == '<';
}

enum nb_mail_content nb_mail_content_sniff(struct nb_string text)
{
    if (text.length > NB_MAIL_SNIFFED_BYTES)
        text.length = NB_MAIL_SNIFFED_BYTES;
    if (nb_rtf_sniff(text))
        return NB_CONTENT_RTF;
    if (!begins_with_markup(text))
        return NB_CONTENT_NONE;
    if (nb_html_sniff(text.bytes, text.length))
        return NB_CONTENT_HTML;
    return memmem(text.bytes, text.length, "<svg", 4) != NULL ? NB_CONTENT_SVG : NB_CONTENT_NONE;
}

bool nb_mail_content_is_message(const struct nb_mail_type *type)
{
    const struct nb_string none = {"", 0};
    return nb_mail_content_of_type(type, none) == NB_CONTENT_MESSAGE ||
           (nb_mail_content_is_vague(type) && nb_mail_content_of_name(type) == NB_CONTENT_MESSAGE);
}

const char *nb_mail_content_word(enum nb_mail_content content)
{
    static const char *const words[] = {
        [NB_CONTENT_NONE] = "nothing",      [NB_CONTENT_PLAIN] = "plain",
        [NB_CONTENT_HTML] = "html",         [NB_CONTENT_SVG] = "svg",
        [NB_CONTENT_CALENDAR] = "calendar", [NB_CONTENT_ENRICHED] = "enriched",
        [NB_CONTENT_RTF] = "rtf",           [NB_CONTENT_MESSAGE] = "message"};
    return words[content];
}
