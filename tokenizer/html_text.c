/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html_text.h"

#include <stdint.h>
#include <string.h>

#include "core/base/platform/byte_order.h"
#include "tokenizer/html_sheet.h"
#include "tokenizer/html_style.h"

enum {
    NAME_ROOM = 16, /* name of an element in the table, padded with zeros */
    SNIFF_BYTES = 1024,
    RULES_DEPTH = 65536 /* nested styled elements; rules do not apply to deeper ones, which would
                           take more memory than the HTML */
};

struct walk {
    struct nb_html_text *out;
    struct nb_html_style style;
    bool visible;
    bool is_again;            /* this is the second pass */
    bool has_begun;           /* an element to which rules could apply was seen */
    bool is_late;             /* rules came after it: stop writing, and read the document again */
    enum nb_html_media media; /* media of the last <style> */
    struct nb_html_rules *rules;
    struct nb_html_open open;
};

/* Kinds of elements. Elements without a kind, such as unknown ones, are inline, as in browsers. */
enum {
    LEADING = 1,     /* stands before all visible content */
    SEPARATING = 2,  /* separates the text around it */
    EMPTY = 4,       /* has no end tag */
    SELF_ENDING = 8, /* has an optional end tag: the next one of the same name ends it */
    ITEM = 16,       /* self-ending, but only within the same list */
    LIST = 32,
    TABLE = 64,
    PICTURE = 128, /* its alternative text stands for it */
    STYLE = 256
};

/* clang-format off */
/* Sorted. */
static const struct element {
    char name[NAME_ROOM];
    unsigned kinds;
} elements[] = {
    {"address", SEPARATING}, {"area", EMPTY | PICTURE}, {"article", SEPARATING},
    {"aside", SEPARATING}, {"audio", SEPARATING}, {"base", LEADING | EMPTY},
    {"blockquote", SEPARATING}, {"body", SEPARATING}, {"br", SEPARATING | EMPTY},
    {"button", SEPARATING}, {"canvas", SEPARATING}, {"caption", SEPARATING}, {"center", SEPARATING},
    {"col", SEPARATING | EMPTY}, {"colgroup", SEPARATING}, {"dd", SEPARATING | SELF_ENDING | ITEM},
    {"details", SEPARATING}, {"dialog", SEPARATING}, {"dir", SEPARATING | LIST},
    {"div", SEPARATING}, {"dl", SEPARATING | LIST}, {"dt", SEPARATING | SELF_ENDING | ITEM},
    {"embed", SEPARATING | EMPTY}, {"fieldset", SEPARATING}, {"figcaption", SEPARATING},
    {"figure", SEPARATING}, {"footer", SEPARATING}, {"form", SEPARATING},
    {"frame", SEPARATING | EMPTY}, {"frameset", SEPARATING}, {"h1", SEPARATING}, {"h2", SEPARATING},
    {"h3", SEPARATING}, {"h4", SEPARATING}, {"h5", SEPARATING}, {"h6", SEPARATING},
    {"head", LEADING | SEPARATING}, {"header", SEPARATING}, {"hr", SEPARATING | EMPTY},
    {"html", LEADING | SEPARATING}, {"iframe", SEPARATING}, {"img", SEPARATING | EMPTY | PICTURE},
    {"input", SEPARATING | EMPTY}, {"isindex", SEPARATING}, {"label", SEPARATING},
    {"legend", SEPARATING}, {"li", SEPARATING | SELF_ENDING | ITEM},
    {"link", LEADING | SEPARATING | EMPTY}, {"listing", SEPARATING}, {"main", SEPARATING},
    {"map", SEPARATING}, {"marquee", SEPARATING}, {"menu", SEPARATING | LIST},
    {"meta", LEADING | SEPARATING | EMPTY}, {"nav", SEPARATING}, {"noframes", SEPARATING},
    {"noscript", SEPARATING}, {"object", SEPARATING}, {"ol", SEPARATING | LIST},
    {"optgroup", SEPARATING}, {"option", SEPARATING | SELF_ENDING | ITEM},
    {"p", SEPARATING | SELF_ENDING}, {"param", EMPTY}, {"plaintext", SEPARATING},
    {"pre", SEPARATING}, {"script", LEADING | SEPARATING}, {"section", SEPARATING},
    {"select", SEPARATING | LIST}, {"style", LEADING | SEPARATING | STYLE}, {"summary", SEPARATING},
    {"svg", SEPARATING}, {"table", SEPARATING | TABLE}, {"tbody", SEPARATING},
    {"td", SEPARATING | SELF_ENDING}, {"template", SEPARATING}, {"textarea", SEPARATING},
    {"tfoot", SEPARATING}, {"th", SEPARATING | SELF_ENDING}, {"thead", SEPARATING},
    {"title", LEADING | SEPARATING}, {"tr", SEPARATING | SELF_ENDING}, {"ul", SEPARATING | LIST},
    {"video", SEPARATING}, {"wbr", EMPTY}, {"xmp", SEPARATING},
};
/* clang-format on */

