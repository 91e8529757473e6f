/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text_formats.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/string.h"

/* Returns the position after the line break and blank of a fold at `at`; `at` itself if there is
 * none. */
static const char *behind_fold(const char *at, const char *end)
{
    const char *next = at;
    if (next < end && *next == '\r')
        next++;
    if (next < end && *next == '\n')
        next++;
    bool folds = next > at && next < end && (*next == ' ' || *next == '\t');
    return folds ? next + 1 : at;
}

static bool is_escapable(char c)
{
    return c == '\\' || c == ',' || c == ';' || c == ':' || c == '"';
}

int nb_calendar_to_text(struct nb_string text, struct nb_buffer *out)
{
    const char *at = text.bytes;
    const char *end = at + text.length;
    bool is_escaped = false;
    if (text.length == 0)
        return 0;
    if (nb_buffer_reserve(out, text.length) != 0)
        return NB_NO_MEMORY;
    char *to = out->bytes + out->length;
    while (at < end) {
        const char *next = behind_fold(at, end);
        if (next > at) { /* a fold may stand between a backslash and its letter */
            at = next;
            continue;
        }
        char c = *at++;
        if (!is_escaped && c == '\\') {
            is_escaped = true;
            continue;
        }
        if (is_escaped && (c == 'n' || c == 'N'))
            c = '\n';
        else if (is_escaped && !is_escapable(c))
            *to++ = '\\';
        *to++ = c;
        is_escaped = false;
    }
    if (is_escaped)
        *to++ = '\\';
    out->length = (size_t)(to - out->bytes);
    assert(out->length <= out->capacity);
    return 0;
}

enum { COMMAND_BYTES = 60 /* bytes of a command's name (RFC 1896); a longer one is text */ };

/* Returns the name of the command at `at`, which is a '<', with the '/' of an end command. The
 * length is 0 if there is no command. */
static struct nb_string command_at(const char *at, const char *end)
{
    const char *name = at + 1;
    const char *c = name;
    c += c < end && *c == '/';
    while (c < end && c - name <= COMMAND_BYTES && (nb_ascii_is_alphanumeric(*c) || *c == '-'))
        c++;
    bool is_command = c < end && *c == '>';
    return (struct nb_string){name, is_command ? (size_t)(c - name) : 0};
}

/* Returns the character that a command of richtext stands for; 0 for other commands. */
static char character_of(struct nb_string command)
{
    if (nb_string_equals_nocase(command, "lt"))
        return '<';
    if (nb_string_equals_nocase(command, "nl") || nb_string_equals_nocase(command, "np") ||
        nb_string_equals_nocase(command, "paragraph") ||
        nb_string_equals_nocase(command, "/paragraph"))
        return '\n';
    return '\0';
}

int nb_enriched_to_text(struct nb_string text, struct nb_buffer *out)
{
    const char *at = text.bytes;
    const char *end = at + text.length;
    const char *until = NULL; /* the command that ends the skipped text; NULL: not skipping */
    if (text.length == 0)
        return 0;
    if (nb_buffer_reserve(out, text.length) != 0)
        return NB_NO_MEMORY;
    char *to = out->bytes + out->length;
    while (at < end) {
        struct nb_string command = {at, 0};
        if (*at == '<')
            command = command_at(at, end);
        if (command.length == 0) {
            at += *at == '<' && end - at > 1 && at[1] == '<'; /* "<<" is a '<' */
            if (until == NULL)
                *to++ = *at;
            at++;
            continue;
        }
        at = command.bytes + command.length + 1;
        if (until != NULL) {
            until = nb_string_equals_nocase(command, until) ? NULL : until;
            continue;
        }
        if (nb_string_equals_nocase(command, "param"))
            until = "/param";
        else if (nb_string_equals_nocase(command, "comment"))
            until = "/comment";
        else if (character_of(command) != '\0')
            *to++ = character_of(command);
    }
    out->length = (size_t)(to - out->bytes);
    assert(out->length <= out->capacity);
    return 0;
}

