/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html_sheet.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/string.h"
#include "tokenizer/html.h"
#include "tokenizer/html_length.h"

/* Widths of screens, in thousandths of a pixel. */
enum { NARROWEST = 280 * 1000, WIDEST = 2560 * 1000 };

static enum nb_html_media lesser(enum nb_html_media a, enum nb_html_media b)
{
    return a < b ? a : b;
}

/* Reads a feature, the text in parentheses: "max-width: 600px". */
static enum nb_html_media read_feature(struct nb_string feature)
{
    int32_t width;
    struct nb_string name = nb_html_take(&feature, ':');
    bool is_least = nb_string_equals_nocase(name, "min-width") ||
                    nb_string_equals_nocase(name, "min-device-width");
    bool is_most = nb_string_equals_nocase(name, "max-width") ||
                   nb_string_equals_nocase(name, "max-device-width");
    if ((!is_least && !is_most) || !nb_html_pixels(nb_string_trim(feature), &width))
        return NB_HTML_MEDIA_SOMETIMES;
    if (is_least ? width <= NARROWEST : width >= WIDEST)
        return NB_HTML_MEDIA_ALWAYS;
    return (is_least ? width > WIDEST : width < NARROWEST) ? NB_HTML_MEDIA_NEVER
                                                           : NB_HTML_MEDIA_SOMETIMES;
}

/* Takes the word at the beginning of a query, and the blanks after it. */
static struct nb_string take_name(struct nb_string *query)
{
    size_t length = 0;
    while (length < query->length &&
           (nb_ascii_is_letter(query->bytes[length]) || query->bytes[length] == '-'))
        length++;
    struct nb_string name = {query->bytes, length};
    *query = nb_string_trim(nb_string_from(*query, length));
    return name;
}

static bool is_screen(struct nb_string type)
{
    return type.length == 0 || nb_string_equals_nocase(type, "all") ||
           nb_string_equals_nocase(type, "screen") || nb_string_equals_nocase(type, "handheld") ||
           nb_string_equals_nocase(type, "and");
}

/* Reads one query of a list: "only screen and (max-width: 600px)". */
static enum nb_html_media read_query(struct nb_string query)
{
    enum nb_html_media media = NB_HTML_MEDIA_ALWAYS;
    struct nb_string type = take_name(&query);
    bool is_not = nb_string_equals_nocase(type, "not");
    if (is_not || nb_string_equals_nocase(type, "only"))
        type = take_name(&query);
    if (is_not)
        return is_screen(type) || query.length > 0 ? NB_HTML_MEDIA_SOMETIMES : NB_HTML_MEDIA_ALWAYS;
    if (!is_screen(type))
        return NB_HTML_MEDIA_NEVER;
    while (query.length > 0) {
        (void)nb_html_take(&query, '('); /* skips "and" */
        if (query.length > 0)
            media = lesser(media, read_feature(nb_html_take(&query, ')')));
    }
    return media;
}

enum nb_html_media nb_html_media(struct nb_string query)
{
    enum nb_html_media media = NB_HTML_MEDIA_NEVER;
    query = nb_string_trim(query);
    if (query.length == 0)
        return NB_HTML_MEDIA_ALWAYS;
    while (query.length > 0) {
        enum nb_html_media one = read_query(nb_html_take(&query, ','));
        media = one > media ? one : media;
    }
    return media;
}

enum { DEPTH = 8 /* nested rules like @media; deeper ones are left out */ };

/* The state of reading a sheet. */
struct reader {
    struct nb_html_rules *rules;
    const char *at, *end;
    enum nb_html_media media[DEPTH + 1]; /* media of the enclosing blocks */
    size_t depth;
};

static struct nb_string between(const char *from, const char *to)
{
    return (struct nb_string){from, (size_t)(to - from)};
}

/* ---- selectors ------------------------------------------------------------------------------- */

static bool ends_name(char c)
{
    return nb_html_is_space(c) || strchr(".#:[]>+~,*=\"'()|^$", c) != NULL;
}

static struct nb_string take_selector_name(struct nb_string *s)
{
    size_t length = 0;
    while (length < s->length && !ends_name(s->bytes[length]))
        length++;
    struct nb_string name = {s->bytes, length};
    *s = nb_string_from(*s, length);
    return name;
}

/* Adds a name to a compound selector; returns false if the selector has no room for it. */
static bool put_name(struct nb_html_selector *selector, char kind, struct nb_string name)
{
    struct nb_string *place = kind == '#'                        ? &selector->id
                              : selector->classes[0].length == 0 ? &selector->classes[0]
                                                                 : &selector->classes[1];
    if (place->length > 0 || name.length == 0)
        return false;
    *place = name;
    return true;
}

