/* SPDX-License-Identifier: Apache-2.0
 *
 * What a mail filter makes of a probability of spam where the documents are mostly spam: somebody
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
 * as much other mail as spam, or more, nothing changes. Measured in server/README.md.
 */
#ifndef NB_SERVER_FILTER_CAUTION_H
#define NB_SERVER_FILTER_CAUTION_H

#include <assert.h>
#include <math.h>
#include <stdint.h>

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

#endif