int nb_flowed_to_text(struct nb_string text, struct nb_buffer *out)
{
    const char *end = text.bytes + text.length;
    bool goes_on = false; /* the line before ended with a blank */
    size_t depth = 0;     /* quoting depth of the line before */
    if (text.length == 0)
        return 0;
    if (nb_buffer_reserve(out, text.length) != 0)
        return NB_NO_MEMORY;
    size_t began = out->length;
    for (const char *line = text.bytes, *next; line < end; line = next) {
        next = nb_lines_next(line, end);
        struct nb_string whole = {line, (size_t)(next - line)};
        struct nb_string rest = nb_string_trim_start(whole, ">");
        size_t quotes = whole.length - rest.length;
        if (rest.length > 0 && rest.bytes[0] == ' ') /* space-stuffing (4.4) */
            rest = nb_string_from(rest, 1);
        struct nb_string words = nb_string_trim_end(rest, "\r\n");
        bool is_signature = words.length == 3 && memcmp(words.bytes, "-- ", 3) == 0;
        bool is_joined = goes_on && quotes == depth && !is_signature;
        goes_on = !is_signature && words.length > 0 && words.bytes[words.length - 1] == ' ';
        if (goes_on && words.length < rest.length)
            rest = (struct nb_string){words.bytes, words.length - 1};
        size_t length = out->length;
        if (!is_joined && length > began && out->bytes[length - 1] != '\n')
            out->bytes[out->length++] = '\n'; /* the pending line end of the line before */
        if (!is_joined) {
            memcpy(out->bytes + out->length, line, quotes);
            out->length += quotes;
        }
        memcpy(out->bytes + out->length, rest.bytes, rest.length);
        out->length += rest.length;
        depth = quotes;
    }
    assert(out->length <= out->capacity);
    return 0;
}

enum {
    GROUPS = 64,       /* groups with their own settings; deeper ones share the last settings */
    FONTS = 64,        /* fonts whose charsets are kept */
    WORD = 32,         /* letters of a control word */
    PARAMETER = 10,    /* digits of a parameter */
    CODEPAGE = 1252,   /* code page of a document that names none */
    MOST_UNICODE = 255 /* fallback characters behind a \u */
};

/* Settings that end with their group. */
struct group {
    unsigned skip; /* fallback characters after a \u (\uc) */
    unsigned codepage;
    bool is_hidden;
};

struct rtf {
    const char *at;
    const char *end;
    struct nb_buffer *out;
    struct nb_charset_state *charset;
    struct nb_buffer bytes; /* owned: text in the current code page, not yet converted */
    bool is_lead;           /* the last of these bytes begins a character of two bytes */
    struct group groups[GROUPS];
    size_t depth;      /* number of open groups */
    size_t left_out;   /* depth of the outermost skipped group; 0: none is skipped */
    size_t link;       /* depth of a field's instruction, such as HYPERLINK; 0: outside of one */
    bool is_quoted;    /* inside the quoted target of the instruction */
    bool is_star;      /* after "\*": the next destination is skipped if it is unknown */
    unsigned document; /* code page of the document */
    unsigned fonts[FONTS];
    unsigned font;  /* the current font */
    unsigned skip;  /* fallback characters still to skip */
    unsigned first; /* first half of a surrogate pair */
};

static struct group *group_of(struct rtf *r)
{
    return &r->groups[r->depth < GROUPS ? r->depth : GROUPS - 1];
}

static bool is_shown(struct rtf *r)
{
    return r->left_out == 0 && !group_of(r)->is_hidden && (r->link == 0 || r->is_quoted);
}

/* ---- characters ------------------------------------------------------------------------------ */

/* Converts the pending bytes. */
static int flush(struct rtf *r)
{
    char name[NB_CHARSET_NAME];
    size_t length = r->bytes.length;
    r->is_lead = false;
    if (length == 0)
        return 0;
    (void)snprintf(name, sizeof name, "cp%u", group_of(r)->codepage);
    int rc = nb_charset_to_utf8(r->charset, nb_string_of(name), r->bytes.bytes, length,
                                4 * length + 16, r->out, NULL);
    if (rc == NB_UNSUPPORTED || rc == NB_TOO_LARGE)
        rc = nb_buffer_append(r->out, r->bytes.bytes, length);
    r->bytes.length = 0;
    return rc;
}

static bool has_pairs(unsigned codepage)
{
    return codepage == 932 || codepage == 936 || codepage == 949 || codepage == 950;
}

/* Takes one byte of text. Bytes above 0x7F are collected until their run is complete. */
static int take_byte(struct rtf *r, char c)
{
    if (r->skip > 0) {
        r->skip--;
        return 0;
    }
    if (r->link > 0 && c == '"') {
        r->is_quoted = !r->is_quoted;
        c = ' ';
        if (r->left_out > 0)
            return 0;
        return nb_buffer_append(r->out, &c, 1);
    }
    r->first = 0;
    if (!is_shown(r))
        return 0;
    if ((unsigned char)c >= 0x80 || r->is_lead) {
        bool is_second = r->is_lead || (unsigned char)c < 0x80;
        r->is_lead = !is_second && has_pairs(group_of(r)->codepage);
        return nb_buffer_append(&r->bytes, &c, 1);
    }
    int rc = flush(r);
    return rc == 0 ? nb_buffer_append(r->out, &c, 1) : rc;
}

