/* SPDX-License-Identifier: Apache-2.0
 *
 * A word list of bogofilter as a model: the text of `bogoutil -d` is read, its tokens become
 * features, and the whole is written as a dump that the daemon imports. Main thread.
 *
 * bogofilter counts in how many messages a token was, and keeps no messages. The dump has as many
 * documents of each label as the list says it has messages ("bogofilter:spam:1" ...), and each
 * feature is in as many of them as messages had it, dealt out in turn. So the counts of documents
 * are bogofilter's; which words came together in a message is lost, and naive Bayes does not ask.
 * The documents can be taken back like any other.
 *
 * A token becomes what this program's tokenizer makes of it, under the same field as in a mail:
 * words of the body, of Subject and of Received. What is left out is counted.
 */
#ifndef NB_CLIENT_BOGOFILTER_H
#define NB_CLIENT_BOGOFILTER_H

#include <stdio.h>

#include "core/base/error.h"
#include "core/base/key.h"
#include "core/model.h"

enum nb_bogofilter_label { NB_BOGOFILTER_HAM, NB_BOGOFILTER_SPAM, NB_BOGOFILTER_LABELS };

/* Why tokens are left out. */
enum nb_bogofilter_loss {
    NB_LOSS_MALFORMED, /* no line of a word list */
    NB_LOSS_TOO_HIGH,  /* more messages had the token than there are */
    NB_LOSS_UNUSED,    /* no message had it */
    NB_LOSS_FROM,      /* of the prefix from: */
    NB_LOSS_TO,        /* to: */
    NB_LOSS_RETURN,    /* rtrn:, Return-Path */
    NB_LOSS_HEAD,      /* head:, any other header field */
    NB_LOSS_MIME,      /* mime: */
    NB_LOSS_URL,       /* url: */
    NB_LOSS_IP,        /* ip: */
    NB_LOSS_NO_WORD,   /* marks, or what the tokenizer passes over */
    NB_LOSSES
};

enum { NB_LOSS_LINES = 8 }; /* that are named */

/* What the model counts, in the mails too that it learns later. Of other fields it would know only
 * the later mails, and with these of one label for a while, all would speak for that label. */
#define NB_BOGOFILTER_FIELDS                                                                       \
    (1U << NB_FIELD_BODY | 1U << NB_FIELD_SUBJECT | 1U << NB_FIELD_RECEIVED | 1U << NB_FIELD_CASE)

struct nb_bogofilter_losses {
    uint64_t count;
    uint64_t lines[NB_LOSS_LINES]; /* numbers of the first */
};

struct nb_bogofilter {
    uint64_t messages[NB_BOGOFILTER_LABELS];
    int64_t learned; /* ms since 1970: the day of the last training, else now */
    uint64_t tokens; /* of the list that became features */
    struct nb_bogofilter_losses losses[NB_LOSSES];

    struct nb_key key;
    struct nb_model *rows;                       /* owned: only ids and their row numbers */
    uint32_t (*documents)[NB_BOGOFILTER_LABELS]; /* owned: by row */
    size_t room;                                 /* of `documents` */
    struct nb_buffer texts;                      /* owned: each length and bytes, in row order */
};

/* The name of a loss for JSON ("too_high") and for people ("counted in more messages than there
 * are"). Static. */
const char *nb_bogofilter_loss_name(enum nb_bogofilter_loss loss);
const char *nb_bogofilter_loss_text(enum nb_bogofilter_loss loss);

/* Reads a list; the tokenizer's tables must be there (nb_text_setup). NB_UNSUPPORTED: the file is
 * another program's, and the text says whose; NB_INVALID: it says nowhere how many messages there
 * were; NB_TOO_LARGE; NB_IO; NB_NO_MEMORY. `list` needs nb_bogofilter_deinit in any case. */
int nb_bogofilter_read(FILE *in, struct nb_bogofilter *list, struct nb_error *error);
void nb_bogofilter_deinit(struct nb_bogofilter *list);

/* Steps of nb_bogofilter_read, in files of their own: a row for a feature that has none yet, and
 * rows for what bogofilter never counts but every mail has. Return 0, NB_TOO_LARGE or NB_NO_MEMORY.
 */
int nb_bogofilter_add_row(struct nb_bogofilter *list, uint64_t id, struct nb_string text,
                          uint32_t *row);
int nb_bogofilter_add_neutral(struct nb_bogofilter *list);

/* The dump, made line by line as it is read; a read error is want of memory. `list` is borrowed
 * until it is closed with fclose. NULL: out of memory. */
FILE *nb_bogofilter_dump(const struct nb_bogofilter *list);

#endif
