/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/repair/repair_waiting.h"

#include "core/ledger/entries/quarantine_entries.h"
#include "core/writer/remember/remembered_history.h"

enum { TRANSACTION_BYTES = 16 << 20 };

struct copying {
    struct nb_store *to;
    const struct nb_survey *survey;
    struct nb_differences *d;
    struct nb_view view; /* the open transaction, or ended */
    uint64_t bytes;      /* of the values in it */
};

/* Makes room in the open transaction. */
static int begin(struct copying *c, struct nb_string value, struct nb_error *error)
{
    int rc = 0;
    if (c->view.transaction != NULL && c->bytes + value.length > TRANSACTION_BYTES)
        rc = nb_store_commit(&c->view, error);
    if (rc == 0 && c->view.transaction == NULL) {
        rc = nb_store_begin(c->to, TRANSACTION_BYTES + value.length, &c->view, error);
        c->bytes = 0;
    }
    c->bytes += value.length;
    return rc;
}

static bool exists(const struct copying *c, uint32_t number)
{
    const struct nb_surveyed_model *model = nb_survey_model(c->survey, number);
    return model != NULL && nb_surveyed_exists(model);
}

static int copy_change(void *user, enum nb_table table, struct nb_string key,
                       struct nb_string value, bool sound, struct nb_error *error)
{
    struct copying *c = user;
    struct nb_quarantined quarantined;
    (void)table;
    if (!sound || nb_quarantined_read(&quarantined, value, NULL) != 0) {
        nb_lose(c->d, "a change in the quarantine is lost");
        return 0;
    }
    uint32_t model = nb_store_key_head(key);
    if (!exists(c, model))
        return 0;
    int rc = begin(c, value, error);
    struct nb_string id = nb_string_from(key, sizeof model);
    return rc != 0 ? rc : nb_quarantine_put(&c->view, model, id, value, error);
}

/* Verdicts come in the order of their numbers; here they get new ones. */
static int copy_verdict(void *user, enum nb_table table, struct nb_string key,
                        struct nb_string value, bool sound, struct nb_error *error)
{
    struct copying *c = user;
    struct nb_history_record record;
    uint32_t model = nb_store_key_head(key);
    (void)table;
    if (!sound || nb_history_read(&record, value, NULL) != 0) {
        nb_differ(c->d, "a verdict in the history is lost");
        return 0;
    }
    if (!exists(c, model))
        return 0;
    int rc = begin(c, value, error);
    return rc != 0 ? rc : nb_history_put(&c->view, model, record.id, value, error);
}

/* A table whose pages are damaged is lost. */
static int copy_table(struct copying *c, const struct nb_view *from, enum nb_table table,
                      nb_store_inspector *copy, struct nb_error *error)
{
    int rc = nb_store_inspect(from, table, copy, c, error);
    if (rc != NB_CORRUPT)
        return rc;
    nb_lose(c->d, "table %s cannot be read", nb_store_table_name(table));
    return 0;
}

int nb_waiting_copy(const struct nb_view *from, struct nb_store *to, const struct nb_survey *survey,
                    struct nb_differences *d, struct nb_error *error)
{
    struct copying c = {.to = to, .survey = survey, .d = d};
    struct nb_error why;
    int rc = copy_table(&c, from, NB_TABLE_QUARANTINE, copy_change, &why);
    if (rc == 0)
        rc = copy_table(&c, from, NB_TABLE_HISTORY, copy_verdict, &why);
    if (rc == 0 && c.view.transaction != NULL)
        rc = nb_store_commit(&c.view, &why);
    nb_store_abort(&c.view);
    return rc != 0 ? nb_error_set(error, rc, "%s", why.text) : 0;
}
