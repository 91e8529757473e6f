/* SPDX-License-Identifier: Apache-2.0
 *
 * A word list of bogofilter, the text of `bogoutil -d`, becomes a dump that the daemon imports.
 *
 * bogofilter counts the messages that had a token, but keeps no messages. The dump has a document
 * for each message that the list counts ("bogofilter:spam:1" ...), and each feature is in as many
 * documents of a label as bogofilter counted. The list does not tell which words were in the same
 * message; naive Bayes does not need this. The documents can be untrained like any other. Main
 * thread.
 */
#ifndef NB_SERVER_CLIENT_BOGOFILTER_BOGOFILTER_H
#define NB_SERVER_CLIENT_BOGOFILTER_BOGOFILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/key.h"
#include "core/counts/model.h"
#include "tokenizer/bag.h"

enum nb_bogofilter_label { NB_BOGOFILTER_HAM, NB_BOGOFILTER_SPAM, NB_BOGOFILTER_LABELS };

/* Why a token of the list is left out. */
enum nb_bogofilter_loss {
    NB_LOSS_MALFORMED, /* not a line of a word list */
    NB_LOSS_TOO_HIGH,  /* counted in more messages than there are */
    NB_LOSS_UNUSED,    /* counted in no message */
    NB_LOSS_FROM,      /* has the prefix from: */
    NB_LOSS_TO,        /* to: */
    NB_LOSS_RETURN,    /* rtrn: (Return-Path) */
    NB_LOSS_HEAD,      /* head: (any other header field) */
    NB_LOSS_MIME,      /* mime: */
    NB_LOSS_URL,       /* url: */
    NB_LOSS_IP,        /* ip: */
    NB_LOSS_NO_WORD,   /* only marks, or nothing that the tokenizer takes */
    NB_LOSSES
};

/* bogofilter's tokens have at most 30 characters, three of them joined with prefixes when
 * `multi_token_count` is set; numbers have 10 digits. */
enum { NB_WORDLIST_LINE = 1024 };

enum { NB_LOSS_LINES = 8 /* most lines whose numbers are kept */ };

/* The fields that the model counts, also in the mails that it learns later. Any other field would
 * be known from the later mails only: while these all have one label, every feature of that field
 * would speak for that label. */
#define NB_BOGOFILTER_FIELDS                                                                       \
    (1U << NB_FIELD_BODY | 1U << NB_FIELD_SUBJECT | 1U << NB_FIELD_RECEIVED | 1U << NB_FIELD_CASE)

struct nb_bogofilter_losses {
    uint64_t count;
    uint64_t lines[NB_LOSS_LINES]; /* numbers of the first such lines */
};

struct nb_bogofilter_list {
    uint64_t messages[NB_BOGOFILTER_LABELS];
    int64_t learned; /* ms since 1970: the day of the last training, or now */
    uint64_t tokens; /* tokens of the list that became features */
    struct nb_bogofilter_losses losses[NB_LOSSES];

    struct nb_key key;
    struct nb_model *rows; /* owned: holds only the ids of features and their rows */
    uint32_t (*documents)[NB_BOGOFILTER_LABELS]; /* owned: number of messages by row */
    size_t room;                                 /* rows that fit in `documents` */
    struct nb_buffer texts;                      /* owned: length and bytes of each text, by row */
};

/* Makes an empty list with a new key. Returns 0 or NB_NO_MEMORY; nb_bogofilter_list_deinit is
 * needed in both cases. */
int nb_bogofilter_list_init(struct nb_bogofilter_list *list);
void nb_bogofilter_list_deinit(struct nb_bogofilter_list *list);

/* Adds a row for a feature that has no row yet; its counts are 0 messages. Returns 0, NB_TOO_LARGE
 * (too many rows) or NB_NO_MEMORY. */
int nb_bogofilter_list_add(struct nb_bogofilter_list *list, uint64_t id, struct nb_string text,
                           uint32_t *row);

/* Counts a token that is left out, and keeps the number of its line. */
void nb_bogofilter_list_lose(struct nb_bogofilter_list *list, enum nb_bogofilter_loss loss,
                             uint64_t line);

