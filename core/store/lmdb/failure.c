/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the last commit; whether the store has failed, or met damage, and why.
 */
#include "core/store/lmdb/store_private.h"
#include "core/store/pages/meta.h"

void nb_store_note_state(struct nb_store *store)
{
    MDB_envinfo info;
    MDB_stat statistics;
    mdb_env_info(store->environment, &info);
    mdb_env_stat(store->environment, &statistics);
    store->committed = info.me_last_txnid;
    store->page_size = statistics.ms_psize;
    atomic_store(&store->used, (info.me_last_pgno + 1) * (uint64_t)statistics.ms_psize);
    atomic_store(&store->map, info.me_mapsize);
}

int nb_store_settle(struct nb_store *store, struct nb_error *error)
{
    int rc = nb_journal_settle(&store->journal, error);
    if (rc != 0 || !store->unsure)
        return rc;
    rc = nb_meta_put_back(store->file.data, store->file.data_path, store->page_size,
                          store->committed, error);
    store->unsure = rc != 0;
    return rc;
}

void nb_store_set_failure(struct nb_store *store, const struct nb_error *failure)
{
    pthread_mutex_lock(&store->failure_lock);
    store->failure = *failure;
    pthread_mutex_unlock(&store->failure_lock);
}

bool nb_store_failed(struct nb_store *store, struct nb_error *error)
{
    pthread_mutex_lock(&store->failure_lock);
    bool failed = store->failure.code != 0;
    if (failed && error != NULL)
        *error = store->failure;
    pthread_mutex_unlock(&store->failure_lock);
    return failed;
}

bool nb_store_met_damage(struct nb_store *store, struct nb_error *what)
{
    pthread_mutex_lock(&store->failure_lock);
    *what = store->damage;
    pthread_mutex_unlock(&store->failure_lock);
    return what->code != 0;
}
