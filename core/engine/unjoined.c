/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/unjoined.h"

#include "core/writer/stage/batch.h"

static int refuse(struct nb_error *error)
{
    return nb_error_set(
        error, NB_STOPPING,
        "this node does not follow the others now (GET /readyz says why); send the change "
        "again later, or to another node");
}

static void submit(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                   void *done_user)
{
    (void)user;
    for (size_t i = 0; i < batch->size; i++)
        batch->changes[i].receipt.code = refuse(&batch->changes[i].receipt.error);
    done(batch, done_user);
}

static int ask(void *user, const struct nb_errand *errand, struct nb_errand_done *done,
               struct nb_error *error)
{
    (void)user;
    (void)errand;
    (void)done;
    return refuse(error);
}

static int catch_up(void *user, struct nb_error *error)
{
    (void)user;
    return refuse(error);
}

static bool lacks(void *user)
{
    (void)user;
    return true;
}

static void propose(void *user, const struct nb_batch *batch)
{
    (void)user;
    (void)batch;
}

static void propose_errand(void *user, const struct nb_errand *errand)
{
    (void)user;
    (void)errand;
}

const struct nb_relay nb_unjoined = {NULL, submit, ask, catch_up, lacks, propose, propose_errand};
