/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/manual.h"

#include <string.h>

#include "core/base/string.h"
#include "server/client/base/terminal.h"

/* The assembler includes the page as it is (.incbin), which gcc and clang both support. Paths are
 * relative to the top of the tree, where make runs. */
__asm__(".section .rodata\n"
        ".global nb_manual_begin\n"
        ".hidden nb_manual_begin\n"
        "nb_manual_begin:\n"
        ".incbin \"server/client/bayesc.1\"\n"
        ".global nb_manual_end\n"
        ".hidden nb_manual_end\n"
        "nb_manual_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char nb_manual_begin[] __attribute__((visibility("hidden")));
extern const char nb_manual_end[] __attribute__((visibility("hidden")));

enum { OPTION_COLUMN = 28, EXAMPLE_COLUMN = 2 };

enum block_kind { BLOCK_TEXT, BLOCK_EXAMPLE, BLOCK_OPTION };

struct block {
    enum block_kind kind;
    struct nb_manual_text tag; /* of an option: "-l, --label LABEL" */
    struct nb_manual_text body;
};

/* ---- the page -------------------------------------------------------------------------------- */

/* Returns the lines below the heading; empty if there is none. */
static struct nb_string section_of(const char *heading)
{
    struct nb_string page = {nb_manual_begin, (size_t)(nb_manual_end - nb_manual_begin)};
    char line[64];
    int length = snprintf(line, sizeof line, "%s\n", heading);
    const char *at = page.bytes, *end = page.bytes + page.length;
    for (; (at = memmem(at, (size_t)(end - at), line, (size_t)length)) != NULL; at += length) {
        bool is_heading = at - page.bytes > 5 && memcmp(at - 5, "\n.S", 3) == 0 && at[-1] == ' ';
        if (!is_heading)
            continue;
        const char *next = memmem(at, (size_t)(end - at), "\n.S", 3);
        return (struct nb_string){at + length,
                                  (size_t)((next != NULL ? next + 1 : end) - at) - (size_t)length};
    }
    return (struct nb_string){"", 0};
}

static struct nb_string take_line(struct nb_string *rest)
{
    const char *end = memchr(rest->bytes, '\n', rest->length);
    struct nb_string line = {rest->bytes, end != NULL ? (size_t)(end - rest->bytes) : rest->length};
    *rest = nb_string_from(*rest, line.length + (end != NULL));
    return line;
}

/* Appends a line without its fonts, after `before` if there is a text already: "\fB\-l\fR" is -l.
 */
static void put_line(struct nb_manual_text *text, const char *before, struct nb_string line)
{
    size_t length = strlen(text->text);
    for (const char *c = length > 0 ? before : ""; *c != '\0' && length + 1 < NB_MANUAL_TEXT; c++)
        text->text[length++] = *c;
    for (size_t i = 0; i < line.length && length + 1 < NB_MANUAL_TEXT; i++) {
        char c = line.bytes[i];
        char escaped = c == '\\' && i + 1 < line.length ? line.bytes[++i] : '\0';
        if (escaped == 'f')
            i++;
        else if (escaped == '(')
            i += 2;
        if (escaped != 'f' && escaped != '&')
            text->text[length++] = escaped == '(' ? '\'' : escaped != '\0' ? escaped : c;
    }
    text->text[length] = '\0';
}

static bool is_macro(struct nb_string line, const char *name)
{
    return line.length >= strlen(name) && memcmp(line.bytes, name, strlen(name)) == 0;
}

/* Takes the next paragraph, example or option. */
static bool next_block(struct nb_string *rest, struct block *block)
{
    *block = (struct block){.kind = BLOCK_TEXT};
    while (rest->length > 0) {
        struct nb_string before = *rest, line = take_line(rest);
        if (line.length > 0 && line.bytes[0] != '.') {
            put_line(&block->body, block->kind == BLOCK_EXAMPLE ? "\n" : " ", line);
        } else if (is_macro(line, ".B ")) {
            put_line(&block->body, " ", nb_string_from(line, 3));
        } else if (block->body.text[0] != '\0' && !is_macro(line, ".R")) {
            *rest = before;
            return true;
        } else if (is_macro(line, ".nf") || is_macro(line, ".EX")) {
            block->kind = BLOCK_EXAMPLE;
        } else if (is_macro(line, ".TP")) {
            block->kind = BLOCK_OPTION;
            put_line(&block->tag, "", take_line(rest));
        }
    }
    return block->body.text[0] != '\0';
}

static bool names_option(const char *tag, const char *option)
{
    char name[64];
    int length = snprintf(name, sizeof name, "--%s", option);
    const char *at = strstr(tag, name);
    return at != NULL && (at[length] == '\0' || at[length] == ' ');
}

/* ---- printing -------------------------------------------------------------------------------- */

struct nb_manual_text nb_manual_usage(const char *command)
{
    struct nb_string rest = section_of(command);
    struct block block;
    (void)next_block(&rest, &block);
    return block.body;
}

struct nb_manual_text nb_manual_summary(const char *command)
{
    struct nb_string rest = section_of(command);
    struct block block;
    (void)next_block(&rest, &block);
    (void)next_block(&rest, &block);
    char *end = block.body.text;
    while (*end != '\0' && !(*end == '.' && (end[1] == ' ' || end[1] == '\0')))
        end++;
    *end = '\0';
    return block.body;
}

static void print_example(const char *text, FILE *out)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        (void)fprintf(out, "%*s%.*s\n", EXAMPLE_COLUMN, "", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

void nb_manual_print(const char *section, FILE *out)
{
    struct nb_string rest = section_of(section);
    struct block block;
    bool is_usage = section[0] >= 'a', was_example = false;
    while (next_block(&rest, &block) && block.kind != BLOCK_OPTION) {
        bool is_example = block.kind == BLOCK_EXAMPLE;
        if (!is_usage && !(is_example && was_example))
            (void)fputc('\n', out);
        if (is_example)
            print_example(block.body.text, out);
        else if (!is_usage)
            nb_terminal_wrap(block.body.text, 0, 0, out);
        was_example = is_example;
        is_usage = false;
    }
}

bool nb_manual_print_option(const char *command, const char *option, FILE *out)
{
    const char *const sections[] = {command, "DOCUMENTS", "OPTIONS OF EVERY COMMAND"};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        struct nb_string rest = section_of(sections[i]);
        struct block block;
        while (next_block(&rest, &block)) {
            if (block.kind != BLOCK_OPTION || !names_option(block.tag.text, option))
                continue;
            int width = fprintf(out, "  %s", block.tag.text);
            if (width >= OPTION_COLUMN - 1)
                (void)fputc('\n', out);
            nb_terminal_wrap(block.body.text, width >= OPTION_COLUMN - 1 ? 0 : (size_t)width,
                             OPTION_COLUMN, out);
            return true;
        }
    }
    return false;
}
