/* SPDX-License-Identifier: Apache-2.0 */
#include "core/repair/waiting.h"

#include "core/store/quarantine.h"

enum { TRANSACTION_BYTES = 16 << 20 };

struct copying {
    struct nb_store *to;
    const struct nb_survey *survey;
    struct nb_differences *d;
    struct nb_view view; /* the open transaction, or ended */
    uint64_t bytes;      /* that it has */
};

static int put(struct copying *c, struct nb_string key, struct nb_string value,
               struct nb_error *error)
{
    uint32_t model = nb_store_key_head(key);
    struct nb_string id = nb_string_from(key, sizeof model);
    int rc = 0;
    if (c->view.transaction != NULL && c->bytes + value.length > TRANSACTION_BYTES)
        rc = nb_store_commit(&c->view, error);
    if (rc == 0 && c->view.transaction == NULL) {
        rc = nb_store_begin(c->to, TRANSACTION_BYTES + value.length, &c->view, error);
        c->bytes = 0;
    }
    c->bytes += value.length;
    return rc != 0 ? rc : nb_quarantine_put(&c->view, model, id, value, error);
}

static int copy(void *user, enum nb_table table, struct nb_string key, struct nb_string value,
                bool sound, struct nb_error *error)
{
    struct copying *c = user;
    struct nb_quarantined quarantined;
    (void)table;
    if (!sound || nb_quarantined_read(&quarantined, value, NULL) != 0) {
        nb_differ(c->d, "a change in the quarantine is lost");
        return 0;
    }
    const struct nb_surveyed_model *model = nb_survey_model(c->survey, nb_store_key_head(key));
    return model != NULL && nb_surveyed_exists(model) ? put(c, key, value, error) : 0;
}

int nb_waiting_copy(const struct nb_view *from, struct nb_store *to, const struct nb_survey *survey,
                    struct nb_differences *d, struct nb_error *error)
{
    struct copying c = {.to = to, .survey = survey, .d = d};
    struct nb_error why;
    int rc = nb_store_inspect(from, NB_TABLE_QUARANTINE, copy, &c, &why);
    if (rc == NB_CORRUPT) { /* its pages are damaged */
        nb_differ(d, "what waited in the quarantine cannot be read");
        rc = 0;
    }
    if (rc == 0 && c.view.transaction != NULL)
        rc = nb_store_commit(&c.view, &why);
    nb_store_abort(&c.view);
    return rc != 0 ? nb_error_set(error, rc, "%s", why.text) : 0;
}
