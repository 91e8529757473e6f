/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of an attribute cut into bins, each of which is then a category.
 *
 * Of n numbers the bins are sqrt(n), rounded down, at least 2 and at most NB_BINS_MOST, so that
 * there are more and fuller ones as documents come (Yang and Webb 2001, proportional k-interval
 * discretization). They are cut at quantiles that see the labels: of the distribution in which each
 * label that has numbers weighs the same, so that a rare label is not lost in one bin. With w(x)
 * the mean over these labels of the share of x in the label's numbers, and W(x) that of all numbers
 * below x, x is in bin floor(B (W(x) + w(x) / 2)). Equal numbers are in one bin; a bin without any
 * number is none. The border between two bins is half-way between their nearest numbers, and
 * belongs to the lower one. All of it is a function of the counts alone.
 *
 * Threads: as in core/bayes/attribute/attribute_scores.h.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_BINS_H
#define NB_CORE_BAYES_ATTRIBUTE_BINS_H

#include "core/bayes/attribute/number_list.h"
#include "core/bayes/estimate/estimate.h"

enum { NB_BINS_MOST = 64 };

/* All zeros: there are none. */
struct nb_bins {
    size_t count;
    uint32_t size;    /* of labels */
    nb_int128 *ends;  /* of each bin but the last, twice the border above it; owned */
    uint64_t *counts; /* [bin * (size + 1) + place]: documents, of all labels at `size`; owned */
    uint64_t *sums;   /* of a label, by place; owned */
    uint64_t sum;     /* of all */
};

/* Cuts numbers for so many labels. Returns 0 or NB_NO_MEMORY. In time of documents. */
int nb_bins_make(struct nb_bins *bins, uint32_t size, const struct nb_number_span *numbers);
void nb_bins_deinit(struct nb_bins *bins);

/* The bin of a number, which may be any; there is one bin at least. */
size_t nb_bins_find(const struct nb_bins *bins, nb_int128 fixed);

/* Documents of a label and of all labels: with a number in a bin, and with any. */
struct nb_bin_counts {
    uint64_t own, all, own_sum, all_sum;
    size_t bins;
};

struct nb_bin_counts nb_bin_counts_of(const struct nb_bins *bins, size_t bin, uint32_t place);

/* What the settings' estimate and smoothing add to the counts of a bin, and to their sum, for a
 * label of this name. */
struct nb_addends nb_bin_addends(const struct nb_settings *settings, const char *label,
                                 struct nb_bin_counts counts, double *added);

/* What a bin brings to a label of this name: as a category does, by the settings' estimate and
 * smoothing, and with the complement model from the other labels' counts. */
struct nb_factor nb_bin_factor(const struct nb_settings *settings, const char *label,
                               struct nb_bin_counts counts);

/* ln of its estimate from the counts `own`, whatever the event model is; -infinity of 0. */
double nb_bin_log(const struct nb_settings *settings, const char *label,
                  struct nb_bin_counts counts);

size_t nb_bins_memory(const struct nb_bins *bins);

#endif