/* Takes "[class=x]" after its '['. Returns false for another attribute. */
static bool take_attribute(struct nb_html_selector *selector, struct nb_string *s)
{
    struct nb_string inside = nb_html_take(s, ']');
    struct nb_string name = nb_html_take(&inside, '=');
    name = nb_string_trim_end(name, " \t\r\n~");
    bool is_class = nb_string_equals_nocase(name, "class");
    if (!is_class && !nb_string_equals_nocase(name, "id"))
        return false;
    inside = nb_string_trim_start(nb_string_trim_end(nb_string_trim(inside), "\"'"), "\"'");
    struct nb_string value = take_selector_name(&inside);
    return inside.length == 0 && put_name(selector, is_class ? '.' : '#', value);
}

/* Takes a compound selector, "td.x#y". Stops and returns false at unknown syntax. */
static bool take_compound(struct nb_html_selector *selector, struct nb_string *s)
{
    memset(selector, 0, sizeof *selector);
    if (s->length > 0 && s->bytes[0] == '*')
        *s = nb_string_from(*s, 1);
    else
        selector->element = take_selector_name(s);
    while (s->length > 0 && nb_string_is_one_of(s->bytes[0], ".#[")) {
        char kind = s->bytes[0];
        *s = nb_string_from(*s, 1);
        if (kind == '[' ? !take_attribute(selector, s)
                        : !put_name(selector, kind, take_selector_name(s)))
            return false;
    }
    return s->length == 0 || nb_html_is_space(s->bytes[0]) ||
           nb_string_is_one_of(s->bytes[0], ">+~");
}

static bool is_around_all(const struct nb_html_selector *s)
{
    return s->id.length == 0 && s->classes[0].length == 0 &&
           (s->element.length == 0 || nb_string_equals_nocase(s->element, "html") ||
            nb_string_equals_nocase(s->element, "body"));
}

/* Reads the last compound of a selector. Returns the kind of the rules: NORMAL if the selector has
 * no other condition. Sets *is_known to false if the compound could not be read. */
