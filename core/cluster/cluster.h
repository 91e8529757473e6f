/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters of a model's documents: which topics a heap of texts has, before anybody gave labels.
 * A mixture of multinomials (core/mixture/mixture.h) over the presence of words.
 *
 * On the caller's thread. The bags come from the ledger, some hundred documents in one snapshot, so
 * that nobody waits for it. It takes 16 bytes for each cluster and word, and 8 for each word of a
 * document, until it returns.
 */
#ifndef NB_CORE_CLUSTER_CLUSTER_H
#define NB_CORE_CLUSTER_CLUSTER_H

#include "core/engine/engine.h"

enum {
    NB_CLUSTERS_MOST = 200,
    NB_CLUSTER_RESTARTS_MOST = 100,
    NB_CLUSTER_WORDS = 10,
    NB_CLUSTER_NEAREST = 5,
    NB_CLUSTER_DOCUMENTS_MOST = 200000,
};

struct nb_cluster_wish {
    uint32_t clusters; /* 0: as many as give the least Bayesian information criterion */
    uint32_t restarts; /* random starts, of which the likeliest end counts; at least 1 */
    uint64_t seed;
    bool all;                 /* documents with a label, too */
    bool members;             /* all documents of a cluster are told */
    bool apply;               /* and get a label of its own; not with `all` */
    struct nb_string source;  /* with `apply`: who asks for it; kept with the changes */
    bool (*stop)(void *user); /* asked all the time; NULL: never */
    void *user;
};

struct nb_cluster_word {
    char *text;   /* owned */
    double share; /* of the cluster's words */
    double lift;  /* ln of that share divided by the word's share in all documents */
};

struct nb_cluster {
    uint64_t documents;
    char *label; /* that its documents got; owned; NULL: none (no `apply`, or no documents) */
    struct nb_cluster_word words[NB_CLUSTER_WORDS]; /* the most telling: greatest share * lift */
    size_t word_count;
    char *nearest[NB_CLUSTER_NEAREST]; /* ids of the documents that are surest to be of it; owned */
    size_t nearest_count;
    char **members; /* ids of all its documents, in the order of their entries; owned */
    size_t member_count, member_room;
};

struct nb_clustering {
    struct nb_cluster *clusters; /* owned; the largest first */
    size_t count;
    uint64_t documents, words; /* that were looked at */
    uint64_t labelled; /* with `apply`: documents that got a label; others have changed meanwhile */
    double log_likelihood, bic;
    unsigned iterations; /* of the fit that counts */
};
void nb_clustering_deinit(struct nb_clustering *clustering);

/* Finds clusters of the living documents without a label. The same seed and the same documents give
 * the same. With `apply` the documents get their labels as soon as all is known that is told, some
 * hundred in each commit: what ends it leaves each document with its label or without one. The
 * caller deinits *clustering in any case; after a failure it has nothing but `labelled`. Returns 0,
 * NB_NOT_FOUND (model), NB_CONFLICT (fewer documents with words than clusters), NB_TOO_LARGE
 * (documents, or clusters times words, or labels), NB_STOPPING, NB_DAMAGED, NB_DISK_FULL, NB_IO or
 * NB_NO_MEMORY. */
int nb_engine_cluster(struct nb_engine *engine, struct nb_string model,
                      const struct nb_cluster_wish *wish, struct nb_clustering *clustering,
                      struct nb_error *error);

#endif
