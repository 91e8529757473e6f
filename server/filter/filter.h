/* SPDX-License-Identifier: Apache-2.0
 *
 * What a mail filter is told about a mail: the one place that turns the model's calibrated
 * probability of spam into score, action and symbols, by the thresholds of [filter]. The doors
 * (rspamd's HTTP protocol, RSPAMC, SPAMC) only differ in how they write it. Any thread; a report
 * belongs to one.
 */
#ifndef NB_SERVER_FILTER_FILTER_H
#define NB_SERVER_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/engine/engine.h"

struct nb_config;
struct nb_filter_spam;
struct nb_request;
struct nb_server;

enum {
    NB_FILTER_SYMBOLS = 1 + NB_FIELDS, /* the verdict, and what each field of the mail adds */
    NB_FILTER_NAME = 32,
    NB_FILTER_TEXT = 256,
    NB_FILTER_MODEL = 129,    /* a model's name with its NUL */
    NB_FILTER_FIELD = 998 + 1 /* of the mail's header; RFC 5322, 2.1.1: a line has 998 bytes */
};

/* The header field that tells a verdict; it is taken out of mail that brings it. */
#define NB_FILTER_HEADER "X-Bayes-Status"

enum nb_filter_action {
    NB_FILTER_NO_ACTION,
    NB_FILTER_ADD_HEADER,
    NB_FILTER_REWRITE_SUBJECT,
    NB_FILTER_REJECT,
    NB_FILTER_ACTIONS /* how many there are */
};

/* The first symbol of a report is its verdict and has the whole score; the others are parts of the
 * mail, which weigh nothing beside it and say how much of it is theirs. */
struct nb_filter_symbol {
    char name[NB_FILTER_NAME];        /* "BAYES_SPAM", "BAYES_PART_SUBJECT" */
    char description[NB_FILTER_TEXT]; /* a sentence, never empty; its words need not be UTF-8 */
    char option[NB_FILTER_TEXT];      /* the strongest tokens, or "" */
    double evidence;                  /* log-odds of a part, above 0 for spam; else 0 */
};

struct nb_filter_report {
    enum nb_filter_action action;
    const char *status; /* "spam", "ham" or "unsure"; static */
    const char *note;   /* behind the status: "", or ", too little learned" and the like; static */
    bool is_test;       /* a GTUBE test pattern decided, not the model */
    bool is_ready;      /* the model decided; else a symbol says what is missing */
    double probability; /* of spam */
    double log_odds;    /* ln p / (1 - p), bounded; 0 when the model does not decide */
    char model[NB_FILTER_MODEL];
    char message_id[NB_FILTER_FIELD]; /* of the mail, without angle brackets; "" if it has none */
    char subject[NB_FILTER_FIELD];    /* the mail's, rewritten; with NB_FILTER_REWRITE_SUBJECT */
    struct nb_filter_symbol symbols[NB_FILTER_SYMBOLS];
    size_t symbol_count;
};

/* The mail inside of what mail software sends: without an mbox "From " line in front, and without
 * the pseudo header fields X-Envelope-From and X-Envelope-To that Exim puts before the mail's own
 * (src/spam.c of Exim 4.96). */
struct nb_string nb_filter_mail(struct nb_string body);

/* The model of a user: `user` is an address as "Deliver-To:" or "User:" give it (angle brackets are
 * taken off), or of length 0. Without [filter] user_model, or without a user, it is [filter] model.
 * NB_UNUSABLE: the name made from the address cannot be a name of a model. */
int nb_filter_model(const struct nb_config *config, struct nb_string user,
                    char model[NB_FILTER_MODEL], struct nb_error *error);

/* The parent that the model of a user gets when learning makes it: [filter] user_parent, with the
 * domain of the address in it; [filter] model for an address without a domain. `user` as above.
 * NB_UNUSABLE: what comes out cannot be a name of a model. */
int nb_filter_parent(const struct nb_config *config, struct nb_string user,
                     char model[NB_FILTER_MODEL], struct nb_error *error);

/* Scores `document`, a mail, with the user's own model, or with the one of all when that is not
 * ready or the user cannot name one. Of several users the mildest verdict counts, and the report
 * names no model but the pattern of [filter] user_model. Too little training, or an empty mail,
 * gives a report that says so and is not an error. `models` are patterns (models.h) of those that
 * the client may use: NB_FORBIDDEN when a user's model is none of them, and the one of all is not
 * asked when that is none. With several_users = each, `each` (the caller's; NULL: not wanted)
 * receives two texts for each user who has a model, both NUL-terminated: its name, and the verdict
 * as nb_filter_status has it. With `request` (NULL: not wanted) a verdict that counts is kept in
 * the history of the model that gave it, if that keeps one. Returns 0, or what nb_engine_classify
 * does (NB_IO, NB_NO_MEMORY ...). */
int nb_filter_check(struct nb_server *server, const struct nb_config *config, const char *models,
                    const struct nb_document *document, const struct nb_string *users, size_t count,
                    const struct nb_request *request, struct nb_filter_report *report,
                    struct nb_buffer *each, struct nb_error *error);

/* What is to be done with a mail: by the thresholds of [filter], and of spam by its likeliest label
 * where label_actions names that. `spam` is of a model that knows a label of spam. */
enum nb_filter_action nb_filter_action_of(const struct nb_config *config,
                                          const struct nb_filter_spam *spam);

/* The mail's Message-ID without angle brackets, on one line; "" when it has none. */
void nb_filter_message_id(const struct nb_config *config, struct nb_string mail,
                          char message_id[NB_FILTER_FIELD]);

/* Whether the options of [filter] go together. NB_INVALID says which do not. */
int nb_filter_check_config(const struct nb_config *config, struct nb_error *error);

/* What log-odds are on a scale that has 0 at even odds and `required` exactly at the probability
 * `threshold` (above 0.5; 1 is never reached). */
double nb_filter_score(double log_odds, double required, double threshold);

/* The score of a report, or of its first symbol, with `digits` digits after the point. It compares
 * with `required` as the action was decided: a score below is never rounded up to it, and that of a
 * test mail is never below it. */
double nb_filter_shown_score(double log_odds, double required, double threshold, bool is_over,
                             unsigned digits);

/* By enum nb_filter_action: "no action", "add header", "rewrite subject", "reject". */
extern const char *const nb_filter_action_names[NB_FILTER_ACTIONS];
const char *nb_filter_action_name(enum nb_filter_action action);

/* Appends the text of an X-Bayes-Status header: "spam, probability=0.9987, model=mail". */
int nb_filter_status(const struct nb_filter_report *report, struct nb_buffer *out);

#endif