/* Returns eight bytes of a name in lower case, padded with zeros, as a number that sorts like them.
 * It is built in a register, because bytes that were just stored cannot be loaded as one number
 * without a wait. */
static uint64_t rank_at(struct nb_string name, size_t from)
{
    uint64_t rank = 0;
    size_t count = 0;
    for (; count < sizeof rank && from + count < name.length; count++)
        rank = rank << 8 | (unsigned char)name.bytes[from + count];
    if (count == 0)
        return 0;
    rank <<= 8 * (sizeof rank - count);
    /* Non-letters never become letters or digits. */
    return rank | (rank & UINT64_C(0x4040404040404040)) >> 1;
}

/* Like rank_at, for a name in the table. All names of the table differ in their first eight
 * bytes. */
static uint64_t rank_of(const char bytes[sizeof(uint64_t)])
{
    uint64_t rank;
    memcpy(&rank, bytes, sizeof rank);
    return be64toh(rank);
}

/* Returns the kinds of the element of a tag. The binary search has no branch that depends on the
 * name, because a page has thousands of names. */
static unsigned kinds_of(struct nb_string name)
{
    const struct element *at = elements;
    uint64_t rank = rank_at(name, 0);
    for (size_t count = sizeof elements / sizeof *elements; count > 1;) {
        size_t half = count / 2;
        at += rank_of(at[half].name) <= rank ? half : 0;
        count -= half;
    }
    bool is_same =
        rank_of(at->name) == rank && rank_of(at->name + sizeof rank) == rank_at(name, sizeof rank);
    return is_same ? at->kinds : 0;
}

static struct nb_buffer *current(struct walk *walk)
{
    return walk->visible ? &walk->out->visible : &walk->out->hidden;
}

/* The characters by which UAX #9 shows text from right to left (text/character.h). The end of a
 * line ends the override. */
static const char right_to_left[] = "\xE2\x80\xAE", ended[] = "\xE2\x80\xAC";
enum { MARK_BYTES = sizeof right_to_left - 1 };

static bool ends_with_mark(const struct nb_buffer *buffer)
{
    return buffer->length >= MARK_BYTES &&
           memcmp(buffer->bytes + buffer->length - MARK_BYTES, right_to_left, MARK_BYTES) == 0;
}

static int separate_in(const struct walk *walk, struct nb_buffer *buffer)
{
    if (buffer->length == 0 || buffer->bytes[buffer->length - 1] == '\n' ||
        (walk->style.reversed && ends_with_mark(buffer)))
        return 0;
    int rc = nb_buffer_append(buffer, "\n", 1);
    return rc != 0 || !walk->style.reversed ? rc
                                            : nb_buffer_append(buffer, right_to_left, MARK_BYTES);
}

static int separate(struct walk *walk)
{
    return separate_in(walk, current(walk));
}

static int set_style(struct walk *walk, struct nb_html_style style)
{
    bool was_visible = walk->visible;
    bool turns = style.reversed != walk->style.reversed;
    walk->style = style;
    walk->visible = nb_html_style_visible(&style);
    /* Each hidden place is a separate text. But the visible text on both sides of it may be one
     * word. */
    int rc = was_visible && !walk->visible ? separate_in(walk, &walk->out->hidden) : 0;
    if (rc == 0 && turns)
        rc = nb_buffer_append(current(walk), style.reversed ? right_to_left : ended, MARK_BYTES);
    return rc;
}