/* Appends a character; if it is half of a surrogate pair, appends the pair after the second half.
 */
static int take_unicode(struct rtf *r, unsigned code)
{
    unsigned char text[NB_UTF8_MOST];
    unsigned first = r->first;
    int rc = flush(r);
    r->first = 0;
    if (rc != 0 || !is_shown(r))
        return rc;
    if (code >= 0xD800 && code < 0xDC00) {
        r->first = code;
        return 0;
    }
    if (code >= 0xDC00 && code < 0xE000)
        code = first != 0 ? 0x10000 + ((first - 0xD800) << 10) + (code - 0xDC00) : 0xFFFD;
    return nb_buffer_append(r->out, text, nb_utf8_encode(code, text));
}

static int take_text(struct rtf *r, const char *text)
{
    int rc = flush(r);
    return rc == 0 && is_shown(r) ? nb_buffer_puts(r->out, text) : rc;
}

/* ---- control words --------------------------------------------------------------------------- */

struct control {
    struct nb_string word;
    bool has_number;
    long number;
};

static bool is_of(struct nb_string word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (nb_string_equals(word, *list))
            return true;
    }
    return false;
}

/* Returns the code page for a font's charset; 0: that of the document. */
static unsigned codepage_of(long charset)
{
    static const struct {
        unsigned char charset;
        unsigned short codepage;
    } known[] = {{128, 932},  {129, 949},  {134, 936},  {136, 950},  {161, 1253},
                 {162, 1254}, {163, 1258}, {177, 1255}, {178, 1256}, {186, 1257},
                 {204, 1251}, {222, 874},  {238, 1250}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].charset == charset)
            return known[i].codepage;
    }
    return 0;
}