/* The name of a loss for JSON ("too_high") and for people ("counted in more messages than there
 * are"). Static. */
const char *nb_bogofilter_loss_name(enum nb_bogofilter_loss loss);
const char *nb_bogofilter_loss_text(enum nb_bogofilter_loss loss);

/* Converts bogofilter's tokens into the features that this program's tokenizer makes of the same
 * words in a mail. Adds the features that every mail has and bogofilter does not count: marks,
 * words of one and two characters (its tokens have at least three), "by" and "id" of Received. The
 * tables of the tokenizer must be there (nb_text_setup). One thread.
 *
 * A model made from a word list alone would not know these added features. A few mails of one
 * label, learned later, would make each of them speak for that label. So they begin equally
 * frequent in both labels.
 *
 * Measured with a list of 3,000 messages: 5 of 1,027 ham mails score over 0.5 (none over 0.9).
 * After 20 more spam and no ham were learned, 40 score over 0.5 (1 over 0.9); without the added
 * features 405 do (158 over 0.9). */
/* Fills `bag`, which is emptied first, with the features of a token, hashed with `key`; some tokens
 * become several features. If none of its features is a word, the token is left out, and *loss is
 * the reason. Returns 0 or NB_NO_MEMORY. */
int nb_bogofilter_features(struct nb_string token, const struct nb_key *key, struct nb_bag *bag,
                           enum nb_bogofilter_loss *loss);

/* Returns whether a feature from nb_bogofilter_features is a word and not a mark: the tokenizer
 * counts marks everywhere, bogofilter only inside words. */
bool nb_bogofilter_is_word(uint64_t id, struct nb_string text);

/* Adds the features that bogofilter does not count, unless the list has them already. Returns 0,
 * NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_bogofilter_add_neutral(struct nb_bogofilter_list *list);

/* Reads a word list as `bogoutil -d` prints it, line by line: "token spam ham yyyymmdd", where spam
 * and ham are the numbers of messages that held the token (bogoutil(1), bogofilter 1.2.5). One
 * thread.
 *
 * The file may have any bytes. A line that does not belong to a word list is recognized, and no
 * line takes more memory than NB_WORDLIST_LINE. */
enum nb_wordlist_kind { NB_WORDLIST_END, NB_WORDLIST_COUNTS, NB_WORDLIST_MALFORMED };

/* The caller sets `in` and zeroes the rest. It may read only `number`: the number of the last line,
 * from 1. */
struct nb_wordlist_reader {
    FILE *in; /* borrowed */
    uint64_t number;
    size_t length;
    bool is_cut; /* the line was longer than `line` */
    char line[NB_WORDLIST_LINE];
};

/* A parsed line; `token` is borrowed from the reader until it reads the next line. */
struct nb_wordlist_line {
    struct nb_string token;
    uint32_t spam, ham;
    uint32_t date; /* yyyymmdd, 0: none */
};

/* Reads the next line that is not empty, and fills `line` if the result is NB_WORDLIST_COUNTS. The
 * last line may have no line feed; a CR before a line feed is ignored. */
enum nb_wordlist_kind nb_wordlist_read(struct nb_wordlist_reader *reader,
                                       struct nb_wordlist_line *line);

/* Reads a list up to the end of the file. The tables of the tokenizer must be there
 * (nb_text_setup). Returns 0; NB_UNSUPPORTED: the file belongs to another program, which the error
 * names; NB_INVALID: the number of messages is missing or impossible; NB_TOO_LARGE; NB_IO;
 * NB_NO_MEMORY. `list` needs nb_bogofilter_list_deinit in any case. */
int nb_bogofilter_read(FILE *in, struct nb_bogofilter_list *list, struct nb_error *error);

/* Opens the dump as a file; each line is generated when it is read. A read error means that memory
 * ran out. `list` is borrowed until the caller closes the file with fclose. Returns NULL without
 * memory. */
FILE *nb_bogofilter_dump(const struct nb_bogofilter_list *list);

#endif
