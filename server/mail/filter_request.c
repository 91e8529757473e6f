/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/filter_request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "server/base/metrics.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "server/mail/filter.h"
#include "server/mail/filter_report.h"
#include "tokenizer/mail_attached.h"

/* Returns the recipient if there is exactly one. */
static struct nb_string only_recipient(const struct nb_request *request, const char *field)
{
    size_t at = 0;
    struct nb_string first = request->carrier->next_field(request, field, &at), none = {"", 0};
    if (first.bytes == NULL || memchr(first.bytes, ',', first.length) != NULL)
        return none;
    return request->carrier->next_field(request, field, &at).bytes == NULL ? first : none;
}

/* Returns the envelope of the mail from the header fields of rspamd's protocol: IP, Helo, From and,
 * if there is only one, Rcpt. SPAMC has no envelope. The strings are borrowed from the request. */
static struct nb_envelope filter_envelope(const struct nb_request *request)
{
    const char *recipient_field = request->route->protocol->recipient_field;
    if (recipient_field == NULL)
        return (struct nb_envelope){.address = {NULL, 0}};
    return (struct nb_envelope){.address = nb_request_field(request, "IP"),
                                .helo = nb_request_field(request, "Helo"),
                                .sender = nb_request_field(request, "From"),
                                .recipient = only_recipient(request, recipient_field)};
}

/* Counts the users who have models of their own, for the metrics. A user whose address makes no
 * name of a model is not counted. */
static void count_users(const struct nb_request *request, const struct nb_string *users,
                        size_t count)
{
    const struct nb_config *config = request->config;
    char model[NB_FILTER_MODEL];
    for (size_t i = 0; i < count; i++)
        if (nb_filter_model(config, users[i], model, NULL) == 0 &&
            strcmp(model, config->filter_model) != 0)
            nb_metrics_user(request->server->metrics, nb_string_of(model), NB_USER_ASKED);
}

int nb_filter_judge(struct nb_request *request, double required, double threshold,
                    struct nb_filter_report *report, struct nb_buffer *each, struct nb_error *error)
{
    uint64_t start = nb_clock_monotonic();
    struct nb_string *users;
    size_t count;
    int rc = nb_filter_users(request, &users, &count, error);
    const struct nb_string mail = nb_filter_mail(request->body);
    const struct nb_document document = {.kind = NB_DOCUMENT_MAIL,
                                         .bytes = mail.bytes,
                                         .length = mail.length,
                                         .envelope = filter_envelope(request)};
    if (rc == 0)
        rc = nb_filter_check(request->server, request->config, request->grant.models, &document,
                             users, count, request, report, each, error);
    if (rc == 0)
        count_users(request, users, count);
    free(users);
    if (rc != 0 || !nb_verdict_log_wants(request))
        return rc;
    nb_verdict_log(request, &(struct nb_verdict_note){
                                .message_id = nb_string_of(report->message_id),
                                .model = nb_string_of(report->model),
                                .verdict = nb_string_of(report->status),
                                .probability = report->probability,
                                .score = nb_filter_score(report->log_odds, required, threshold),
                                .action = nb_string_of(nb_filter_action_name(report->action)),
                                .nanoseconds = nb_clock_monotonic() - start,
                            });
    return 0;
}

struct learning {
    struct nb_request *request;
    struct nb_batch *batch; /* owned */
    char model[NB_FILTER_MODEL];
    char message_id[NB_FILTER_FIELD];
};

static void learning_free(void *user)
{
    struct learning *learning = user;
    nb_batch_free(&learning->batch);
    free(learning);
}

/* The parameters for adding mails to the batch of a request. */
struct lesson {
    struct learning *learning;
    const char *label; /* NULL: the mail is forgotten */
    struct nb_string source;
    struct nb_envelope envelope;
};

static int learn_mail(struct lesson *lesson, struct nb_string mail, struct nb_error *error)
{
    const struct nb_document document = {.kind = NB_DOCUMENT_MAIL,
                                         .bytes = mail.bytes,
                                         .length = mail.length,
                                         .envelope = lesson->envelope};
    const struct nb_string no_id = {NULL, 0};
    struct nb_batch *batch = lesson->learning->batch;
    assert(batch != NULL); /* make_batch has made it */
    if (lesson->label == NULL)
        return nb_batch_untrain(batch, &document, no_id, lesson->source, error);
    return nb_batch_train(batch, &document, nb_string_of(lesson->label), no_id, lesson->source,
                          error);
}

/* Learns the mails in a forward, but not the forward itself, and without its envelope, which is not
 * theirs. */