static enum nb_html_rule read_selector(struct nb_string s, struct nb_html_selector *selector,
                                       bool *is_known)
{
    enum nb_html_rule kind = NB_HTML_RULE_NORMAL;
    s = nb_string_trim(s);
    *is_known = s.length > 0;
    while (s.length > 0) {
        *is_known = take_compound(selector, &s);
        if (!*is_known && s.length > 0 && s.bytes[0] == ':') { /* only in some states, as :hover */
            kind = NB_HTML_RULE_MAYBE;
            while (s.length > 0 && !nb_html_is_space(s.bytes[0]))
                s = nb_string_from(s, 1);
            *is_known = true;
        }
        if (!*is_known)
            return kind;
        s = nb_string_trim_start(s, " \t\r\n\f");
        bool is_sibling = s.length > 0 && nb_string_is_one_of(s.bytes[0], "+~");
        s = nb_string_trim_start(s, " \t\r\n\f>+~");
        if (s.length > 0 && (is_sibling || !is_around_all(selector)))
            kind = NB_HTML_RULE_MAYBE;
    }
    if (selector->element.length == 0 && is_around_all(selector)) /* '*': the style is inherited */
        selector->element = nb_string_of("body");
    return kind;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Returns the colour properties among `bits`. */
static uint32_t colours(uint32_t bits)
{
    return bits & (nb_html_bit(NB_HTML_COLOR) | nb_html_bit(NB_HTML_BACKGROUND));
}

static int add_rule(struct reader *r, struct nb_string selector_text,
                    const struct nb_html_declared *all, const struct nb_html_declared *important)
{
    struct nb_html_selector selector = {0};
    bool is_known;
    enum nb_html_rule kind = read_selector(selector_text, &selector, &is_known);
    if (!is_known)
        return 0;
    if (r->media[r->depth] == NB_HTML_MEDIA_SOMETIMES)
        return kind == NB_HTML_RULE_NORMAL
                   ? nb_html_rules_add(r->rules, &selector, NB_HTML_RULE_SHOWS, all)
                   : 0;
    if (kind == NB_HTML_RULE_MAYBE) {
        struct nb_html_declared maybe = *all;
        maybe.set = colours(maybe.set);
        maybe.hides = 0;
        return maybe.set != 0 ? nb_html_rules_add(r->rules, &selector, kind, &maybe) : 0;
    }
    int rc = nb_html_rules_add(r->rules, &selector, kind, all);
    return rc != 0 || important->set == 0
               ? rc
               : nb_html_rules_add(r->rules, &selector, NB_HTML_RULE_IMPORTANT, important);
}

static int add_rules(struct reader *r, struct nb_string selectors, struct nb_string block)
{
    struct nb_html_declared all = {0}, important = {0};
    int rc = 0;
    bool is_important = nb_html_declare(&all, block, NB_HTML_ALL);
    if (all.set == 0)
        return 0;
    if (is_important)
        (void)nb_html_declare(&important, block, NB_HTML_IMPORTANT);
    while (rc == 0 && selectors.length > 0)
        rc = add_rule(r, nb_html_take(&selectors, ','), &all, &important);
    return rc;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Returns the first of the characters `marks` outside of strings, from `at` on; `end` if there is
 * none. */
static const char *find_mark(const char *at, const char *end, const char *marks)
{
    while (at < end && !nb_string_is_one_of(*at, marks)) {
        char quote = *at++;
        if (quote != '"' && quote != '\'')
            continue;
        while (at < end && *at != quote && *at != '\n') /* a string ends with its line */
            at++;
        at += at < end;
    }
    return at;
}

/* Skips a block with its nested blocks. `at` is after its '{'. */
static const char *skip_block(const char *at, const char *end)
{
    for (size_t depth = 1; depth > 0 && at < end;) {
        at = find_mark(at, end, "{}");
        if (at < end)
            depth = *at++ == '{' ? depth + 1 : depth - 1;
    }
    return at;
}

/* Takes a rule that begins with '@'; enters it if it contains rules. */
static void take_at_rule(struct reader *r)
{
    const char *from = r->at;
    const char *mark = find_mark(from, r->end, "{;}");
    struct nb_string prelude = between(from, mark);
    r->at = mark + (mark < r->end && *mark != '}');
    if (mark == r->end || *mark != '{')
        return;
    bool is_media = nb_string_starts_nocase(prelude, "@media");
    bool holds_rules = is_media || nb_string_starts_nocase(prelude, "@supports") ||
                       nb_string_starts_nocase(prelude, "@layer");
    enum nb_html_media media =
        is_media ? nb_html_media(nb_string_from(prelude, strlen("@media"))) : NB_HTML_MEDIA_ALWAYS;
    enum nb_html_media outer = r->media[r->depth];
    media = media < outer ? media : outer;
    if (!holds_rules || media == NB_HTML_MEDIA_NEVER || r->depth == DEPTH) {
        r->at = skip_block(r->at, r->end);
        return;
    }
    r->media[++r->depth] = media;
}

static int take_rule(struct reader *r)
{
    const char *from = r->at;
    const char *open = find_mark(from, r->end, "{}");
    if (open == r->end || *open == '}') {
        r->at = open;
        return 0;
    }
    const char *close = find_mark(open + 1, r->end, "}");
    r->at = close + (close < r->end);
    return add_rules(r, between(from, open), between(open + 1, close));
}

/* Skips "<!--" and "-->", which hide old sheets from even older browsers. */
static bool skip_mark(struct reader *r)
{
    static const char *const marks[] = {"<!--", "-->", "<![CDATA[", "]]>"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (!nb_string_starts(between(r->at, r->end), marks[i]))
            continue;
        r->at += strlen(marks[i]);
        return true;
    }
    return false;
}

static int read_rules(struct reader *r)
{
    int rc = 0;
    while (rc == 0 && r->at < r->end) {
        if (nb_html_is_space(*r->at) || *r->at == ';') {
            r->at++;
        } else if (*r->at == '}') {
            r->at++;
            r->depth -= r->depth > 0;
        } else if (*r->at == '@') {
            take_at_rule(r);
        } else if (!skip_mark(r)) {
            rc = take_rule(r);
        }
    }
    return rc;
}

/* Returns the first place of two bytes; `end` if there is none. memmem is not used: under
 * sanitizers each call takes time proportional to the whole rest. */
static const char *find_two(const char *at, const char *end, const char two[2])
{
    while (end - at >= 2 && (at = memchr(at, two[0], (size_t)(end - at) - 1)) != NULL) {
        if (at[1] == two[1])
            return at;
        at++;
    }
    return end;
}

/* Copies a sheet without its comments. */
static int strip_comments(struct nb_string css, struct nb_buffer *out)
{
    const char *at = css.bytes, *end = css.bytes + css.length;
    int rc = nb_buffer_reserve(out, css.length);
    while (rc == 0 && at < end) {
        const char *comment = find_two(at, end, "/*");
        rc = nb_buffer_append(out, at, (size_t)(comment - at));
        at = comment;
        if (at == end)
            break;
        at = find_two(end - at > 2 ? at + 2 : end, end, "*/");
        at += at < end ? 2 : 0;
        if (rc == 0)
            rc = nb_buffer_append(out, " ", 1);
    }
    return rc;
}

int nb_html_sheet_read(struct nb_html_rules *rules, struct nb_string css, enum nb_html_media media)
{
    struct nb_buffer stripped = {0};
    int rc = 0;
    if (media == NB_HTML_MEDIA_NEVER || css.length == 0)
        return 0;
    const char *end = css.bytes + css.length;
    if (find_two(css.bytes, end, "/*") != end) {
        rc = strip_comments(css, &stripped);
        css = nb_buffer_string(&stripped);
    }
    struct reader r = {
        .rules = rules, .at = css.bytes, .end = css.bytes + css.length, .media = {media}};
    if (rc == 0)
        rc = read_rules(&r);
    nb_buffer_deinit(&stripped);
    return rc;
}