/* Returns the text of a control word that stands for text; NULL for all others. */
static const char *text_of(struct nb_string word)
{
    static const char *const texts[][2] = {
        {"par", "\n"},        {"line", "\n"},          {"sect", "\n"},         {"page", "\n"},
        {"row", "\n"},        {"nestrow", "\n"},       {"tab", "\t"},          {"cell", "\t"},
        {"nestcell", "\t"},   {"emspace", " "},        {"enspace", " "},       {"qmspace", " "},
        {"emdash", "\u2014"}, {"endash", "\u2013"},    {"bullet", "\u2022"},   {"lquote", "\u2018"},
        {"rquote", "\u2019"}, {"ldblquote", "\u201c"}, {"rdblquote", "\u201d"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (nb_string_equals(word, texts[i][0]))
            return texts[i][1];
    }
    return NULL;
}

static void leave_out(struct rtf *r)
{
    if (r->left_out == 0 && r->depth > 0)
        r->left_out = r->depth;
}

/* Takes a control word that begins a destination. Returns whether it is one. */
static bool take_destination(struct rtf *r, struct nb_string word)
{
    static const char *const left_out[] = {"fonttbl", "colortbl", "stylesheet", "info",
                                           "pict",    "objdata",  "filetbl",    "listtable",
                                           "revtbl",  "xmlnstbl", NULL};
    bool is_star = r->is_star;
    r->is_star = false;
    if (nb_string_equals(word, "fldinst")) {
        r->link = r->depth;
        r->is_quoted = false;
    } else if (is_star || is_of(word, left_out)) {
        leave_out(r);
    } else {
        return false;
    }
    return true;
}

static void take_font(struct rtf *r, long number)
{
    r->font = number >= 0 && number < FONTS ? (unsigned)number : 0;
    unsigned codepage = r->fonts[r->font];
    group_of(r)->codepage = codepage != 0 ? codepage : r->document;
}

/* Takes a control word that changes a setting. */
static void take_setting(struct rtf *r, const struct control *c)
{
    struct group *group = group_of(r);
    if (nb_string_equals(c->word, "ansicpg") && c->number > 0 && c->number < 65536) {
        r->document = group->codepage = (unsigned)c->number;
    } else if (nb_string_equals(c->word, "f")) {
        take_font(r, c->number);
    } else if (nb_string_equals(c->word, "fcharset")) {
        r->fonts[r->font] = codepage_of(c->number);
    } else if (nb_string_equals(c->word, "uc")) {
        group->skip = c->number >= 0 && c->number < MOST_UNICODE ? (unsigned)c->number : 1;
    } else if (nb_string_equals(c->word, "v")) {
        group->is_hidden = !c->has_number || c->number != 0;
    } else if (nb_string_equals(c->word, "plain")) {
        group->is_hidden = false;
    } else if (nb_string_equals(c->word, "bin") && c->number > 0) {
        size_t left = (size_t)(r->end - r->at);
        r->at += (size_t)c->number < left ? (size_t)c->number : left;
    }
}

static int take_control(struct rtf *r, const struct control *c)
{
    const char *text = text_of(c->word);
    if (take_destination(r, c->word))
        return 0;
    if (r->skip > 0 && text != NULL) {
        r->skip--;
        return 0;
    }
    if (text != NULL)
        return take_text(r, text);
    if (nb_string_equals(c->word, "u") && c->has_number) {
        long code = c->number < 0 ? c->number + 65536 : c->number;
        r->skip = 0;
        int rc = take_unicode(r, code >= 0 && code <= 0xFFFF ? (unsigned)code : 0xFFFD);
        r->skip = group_of(r)->skip;
        return rc;
    }
    int rc = flush(r); /* a setting may change the code page */
    take_setting(r, c);
    return rc;
}

/* Reads the word behind a backslash, its number, and the blank that ends it. */
static struct control read_control(struct rtf *r)
{
    struct control c = {.word = {r->at, 0}};
    while (r->at < r->end && nb_ascii_is_letter(*r->at) && c.word.length < WORD) {
        r->at++;
        c.word.length++;
    }
    bool is_negative = r->at < r->end && *r->at == '-';
    r->at += is_negative;
    for (size_t i = 0; i < PARAMETER && r->at < r->end && nb_ascii_is_digit(*r->at); i++) {
        c.has_number = true;
        c.number = c.number * 10 + (*r->at++ - '0');
    }
    if (is_negative)
        c.number = -c.number;
    r->at += r->at < r->end && *r->at == ' ';
    return c;
}

/* Reads the rest of an escape after the backslash. */
static int take_escape(struct rtf *r)
{
    if (r->at == r->end)
        return 0;
    if (nb_ascii_is_letter(*r->at)) {
        struct control control = read_control(r);
        return take_control(r, &control);
    }
    char c = *r->at++;
    if (c == '\'') {
        if (r->end - r->at < 2 || nb_hex_digit(r->at[0]) < 0 || nb_hex_digit(r->at[1]) < 0)
            return 0;
        char byte = (char)(nb_hex_digit(r->at[0]) << 4 | nb_hex_digit(r->at[1]));
        r->at += 2;
        return take_byte(r, byte);
    }
    if (c == '*')
        r->is_star = true;
    else if (c == '\\' || c == '{' || c == '}')
        return take_byte(r, c);
    else if (c == '~')
        return take_byte(r, ' ');
    else if (c == '_')
        return take_byte(r, '-');
    else if (c == '\n' || c == '\r')
        return take_byte(r, '\n');
    return 0; /* others, such as "\-", a possible hyphenation, stand for no text */
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int open_group(struct rtf *r)
{
    int rc = flush(r);
    const struct group around = *group_of(r);
    r->depth++;
    r->skip = 0;
    r->is_star = false;
    *group_of(r) = around;
    return rc;
}

static int close_group(struct rtf *r)
{
    int rc = flush(r);
    r->skip = 0;
    r->is_star = false;
    if (r->depth == 0)
        return rc;
    r->left_out = r->left_out == r->depth ? 0 : r->left_out;
    if (r->link == r->depth)
        r->link = 0;
    r->depth--;
    return rc;
}

static int take(struct rtf *r)
{
    char c = *r->at++;
    switch (c) {
    case '{':
        return open_group(r);
    case '}':
        return close_group(r);
    case '\\':
        return take_escape(r);
    case '\r':
    case '\n':
        return 0;
    default:
        return take_byte(r, c);
    }
}

bool nb_rtf_sniff(struct nb_string text)
{
    return nb_string_starts(nb_string_trim_start(text, " \t\r\n"), "{\\rtf");
}

int nb_rtf_to_text(struct nb_charset_state *charset, struct nb_string rtf, struct nb_buffer *out)
{
    struct rtf *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NB_NO_MEMORY;
    r->at = rtf.bytes;
    r->end = rtf.bytes + rtf.length;
    r->out = out;
    r->charset = charset;
    r->document = CODEPAGE;
    r->groups[0] = (struct group){.skip = 1, .codepage = CODEPAGE};
    int rc = 0;
    while (rc == 0 && r->at < r->end)
        rc = take(r);
    if (rc == 0)
        rc = flush(r);
    nb_buffer_deinit(&r->bytes);
    free(r);
    return rc;
}