static int learn_attached(struct lesson *lesson, struct nb_string forward, struct nb_error *error)
{
    struct learning *learning = lesson->learning;
    struct nb_mail_attached attached = {.count = 0};
    lesson->envelope = (struct nb_envelope){0};
    int rc = nb_mail_attached_find(&attached, forward, error);
    if (rc == 0 && attached.count == 0)
        rc = nb_error_set(error, NB_INVALID, "the mail %s", NB_MAIL_NOTHING_ATTACHED);
    else if (rc == 0)
        nb_filter_message_id(learning->request->config, nb_mail_attached_get(&attached, 0),
                             learning->message_id);
    for (size_t i = 0; rc == 0 && i < attached.count; i++)
        rc = learn_mail(lesson, nb_mail_attached_get(&attached, i), error);
    nb_mail_attached_deinit(&attached);
    return rc;
}

static int make_batch(struct learning *learning, struct nb_string mail, const char *label,
                      bool is_forward, struct nb_error *error)
{
    assert(learning->batch == NULL);
    const struct nb_request *request = learning->request;
    struct nb_string model = nb_string_of(learning->model);
    struct lesson lesson = {
        .learning = learning, .label = label, .envelope = filter_envelope(request)};
    int rc = nb_request_source(request, &lesson.source, error);
    if (rc != 0)
        return rc;
    rc = nb_batch_new(request->server->engine, model, !is_forward, &learning->batch, error);
    if (rc != 0)
        return rc;
    nb_batch_quarantine(learning->batch, nb_request_is_quarantined(request, &lesson.source));
    return is_forward ? learn_attached(&lesson, mail, error) : learn_mail(&lesson, mail, error);
}

/* Sets *is to whether the header field Attached says that the mail is a forward of the mails to
 * learn. */
static int read_attached(const struct nb_request *request, bool *is, struct nb_error *error)
{
    struct nb_string value = nb_string_trim(nb_request_field(request, "Attached"));
    *is = nb_string_equals_nocase(value, "yes");
    if (*is || value.length == 0 || nb_string_equals_nocase(value, "no"))
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "the header field Attached is 'yes' (learn the mails that are attached to "
                        "this one) or 'no'");
}

int nb_filter_learn(struct nb_request *request, struct nb_string mail, const char *label,
                    nb_handler *after, struct nb_error *error)
{
    assert(after != NULL);
    char user[NB_USER_NAME];
    bool is_forward = false;
    int rc = nb_request_check_load(request, error);
    if (rc != 0)
        return rc;
    assert(request->state == NULL);
    struct learning *learning = calloc(1, sizeof *learning);
    if (learning == NULL)
        return nb_error_no_memory(error);
    learning->request = request;
    request->state = learning;
    request->state_free = learning_free;
    nb_filter_message_id(request->config, mail, learning->message_id);
    nb_filter_learner(request, user);
    rc = nb_filter_model(request->config, nb_string_of(user), learning->model, error);
    if (rc == 0)
        rc = nb_request_check_model(request, nb_string_of(learning->model), error);
    if (rc == 0)
        rc = read_attached(request, &is_forward, error);
    if (rc == 0)
        rc = make_batch(learning, mail, label, is_forward, error);
    if (rc != 0)
        return rc;
    if (label != NULL && strcmp(learning->model, request->config->filter_model) != 0)
        nb_metrics_user(request->server->metrics, nb_string_of(learning->model), NB_USER_TAUGHT);
    return nb_request_submit(request, learning->batch, after, error);
}

/* Of several mails, one that failed counts more than the others, and one that changed something
 * counts more than one that is unchanged. */
const struct nb_receipt *nb_filter_receipt(const struct nb_request *request)
{
    const struct learning *learning = request->state;
    assert(learning != NULL && learning->batch != NULL); /* nb_filter_learn was called */
    const struct nb_receipt *told = nb_batch_receipt(learning->batch, 0);
    for (size_t i = 1; told->code == 0 && i < nb_batch_size(learning->batch); i++) {
        const struct nb_receipt *receipt = nb_batch_receipt(learning->batch, i);
        if (receipt->code != 0 || told->status == NB_UNCHANGED)
            told = receipt;
    }
    return told;
}

const char *nb_filter_learned_message(const struct nb_request *request)
{
    const struct learning *learning = request->state;
    assert(learning != NULL);
    return learning->message_id;
}

bool nb_filter_learned_for_all(const struct nb_request *request)
{
    const struct learning *learning = request->state;
    assert(learning != NULL);
    return strcmp(learning->model, request->config->filter_model) == 0;
}
