/* SPDX-License-Identifier: Apache-2.0
 *
 * What the options of [filter] mean for a mail: which labels of a model are spam and which one is
 * ham, the score and the action of a probability of spam, and the model of a user. Pure functions;
 * any thread; a verdict belongs to one thread.
 */
#ifndef NB_SERVER_MAIL_FILTER_OPTIONS_H
#define NB_SERVER_MAIL_FILTER_OPTIONS_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_config;
struct nb_filter_spam;
struct nb_verdict;

enum { NB_FILTER_LABELS = 16, NB_FILTER_LABEL = 64 + 1 /* a label with its NUL */ };

/* Corrects a probability of spam when most documents are spam: somebody has trained a folder of
 * spam, and other mail is only beginning to come.
 *
 * The share of spam among the documents then shows what was trained and not what arrives, and
 * nearly all new mail looks more like the many documents than like the few. With s documents of
 * spam, h others, and L the log-odds of spam, which include that share:
 *
 *     pi  = max(ln(s / h), 0)
 *     L'  = L - pi 20 / (20 + h)
 *     L'' = L' / sqrt(1 + 1.5 max(1/h - 1/s, 0) L'^2)       when L' > 0, else L'
 *
 * So the share counts as far as other mail has been seen, and the evidence of spam is moderated
 * (core/bayes/scorer.h) because few documents speak against it. If there is as much other mail
 * as spam, or more, nothing changes. Measured in server/README.md. */

/* `probability` is that of spam, from 0 to 1; `spam` and `others` are the model's documents of spam
 * and of other labels, both above 0. Returns a probability that is not higher. */
static inline double nb_caution(double probability, uint64_t spam, uint64_t others)
{
    /* Measured on draws of SpamAssassin's corpus and Enron 1, and online. */
    const double share_documents = 20, moderation = 1.5;
    assert(spam > 0 && others > 0);
    double s = (double)spam, h = (double)others;
    if (s <= h || probability <= 0)
        return probability;
    double odds = log(probability) - log1p(-probability); /* infinite for 1 */
    odds -= log(s / h) * share_documents / (share_documents + h);
    if (odds > 0)
        odds = 1 / sqrt(1 / (odds * odds) + moderation * (1 / h - 1 / s));
    return 1 / (1 + exp(-odds));
}

/* Returns an address without the blanks and the angle brackets around it. */
struct nb_string nb_filter_without_angles(struct nb_string s);

/* Returns whether the label is one of the labels of spam. */
bool nb_filter_is_spam(const struct nb_config *config, const char *label);

/* Sets `label` to the label under which spam is learned, the first one in spam_labels. */
void nb_filter_learned_label(const struct nb_config *config, char label[NB_FILTER_LABEL]);

/* The result of a verdict for the labels of spam. */
struct nb_filter_spam {
    bool is_known;      /* the model has documents of spam; else the other members are not set */
    bool has_others;    /* it also has documents of other labels: then there is a verdict */
    double probability; /* of all labels of spam together, corrected by nb_caution */
    const char *label;  /* the likeliest label of spam; borrowed from the verdict */
    size_t count;       /* number of labels of spam that have documents */
};

/* Sets `ready` and `missing` of a verdict by the labels of [filter] alone: ham, and the label of
 * spam with the most documents, must have enough documents. Other labels of the model, such as a
 * mistyped name, are ignored. For callers that read `ready`: the filter itself also judges with
 * fewer documents. */
void nb_filter_need(const struct nb_config *config, struct nb_verdict *verdict);

/* Finds the probability of spam in a verdict that was not reset: the sum over the labels of spam.
 * If all labels but ham and one label of spam have few documents, the verdict is as if these two
 * were alone (nb_verdict_against): otherwise a label with nine spam in a row would take all spam.
 * Returns 0 or NB_NO_MEMORY. */
int nb_filter_find_spam(const struct nb_config *config, struct nb_verdict *verdict,
                        struct nb_filter_spam *spam);

/* Score and action of a probability of spam, by the thresholds of [filter]. Pure functions; any
 * thread. */
enum nb_filter_action {
    NB_FILTER_NO_ACTION,
    NB_FILTER_ADD_HEADER,
    NB_FILTER_REWRITE_SUBJECT,
    NB_FILTER_REJECT,
    NB_FILTER_ACTIONS /* how many there are */
};

/* The names of the actions, by enum nb_filter_action: "no action", "add header", "rewrite subject",
 * "reject". */
extern const char *const nb_filter_action_names[NB_FILTER_ACTIONS];
const char *nb_filter_action_name(enum nb_filter_action action);

/* Returns the log-odds of a probability, limited to NB_FILTER_LOG_ODDS_MOST in both directions:
 * beyond it a verdict is as good as certain. */
#define NB_FILTER_LOG_ODDS_MOST 30.0
double nb_filter_log_odds(double probability);

/* Returns the log-odds of a threshold; for the threshold 1 a value that no probability reaches. */
double nb_filter_log_odds_at(double threshold);

/* Converts log-odds to a scale that is 0 at even odds and exactly `required` at the probability
 * `threshold` (above 0.5; 1 is never reached). */
double nb_filter_score(double log_odds, double required, double threshold);

/* Returns the score of a report, or of its first symbol, with `digits` digits after the point. A
 * comparison of this score with `required` agrees with the action: a score below `required` is
 * never rounded up to it, and the score of a test mail is never below it. */
double nb_filter_shown_score(double log_odds, double required, double threshold, bool is_over,
                             unsigned digits);

/* Returns the action for a mail, by the thresholds of [filter]; the threshold 1 means never. */
enum nb_filter_action nb_filter_action_at(const struct nb_config *config, double probability);

/* As nb_filter_action_at, but spam whose likeliest label has an action in label_actions gets that
 * action. `spam` is from a model that knows a label of spam. */
enum nb_filter_action nb_filter_action_of(const struct nb_config *config,
                                          const struct nb_filter_spam *spam);

enum { NB_FILTER_MODEL = 129 /* a model's name with its NUL */ };

/* Finds the model of a user. `user` is an address as in "Deliver-To:" or "User:", whose angle
 * brackets are removed, or of length 0. Without [filter] user_model, or without a user, the model
 * is [filter] model. Returns 0, or NB_UNUSABLE if the name made from the address cannot be the name
 * of a model. */
int nb_filter_model(const struct nb_config *config, struct nb_string user,
                    char model[NB_FILTER_MODEL], struct nb_error *error);

/* Finds the parent for a user's model that learning is about to make: [filter] user_parent, with
 * the domain of the address in it; [filter] model for an address without a domain. `user` is as
 * above. Returns 0, or NB_UNUSABLE if the result cannot be the name of a model. */
int nb_filter_parent(const struct nb_config *config, struct nb_string user,
                     char model[NB_FILTER_MODEL], struct nb_error *error);

/* Checks whether the options of [filter] fit each other. Returns 0, or NB_INVALID, whose message
 * names those that do not. */
int nb_filter_check_config(const struct nb_config *config, struct nb_error *error);

#endif
