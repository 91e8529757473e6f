/* SPDX-License-Identifier: Apache-2.0
 *
 * Suspected wrong labels: the learned documents whose label the model without them believes least
 * (core/engine/engine_evaluation.h), with the label that it gives them instead. Any thread; a call
 * takes long and belongs to one thread.
 *
 * Each document is scored twice (engine_evaluation.h); its label's log-odds are the mean of both. A
 * document is suspected if another label wins. One whose label was given by its id, by somebody who
 * has looked at it (nb_batch_label), is never suspected (nb_change.is_reviewed).
 */
#ifndef NB_CORE_JOBS_SUSPECTS_SUSPECTS_H
#define NB_CORE_JOBS_SUSPECTS_SUSPECTS_H

#include "core/engine/engine.h"

/* A suspect; it owns its strings. */
struct nb_suspect {
    struct nb_buffer id; /* may have NUL bytes */
    char *label, *suggested, *source;
    /* Documents have several labels: `label` is the one that is doubted, and `suggested` "remove"
     * or "add"; `probability` is that of the change. */
    double probability;       /* of the suggested label ... */
    double label_probability; /* ... and of its own one, without the document; */
    double log_odds;          /* ln(p / (1 - p)) of the latter */
    int64_t time;             /* milliseconds since 1970, of its newest change */
    uint64_t tokens;
    uint64_t number; /* of its entry */
};

/* A source of suspects. */
struct nb_suspect_source {
    char *name;         /* owned; may be empty */
    uint64_t documents; /* suspects that are likely wrong */
};

#define NB_SUSPECT_BOUND .9
enum { NB_SUSPECTS_MOST = 10000, NB_SUSPECT_SOURCES_MOST = 1000 };

struct nb_suspects {
    struct nb_suspect *list; /* owned; the most suspect first */
    size_t count;
    bool has_more;
    uint64_t looked_at; /* documents that were scored */
    uint64_t suspected; /* of these, another label wins ... */
    uint64_t likely;    /* ... with a probability of at least NB_SUSPECT_BOUND */
    /* The sources of these; most documents first, of equals by name; the rest is left out. */
    struct nb_suspect_source *sources; /* owned */
    size_t source_count, source_room;
};
void nb_suspects_deinit(struct nb_suspects *suspects);

/* Where a page begins: behind the suspect with these figures. */
struct nb_suspects_page {
    double log_odds; /* -INFINITY: at the first one */
    uint64_t number;
    size_t limit; /* suspects, 1 to NB_SUSPECTS_MOST */
};

/* Scores all documents of a model, a random sample of 100,000 if it has more, fewer if it has more
 * than 50 labels, and fills `suspects`, which the caller deinits in any case. `stop` (NULL: never)
 * is asked now and then. Returns 0, NB_NOT_FOUND (model), NB_CONFLICT (no document; the parent is
 * gone, or the model is by the book and has a parent), NB_STOPPING, NB_DAMAGED, NB_IO or
 * NB_NO_MEMORY. */
int nb_engine_suspects(struct nb_engine *engine, struct nb_string model,
                       const struct nb_suspects_page *page, bool (*stop)(void *user), void *user,
                       struct nb_suspects *suspects, struct nb_error *error);

#endif