static struct nb_html_name name_of(unsigned kinds, struct nb_string name)
{
    return (struct nb_html_name){name, (kinds & TABLE) != 0  ? NB_HTML_TABLE
                                       : (kinds & LIST) != 0 ? NB_HTML_LIST
                                       : (kinds & ITEM) != 0 ? NB_HTML_ITEM
                                                             : NB_HTML_ANY};
}

static int close_element(struct walk *walk, const struct nb_html_name *name)
{
    struct nb_html_style outer;
    return nb_html_open_close(&walk->open, name, &outer) ? set_style(walk, outer) : 0;
}

static int open_element(struct walk *walk, unsigned kinds, const struct nb_html_token *tag)
{
    struct nb_html_name name = name_of(kinds, tag->name);
    bool ends = (kinds & SELF_ENDING) != 0 && walk->open.depth > 0;
    int rc = ends ? close_element(walk, &name) : 0;
    if (rc != 0)
        return rc;
    struct nb_html_style style = walk->style;
    const struct nb_html_rules *rules = walk->open.depth < RULES_DEPTH ? walk->rules : NULL;
    if (!nb_html_style_apply(&style, tag, rules))
        return nb_html_open_nest(&walk->open, &name, &walk->style);
    rc = nb_html_open_push(&walk->open, &name, &walk->style);
    return rc != 0 ? rc : set_style(walk, style);
}

static int write_text(struct walk *walk, const char *text, size_t length)
{
    return nb_html_decode(current(walk), text, length);
}

/* Writes the alternative text of an image in its place. */
static int write_attributes(struct walk *walk, const struct nb_html_token *tag)
{
    struct nb_html_attributes attributes = nb_html_attributes_of(tag);
    struct nb_html_attribute attribute;
    int rc = 0;
    while (rc == 0 && nb_html_attribute(&attributes, &attribute)) {
        struct nb_string name = attribute.name, value = attribute.value;
        if (value.length == 0 ||
            (!nb_string_equals_nocase(name, "alt") && !nb_string_equals_nocase(name, "title")))
            continue;
        rc = write_text(walk, value.bytes, value.length);
        if (rc == 0)
            rc = separate(walk);
    }
    return rc;
}

/* Returns the media of a <style>. */
static enum nb_html_media media_of(const struct nb_html_token *tag)
{
    struct nb_html_attributes attributes = nb_html_attributes_of(tag);
    struct nb_html_attribute attribute;
    while (nb_html_attribute(&attributes, &attribute)) {
        if (nb_string_equals_nocase(attribute.name, "media"))
            return nb_html_media(attribute.value);
    }
    return NB_HTML_MEDIA_ALWAYS;
}

/* Reads a style sheet, unless the first pass has read it. */
static int read_sheet(struct walk *walk, struct nb_string css)
{
    size_t count = walk->rules->count;
    int rc = walk->is_again ? 0 : nb_html_sheet_read(walk->rules, css, walk->media);
    walk->is_late = walk->is_late || (walk->has_begun && walk->rules->count > count);
    return rc;
}

/* Takes the first tag of visible content: all rules in the proper place came before it. */
static int begin(struct walk *walk)
{
    walk->has_begun = true;
    return walk->is_again ? 0 : nb_html_rules_sort(walk->rules);
}

static int start_tag(struct walk *walk, const struct nb_html_token *tag)
{
    unsigned kinds = kinds_of(tag->name);
    int rc = walk->has_begun || (kinds & LEADING) != 0 ? 0 : begin(walk);
    if ((kinds & STYLE) != 0)
        walk->media = media_of(tag);
    if (walk->is_late)
        return rc;
    bool separates = (kinds & SEPARATING) != 0;
    if (rc == 0 && separates)
        rc = separate(walk);
    if (rc == 0 && (kinds & EMPTY) == 0)
        rc = open_element(walk, kinds, tag);
    if (rc == 0 && separates)
        rc = separate(walk);
    if (rc == 0 && (kinds & PICTURE) != 0)
        rc = write_attributes(walk, tag);
    return rc;
}

