/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replica/part.h"

#include "core/base/clock.h"
#include "core/replica/incoming.h"
#include "core/replica/operation.h"
#include "core/replica/replica_state.h"
#include "core/settings/settings.h"

/* What has passed by before its position is stored, also while more comes. */
enum { PASSED_MOST = 1000 };
static const uint64_t PASSED_FOR = UINT64_C(100000000);

bool nb_part_has(const struct nb_replica *r, struct nb_string model)
{
    const char *follow = r->settings.follow;
    return *follow == '\0' || r->settings.matches(follow, model);
}

/* Whether all nodes do it, whatever models they have. */
static bool is_for_all(const struct nb_errand *e)
{
    return e->kind == NB_ERRAND_BARRIER || e->kind == NB_ERRAND_PUT_NAMED ||
           e->kind == NB_ERRAND_DELETE_NAMED || e->kind == NB_ERRAND_UNSTAGE;
}

/* Calls `visit` with each other model that the errand ties its model to. */
static int each_other(const struct nb_replica *r, const struct nb_errand *e,
                      int (*visit)(const struct nb_replica *, const struct nb_errand *,
                                   struct nb_string, struct nb_error *),
                      struct nb_error *error)
{
    struct nb_settings settings;
    int rc = 0;
    if (e->kind == NB_ERRAND_IMPORT) {
        rc = e->to.length > 0 ? visit(r, e, e->to, error) : 0;
        return rc != 0 || e->settings.length == 0 ? rc : visit(r, e, e->settings, error);
    }
    if (e->kind != NB_ERRAND_PUT)
        return 0;
    rc = nb_settings_read(&settings, e->settings, error);
    if (rc != 0) /* settings that nobody can use tie nothing */
        return rc == NB_NO_MEMORY ? rc : 0;
    if (settings.parent != NULL)
        rc = visit(r, e, nb_string_of(settings.parent), error);
    nb_settings_deinit(&settings);
    return rc;
}

/* ---- what is asked of this node -------------------------------------------------------------- */

int nb_part_check_model(const struct nb_replica *r, struct nb_string model, struct nb_error *error)
{
    if (nb_part_has(r, model))
        return 0;
    return nb_error_set(error, NB_ELSEWHERE, "this node does not follow the model '%.*s'",
                        (int)model.length, model.bytes);
}

static bool is_copy_of(const struct nb_errand *e, struct nb_string other)
{
    return e->kind == NB_ERRAND_IMPORT && nb_string_same(other, e->to);
}

static int check_other(const struct nb_replica *r, const struct nb_errand *e,
                       struct nb_string other, struct nb_error *error)
{
    int rc = nb_part_check_model(r, other, error);
    return rc != 0 || r->settings.check_pair == NULL
               ? rc
               : r->settings.check_pair(r->settings.user, e->model, other, is_copy_of(e, other),
                                        error);
}

int nb_part_check(const struct nb_replica *r, const struct nb_errand *e, struct nb_error *error)
{
    if (is_for_all(e))
        return 0;
    int rc = nb_part_check_model(r, e->model, error);
    return rc != 0 ? rc : each_other(r, e, check_other, error);
}

/* ---- what the stream has --------------------------------------------------------------------- */

/* A copy needs what it is of; a family is whole, or is not there: what may be deleted depends on
 * children as well as on parents. */
static int judge_other(const struct nb_replica *r, const struct nb_errand *e,
                       struct nb_string other, struct nb_error *error)
{
    bool has = nb_part_has(r, e->model), has_other = nb_part_has(r, other);
    if (has == has_other || (is_copy_of(e, other) && !has))
        return 0;
    return nb_error_set(error, NB_VERSION,
                        "the model '%.*s' gets '%.*s' as its parent, or becomes a copy of it, and "
                        "this node follows one of the two alone: name both in [cluster] follow, "
                        "and begin with an empty data directory",
                        (int)e->model.length, e->model.bytes, (int)other.length, other.bytes);
}

int nb_part_judge(const struct nb_replica *r, const struct nb_operation *o, bool *passes_by,
                  struct nb_error *error)
{
    *passes_by = false;
    if (r->settings.follow[0] == '\0')
        return 0;
    if (o->kind == NB_OPERATION_CHANGE) {
        *passes_by = !nb_part_has(r, o->errand.model);
        return 0;
    }
    if (is_for_all(&o->errand))
        return 0;
    *passes_by = !nb_part_has(r, o->errand.model);
    int rc = each_other(r, &o->errand, judge_other, error);
    return rc == NB_NO_MEMORY ? nb_error_set(error, NB_STOPPING, "out of memory") : rc;
}

int nb_part_pass(struct nb_replica *r, const struct nb_relayed *here)
{
    uint64_t now = nb_clock_monotonic();
    if (r->passed.position <= r->handed)
        r->passed_since = now;
    r->passed = *here;
    bool is_due = here->position - r->handed >= PASSED_MOST || now - r->passed_since > PASSED_FOR;
    return is_due ? nb_part_store(r) : 0;
}

int nb_part_store(struct nb_replica *r)
{
    if (r->passed.position <= r->handed)
        return 0;
    struct nb_relayed here = r->passed;
    here.after = r->handed;
    int rc = nb_incoming_pass(r, &here, NULL, NULL);
    if (rc == 0)
        r->handed = here.position;
    return rc;
}
