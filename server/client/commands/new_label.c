/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/commands/new_label.h"

#include "core/base/label/difference.h"
#include "server/client/base/client_answer.h"
#include "server/client/terminal/terminal.h"

/* Gets the labels of the model. A model that does not exist yet has none. */
static int get_labels(struct nb_new_label *check, const struct nb_client *client,
                      struct nb_error *error)
{
    json_t *row = NULL;
    int rc = nb_answer_get(client, "", &row, error);
    check->documents = nb_answer_number(row, "documents");
    check->known = rc == 0 && json_is_object(json_object_get(row, "labels"))
                       ? json_incref(json_object_get(row, "labels"))
                       : json_object();
    check->good = json_object();
    json_decref(row);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

/* Returns whether the model has documents of the label. A label is still listed after its documents
 * were all forgotten or moved to the right label; a second typing error must not pass for a known
 * label. */
static bool is_in_use(const struct nb_new_label *check, struct nb_string label)
{
    const json_t *counts = json_object_getn(check->known, label.bytes, label.length);
    return nb_answer_number(counts, "documents") > 0;
}

/* Returns a label with documents whose name is similar; NULL: there is none. */
static const char *nearest(json_t *known, struct nb_string label, bool *looks_same)
{
    const char *name;
    json_t *counts;
    json_object_foreach(known, name, counts)
    {
        if (nb_answer_number(counts, "documents") == 0)
            continue;
        enum nb_label_difference difference = nb_label_difference_of(label, nb_string_of(name));
        *looks_same = difference > NB_LABEL_NEAR;
        if (difference != NB_LABEL_OTHER)
            return name;
    }
    return NULL;
}

static int judge(const struct nb_new_label *check, struct nb_string label, const char *old,
                 bool looks_same, const char *name, struct nb_error *error)
{
    struct nb_figure documents =
        nb_figure_of(nb_answer_number(json_object_get(check->known, old), "documents"));
    if (nb_ask_is_possible() &&
        nb_ask("The label '%.*s' is new, and there is '%s' with %s documents. Is it meant?",
               (int)label.length, label.bytes, old, documents.text))
        return 0;
    if (!nb_ask_is_possible() && !looks_same && check->documents < NB_NEW_LABEL_DOCUMENTS)
        return 0;
    return nb_error_set(
        error, NB_INVALID,
        "%s: the label '%.*s' is new, and there is '%s' with %s documents%s: correct "
        "it, or use --new-label if it is meant",
        name, (int)label.length, label.bytes, old, documents.text,
        looks_same ? ", which differs in case or in characters that are not seen" : "");
}

int nb_new_label_check(struct nb_new_label *check, const struct nb_client *client,
                       struct nb_string label, const char *name, struct nb_error *error)
{
    int rc = check->known != NULL ? 0 : get_labels(check, client, error);
    if (rc != 0 || is_in_use(check, label) ||
        json_object_getn(check->good, label.bytes, label.length) != NULL)
        return rc;
    bool looks_same = false;
    const char *old = nearest(check->known, label, &looks_same);
    rc = old == NULL ? 0 : judge(check, label, old, looks_same, name, error);
    if (rc == 0) /* for a label that is not UTF-8 this fails, and the daemon refuses the label */
        (void)json_object_setn_new(check->good, label.bytes, label.length, json_true());
    return rc;
}

void nb_new_label_deinit(struct nb_new_label *check)
{
    json_decref(check->known);
    json_decref(check->good);
    *check = (struct nb_new_label){0};
}
