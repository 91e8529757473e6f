/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents for the benchmarks, written to standard output; the same arguments always give the same
 * bytes. One thread.
 *
 *     corpus text COUNT BYTES SEED          bodies of plain text
 *     corpus batch COUNT BYTES SEED EACH    JSON bodies of EACH labelled documents
 *     corpus ndjson COUNT BYTES SEED        labelled documents, one JSON object a line
 *     corpus words COUNT FEATURES SEED      the same lines, COUNT documents of FEATURES words that
 *                                           stand nowhere else
 *     corpus mail COUNT BYTES SEED          bodies of raw mails: a header of 1.5 KB and BYTES of
 *                                           text, plain, in both alternatives, or HTML alone
 *
 * Bodies are framed as load.c reads them: the length in decimal, a line end, the bytes. The words
 * follow Zipf's law (the word of rank r is drawn with a chance of about 1/r), as those of natural
 * languages do; spam and ham draw every fourth word from words that only they use.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"

enum {
    VOCABULARY = 50000, /* as many as a large mailbox has words that occur more than once */
    OWN_WORDS = 5000,   /* further words of each label that only this label uses */
    WORD_MOST = 16
};

struct generator {
    uint64_t state;    /* SplitMix64 */
    uint64_t new_word; /* number of the next word that occurs nowhere else */
};

static uint64_t draw(struct generator *g)
{
    uint64_t z = g->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double draw_unit(struct generator *g)
{
    return (double)(draw(g) >> 11) * 0x1p-53;
}

static void append(struct nb_buffer *out, const char *bytes, size_t length)
{
    if (nb_buffer_append(out, bytes, length) != 0) {
        fputs("corpus: out of memory\n", stderr);
        exit(1);
    }
}

/* Appends the word of a rank: letters in about their English frequencies; frequent words are short.
 */
static void append_word(struct nb_buffer *out, uint64_t rank)
{
    static const char letters[] = "eeeeettttaaaaooooiiinnnssshhhrrrddllluuccmmwwffggyyppbbvk";
    struct generator g = {.state = rank};
    size_t length = 1 + (size_t)(log2((double)rank + 1) / 2.6) + draw(&g) % 3;
    char word[WORD_MOST];
    for (size_t i = 0; i < length && i < sizeof word; i++)
        word[i] = letters[draw(&g) % (sizeof letters - 1)];
    append(out, word, length < sizeof word ? length : sizeof word);
}

static uint64_t draw_rank(struct generator *g, bool spam)
{
    uint64_t rank = (uint64_t)exp(draw_unit(g) * log(VOCABULARY));
    if (draw(g) % 4 != 0)
        return rank;
    return VOCABULARY + (spam ? 0u : OWN_WORDS) + rank % OWN_WORDS;
}

/* Appends about `bytes` bytes of sentences; nothing in them needs escaping in JSON. */
static void append_text(struct generator *g, struct nb_buffer *out, size_t bytes, bool spam)
{
    for (size_t end = out->length + bytes; out->length < end;) {
        uint64_t dice = draw(g) % 100;
        append_word(out, draw_rank(g, spam));
        if (dice < 87)
            append(out, " ", 1);
        else if (dice < 93)
            append(out, ", ", 2);
        else
            append(out, dice < 99 ? ". " : "! ", 2);
    }
}

static void append_new_words(struct generator *g, struct nb_buffer *out, size_t count)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyzabcdef";
    for (size_t i = 0; i < count; i++) {
        char word[WORD_MOST];
        size_t length = 0;
        /* An odd factor permutes the 40-bit numbers: the words look alike but never repeat. */
        uint64_t number = g->new_word++ * UINT64_C(0x9e3779b97d) & ((UINT64_C(1) << 40) - 1);
        for (; length < 10; number /= 26)
            word[length++] = digits[number % 26];
        word[length++] = ' ';
        append(out, word, length);
    }
}

/* ---- mails ----------------------------------------------------------------------------------- */

/* Appends the header of a mail. Each label has its own hosts. */
static void append_mail_header(struct generator *g, struct nb_buffer *out, bool spam)
{
    unsigned host = (unsigned)(draw(g) % 400) * 2 + spam;
    unsigned reader = (unsigned)(draw(g) % 20);
    nb_buffer_printf(out, "Return-Path: <sender%u@host%u.example>\r\n", host % 97, host);
    for (int i = 0; i < 3; i++)
        nb_buffer_printf(
            out,
            "Received: from relay%u.example (relay%u.example [192.0.2.%u])\r\n"
            "\tby mx%d.example.org (Postfix) with ESMTP id %08X\r\n"
            "\tfor <reader%u@example.org>; Tue, %u Mar 2005 %02u:12:45 +0100 (CET)\r\n",
            host, host, host % 256, i, (unsigned)draw(g), reader, 1 + (unsigned)(draw(g) % 28),
            (unsigned)(draw(g) % 24));
    nb_buffer_printf(out, "From: \"");
    append_word(out, draw_rank(g, spam));
    nb_buffer_printf(out, "\" <sender%u@host%u.example>\r\nTo: reader%u@example.org\r\nSubject: ",
                     host % 97, host, reader);
    append_text(g, out, 40, spam);
    nb_buffer_printf(
        out,
        "\r\nDate: Tue, 1 Mar 2005 09:12:45 +0100\r\nMessage-ID: <%016" PRIx64
        "@host%u.example>\r\nX-Mailer: Mailer %u.%u\r\nX-Priority: %u\r\nMIME-Version: 1.0\r\n",
        draw(g), host, host % 9, host % 7, spam ? 1 : 3);
    if (host % 3 == 0)
        nb_buffer_printf(out,
                         "List-Id: <list%u.example>\r\nList-Unsubscribe: "
                         "<mailto:list%u-request@example>\r\nPrecedence: bulk\r\n",
                         host % 11, host % 11);
}