static int end_tag(struct walk *walk, const struct nb_html_token *tag)
{
    if (walk->is_late)
        return 0;
    unsigned kinds = kinds_of(tag->name);
    bool separates = (kinds & SEPARATING) != 0;
    int rc = separates ? separate(walk) : 0;
    if (rc == 0 && walk->open.depth > 0) {
        struct nb_html_name closed = name_of(kinds, tag->name);
        rc = close_element(walk, &closed);
    }
    if (rc == 0 && separates)
        rc = separate(walk);
    return rc;
}

static int raw_text(struct walk *walk, const struct nb_html_token *token)
{
    if (nb_string_equals_nocase(token->name, "style"))
        return read_sheet(walk, token->text);
    if (nb_string_equals_nocase(token->name, "script") || walk->is_late)
        return 0;
    return write_text(walk, token->text.bytes, token->text.length);
}

static int take_token(struct walk *walk, const struct nb_html_token *token,
                      const struct nb_html_observer *observer)
{
    switch (token->kind) {
    case NB_HTML_TEXT:
        return walk->is_late ? 0 : write_text(walk, token->text.bytes, token->text.length);
    case NB_HTML_RAW:
        return raw_text(walk, token);
    case NB_HTML_END:
        return end_tag(walk, token);
    case NB_HTML_START: {
        int rc = observer != NULL ? observer->element(observer->user, token) : 0;
        return rc != 0 ? rc : start_tag(walk, token);
    }
    case NB_HTML_COMMENT:
    case NB_HTML_FINISHED:
        break;
    }
    return 0;
}

/* Reads the document once. Sets *is_late if a style sheet came after elements that it may apply to:
 * then the text must be read again. */
static int pass(struct nb_string html, const struct nb_html_observer *observer,
                struct nb_html_rules *rules, struct nb_html_text *out, bool is_again, bool *is_late)
{
    struct walk walk;
    walk.out = out;
    walk.style = nb_html_style_default();
    walk.visible = true;
    walk.is_again = is_again;
    walk.has_begun = walk.is_late = false;
    walk.media = NB_HTML_MEDIA_ALWAYS;
    walk.rules = rules;
    nb_html_open_init(&walk.open);
    struct nb_html_lexer lexer = nb_html_lexer_of(html.bytes, html.length);
    struct nb_html_token token;
    int rc = 0;
    while (rc == 0 && nb_html_next(&lexer, &token) != NB_HTML_FINISHED)
        rc = take_token(&walk, &token, observer);
    nb_html_open_deinit(&walk.open);
    *is_late = walk.is_late;
    return rc;
}

int nb_html_to_text(const char *html, size_t length, const struct nb_html_observer *observer,
                    struct nb_html_text *out)
{
    struct nb_string document = {html, length};
    struct nb_html_rules rules = {0};
    size_t visible = out->visible.length, hidden = out->hidden.length;
    bool is_late = false;
    /* Most text of most pages is visible, so one allocation is usually enough. */
    int rc = nb_buffer_reserve(&out->visible, length / 2);
    if (rc == 0)
        rc = pass(document, observer, &rules, out, false, &is_late);
    if (rc == 0 && is_late) {
        out->visible.length = visible;
        out->hidden.length = hidden;
        rc = nb_html_rules_sort(&rules);
        if (rc == 0)
            rc = pass(document, NULL, &rules, out, true, &is_late);
    }
    nb_html_rules_deinit(&rules);
    return rc;
}

void nb_html_text_deinit(struct nb_html_text *text)
{
    nb_buffer_deinit(&text->visible);
    nb_buffer_deinit(&text->hidden);
}

bool nb_html_sniff(const char *text, size_t length)
{
    struct nb_html_lexer lexer =
        nb_html_lexer_of(text, length < SNIFF_BYTES ? length : SNIFF_BYTES);
    struct nb_html_token token;
    while (nb_html_next(&lexer, &token) != NB_HTML_FINISHED) {
        if (token.kind == NB_HTML_START && (nb_string_equals_nocase(token.name, "html") ||
                                            nb_string_equals_nocase(token.name, "body")))
            return true;
        if (token.kind == NB_HTML_COMMENT && nb_string_starts_nocase(token.text, "!doctype htm"))
            return true;
    }
    return false;
}
