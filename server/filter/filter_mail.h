/* SPDX-License-Identifier: Apache-2.0
 *
 * The mail inside of what mail software sends, and its fields as they are shown. Pure functions;
 * any thread.
 */
#ifndef NB_SERVER_FILTER_FILTER_MAIL_H
#define NB_SERVER_FILTER_FILTER_MAIL_H

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"

struct nb_config;

/* What a mail filter makes of a probability of spam where the documents are mostly spam: somebody
 * has trained a folder of spam, and other mail is only beginning to come. Pure; any thread.
 *
 * The share of spam among the documents is then what was trained and not what arrives, and nearly
 * all that is new looks more like the many than like the few. With s documents of spam, h others,
 * and L the log-odds of spam, which has that share in it:
 *
 *     pi  = max(ln(s / h), 0)
 *     L'  = L - pi 20 / (20 + h)
 *     L'' = L' / sqrt(1 + 1.5 max(1/h - 1/s, 0) L'^2)       when L' > 0, else L'
 *
 * So the share is believed as far as other mail has been seen, and the evidence of spam is
 * moderated (core/bayes/book/scores.h) for the few documents that speak against it. Where there is
 * as much other mail as spam, or more, nothing changes. Measured in server/README.md. */

/* Of a probability of spam (0 to 1) of a model with so many documents of spam and of other labels,
 * both above 0. Returns a probability that is at most as high. */
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

enum {
    NB_FILTER_FIELD = 998 + 1 /* of the mail's header; RFC 5322, 2.1.1: a line has 998 bytes */
};

/* The mail inside of what mail software sends: without an mbox "From " line in front, and without
 * the pseudo header fields X-Envelope-From and X-Envelope-To that Exim puts before the mail's own
 * (src/spam.c of Exim 4.96). */
struct nb_string nb_filter_mail(struct nb_string body);

/* The mail's Message-ID without angle brackets, on one line; "" when it has none. */
void nb_filter_message_id(const struct nb_config *config, struct nb_string mail,
                          char message_id[NB_FILTER_FIELD]);

/* Copies a text to one line of printable characters, what goes into replies that are lines: at most
 * `room` bytes with the NUL (at least 1). */
void nb_filter_copy_clean(struct nb_string from, char *to, size_t room);

/* An address without the blanks and the angle brackets around it. */
struct nb_string nb_filter_without_angles(struct nb_string s);

/* The mail's subject as [filter] subject has it; the mail's own words stay as they are encoded. */
void nb_filter_rewrite_subject(const struct nb_config *config, struct nb_string mail,
                               char subject[NB_FILTER_FIELD]);

#endif
