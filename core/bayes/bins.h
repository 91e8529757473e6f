/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of an attribute cut into bins, each of which is then a category.
 *
 * n numbers make sqrt(n) bins, rounded down, at least 2 and at most NB_BINS_MOST, so that with more
 * documents there are more and fuller bins (Yang and Webb 2001, proportional k-interval
 * discretization). The cuts are quantiles of the distribution in which each label that has numbers
 * weighs the same, so that a rare label is not lost in one bin. Let w(x) be the share of x in a
 * label's numbers, averaged over these labels, and W(x) the sum of w over all numbers below x. Then
 * x is in bin floor(B (W(x) + w(x) / 2)) of B. Equal numbers are in one bin; empty bins are
 * dropped. The border between two bins is half-way between their nearest numbers, and belongs to
 * the lower bin. The bins are a function of the counts alone.
 *
 * Threads: as in core/bayes/attribute_scores.h.
 */
#ifndef NB_CORE_BAYES_BINS_H
#define NB_CORE_BAYES_BINS_H

#include "core/base/number.h"
#include "core/bayes/estimate.h"
#include "core/counts/counts.h"

/* The Gaussian of an attribute's numbers in the documents of a label: the naive Bayes classifier of
 * Mitchell 1997, section 6.9, with a density for each continuous attribute (John and Langley 1995).
 * Pure functions; any thread.
 *
 * Mean and variance are those of the label's numbers; the variance is divided by their count (the
 * maximum of the likelihood). As in scikit-learn's GaussianNB a small number is added to every
 * variance, 1e-9 of the largest variance that any attribute has over all labels, so that none is 0.
 * GaussianNB leaves two cases open: a label with one number has that mean, and the variance of the
 * numbers of all labels; a label without numbers has the mean and the variance of all. */
#define NB_VARIANCE_SMOOTHING 1e-9

struct nb_gaussian {
    struct nb_moments moments; /* of the numbers that give the mean: at least one */
    double variance;           /* including what is added to it: above 0 */
    double log_height;         /* ln of the density at the mean */
};

/* Returns the Gaussian of the numbers `own`, a part of `all`; `all` has at least one number.
 * `added`, above 0, is added to the variance. */
struct nb_gaussian nb_gaussian_of(const struct nb_moments *own, const struct nb_moments *all,
                                  double added);

/* ln of the density at a number (nb_decimal_fixed). */
double nb_gaussian_log(const struct nb_gaussian *gaussian, nb_int128 fixed);

/* The sorted numbers in the documents of a model, and how many documents of each label have each
 * number. Bins are cut from this list.
 *
 * The order is kept when counts change: a new number is inserted at its place. All numbers are
 * collected and sorted again only when rows of the model were dropped or renamed. The document
 * counts of the numbers are read whenever the model's counts have changed.
 *
 * Threads: as in core/bayes/attribute_scores.h. */
struct nb_number_row {
    nb_int128 fixed;
    uint32_t row;
    uint32_t attribute;
};

struct nb_number_cell {
    uint32_t place; /* of the label */
    uint32_t documents;
};

/* All zeros: an empty list. */
struct nb_number_list {
    struct nb_number_row *rows; /* by attribute, then by number; owned, as all arrays here */
    size_t *begin; /* count + 1: where the cells of each number begin; cells by place */
    struct nb_number_cell *cells;
    uint32_t *places; /* by label number */
    size_t count, row_room, begin_room, cell_room, place_room;
    uint32_t seen; /* rows of the model below this are in the list, if they are numbers */
    uint64_t renames;
};

/* The numbers of one attribute, in order; borrowed. */
struct nb_number_span {
    const struct nb_number_row *rows;
    const size_t *begin; /* count + 1, into `cells` */
    const struct nb_number_cell *cells;
    size_t count;
};

void nb_number_list_deinit(struct nb_number_list *list);
/* Brings the list up to date. Label number names[i] of the model gets place i. Returns 0 or
 * NB_NO_MEMORY. */
int nb_number_list_make(struct nb_number_list *list, const struct nb_model *model,
                        const uint32_t *names, uint32_t size);
size_t nb_number_list_memory(const struct nb_number_list *list);

struct nb_number_span nb_number_list_span(const struct nb_number_list *list, size_t attribute);

enum { NB_BINS_MOST = 64 };

/* All zeros: no bins. */
struct nb_bins {
    size_t count;
    uint32_t size;    /* of labels */
    nb_int128 *ends;  /* for each bin but the last, twice its upper border; owned */
    uint64_t *counts; /* documents, at bin * (size + 1) + place; place `size`: all labels; owned */
    uint64_t *sums;   /* documents of a label, by place; owned */
    uint64_t sum;     /* documents of all labels */
};

/* Cuts numbers for `size` labels, in time linear in the documents. Returns 0 or NB_NO_MEMORY. */
int nb_bins_make(struct nb_bins *bins, uint32_t size, const struct nb_number_span *numbers);
void nb_bins_deinit(struct nb_bins *bins);

/* Returns the bin of any number. There must be at least one bin. */
size_t nb_bins_find(const struct nb_bins *bins, nb_int128 fixed);

/* Documents of a label and of all labels: with a number in one bin, and with any number. */
struct nb_bin_counts {
    uint64_t own, all, own_sum, all_sum;
    size_t bins;
};

struct nb_bin_counts nb_bin_counts_of(const struct nb_bins *bins, size_t bin, uint32_t place);

/* Returns what the settings' estimate and smoothing add to the counts of a bin, and sets *added to
 * what they add to the sum, for the label with this name. */
struct nb_addends nb_bin_addends(const struct nb_settings *settings, const char *label,
                                 struct nb_bin_counts counts, double *added);

/* Returns a bin's factor for the label with this name, as for a category: by the settings' estimate
 * and smoothing; with the complement model, from the other labels' counts. */
struct nb_factor nb_bin_factor(const struct nb_settings *settings, const char *label,
                               struct nb_bin_counts counts);

/* ln of the bin's estimate from the counts `own`, for any event model; -infinity for 0. */
double nb_bin_log(const struct nb_settings *settings, const char *label,
                  struct nb_bin_counts counts);

size_t nb_bins_memory(const struct nb_bins *bins);

#endif