static void append_html(struct generator *g, struct nb_buffer *out, size_t bytes, bool spam)
{
    nb_buffer_puts(out, "<html><head><title>a mail</title><style>p { color: #333 }</style></head>"
                        "<body bgcolor=\"#ffffff\">\r\n");
    for (size_t end = out->length + bytes; out->length < end;) {
        unsigned host = (unsigned)(draw(g) % 400) * 2 + spam;
        nb_buffer_puts(out, "<table width=\"90%\"><tr><td align=\"left\"><font size=\"2\" "
                            "color=\"#202020\"><p>");
        append_text(g, out, 300, spam);
        nb_buffer_printf(out,
                         "</p>&nbsp;<b>now</b> <a href=\"http://www.host%u.example/page%u.html\">"
                         "<img src=\"http://img.host%u.example/%u.gif\" alt=\"\"></a></font></td>"
                         "</tr></table>\r\n",
                         host, host % 13, host, host % 17);
    }
    nb_buffer_puts(out, "</body></html>\r\n");
}

/* Appends a mail: half of the mails are plain text, a quarter have both alternatives, a quarter are
 * HTML alone. */
static void append_mail(struct generator *g, struct nb_buffer *out, size_t bytes, uint64_t number)
{
    bool spam = number % 2 != 0;
    uint64_t form = draw(g) % 4;
    append_mail_header(g, out, spam);
    if (form >= 2) {
        nb_buffer_puts(out, "Content-Type: text/plain; charset=iso-8859-1\r\n\r\n");
        append_text(g, out, bytes, spam);
        nb_buffer_puts(out, "\r\n");
        return;
    }
    if (form == 1) {
        nb_buffer_puts(out, "Content-Type: multipart/alternative; boundary=\"next\"\r\n\r\n"
                            "--next\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n");
        append_text(g, out, bytes / 2, spam);
        nb_buffer_puts(out, "\r\n--next\r\n");
    }
    nb_buffer_puts(out, "Content-Type: text/html; charset=utf-8\r\n\r\n");
    append_html(g, out, bytes, spam);
    nb_buffer_puts(out, form == 1 ? "\r\n--next--\r\n" : "");
}

static void append_json(struct generator *g, struct nb_buffer *out, size_t size, uint64_t number,
                        bool new_words)
{
    bool spam = number % 2 != 0;
    nb_buffer_printf(out, "{\"label\": \"%s\", \"text\": \"", spam ? "spam" : "ham");
    if (new_words)
        append_new_words(g, out, size);
    else
        append_text(g, out, size, spam);
    append(out, "\"}", 2);
}

static void write_out(struct nb_buffer *out, bool framed)
{
    if (framed)
        printf("%zu\n", out->length);
    fwrite(out->bytes, 1, out->length, stdout);
    out->length = 0;
}

static void write_batches(struct generator *g, struct nb_buffer *out, uint64_t count, size_t bytes,
                          uint64_t each)
{
    for (uint64_t i = 0; i < count;) {
        nb_buffer_puts(out, "{\"documents\": [");
        for (uint64_t stop = i + each; i < stop && i < count; i++) {
            append_json(g, out, bytes, i, false);
            nb_buffer_puts(out, i + 1 < stop && i + 1 < count ? "," : "]}");
        }
        write_out(out, true);
    }
}

static int usage(void)
{
    fputs("usage: corpus text|batch|ndjson|words|mail COUNT SIZE SEED [EACH]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return usage();
    uint64_t count = strtoull(argv[2], NULL, 10);
    size_t size = (size_t)strtoull(argv[3], NULL, 10);
    uint64_t seed = strtoull(argv[4], NULL, 10);
    struct generator g = {.state = seed, .new_word = seed << 32};
    struct nb_buffer out = {0};
    bool text = strcmp(argv[1], "text") == 0;
    bool words = strcmp(argv[1], "words") == 0;
    bool mail = strcmp(argv[1], "mail") == 0;
    if (!text && !words && !mail && strcmp(argv[1], "batch") != 0 && strcmp(argv[1], "ndjson") != 0)
        return usage();
    if (strcmp(argv[1], "batch") == 0) {
        write_batches(&g, &out, count, size, argc > 5 ? strtoull(argv[5], NULL, 10) : 500);
        count = 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (text) {
            append_text(&g, &out, size, i % 2 != 0);
        } else if (mail) {
            append_mail(&g, &out, size, i);
        } else {
            append_json(&g, &out, size, i, words);
            append(&out, "\n", 1);
        }
        write_out(&out, text || mail);
    }
    nb_buffer_deinit(&out);
    return fflush(stdout) == 0 ? 0 : 1;
}
