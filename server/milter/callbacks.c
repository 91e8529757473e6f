/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/callbacks.h"

#include <assert.h>
#include <libmilter/mfapi.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "core/base/system.h"
#include "server/base/log.h"
#include "server/milter/milter_settings.h"
#include "server/milter/milter_socket.h"

/* Bytes of the text of an SMTP reply: a line has 512, with its codes (RFC 5321, 4.5.3.1.5). */
enum { REPLY_TEXT = 480 };

static const char REFUSED[] = "This message is refused as spam";
static const char FOUL[] = "The header of this message hides fields behind carriage returns";
static const char TRY_LATER[] = "The mail cannot be checked now, try again later";
static const char NO_VERDICT[] = "none, bayesd is away";

/* ---- changing a mail ------------------------------------------------------------------------- */

/* Removes the last field of this name first: after a removal some mail servers count the remaining
 * fields anew and others do not. */
static int remove_all(SMFICTX *ctx, const char *name, size_t count_of_name)
{
    int rc = MI_SUCCESS;
    for (size_t i = count_of_name; i > 0 && rc == MI_SUCCESS; i--)
        rc = smfi_chgheader(ctx, nb_milter_text(name), (int)i, NULL);
    return rc;
}

static int remove_fields(SMFICTX *ctx, const struct nb_milter_mail *mail, json_t *fields)
{
    const char *name;
    json_t *place;
    int rc = MI_SUCCESS;
    json_object_foreach(fields, name, place)
    {
        int nth = (int)json_integer_value(place);
        assert(nth >= 0); /* nb_milter_reply_read has checked it */
        size_t present = nb_milter_mail_count(mail, name);
        if (strcasecmp(name, NB_MILTER_STATUS) == 0 || rc != MI_SUCCESS)
            continue; /* nb_milter_answer_forged has removed these fields */
        if (nth == 0)
            rc = remove_all(ctx, name, present);
        else if ((size_t)nth <= present)
            rc = smfi_chgheader(ctx, nb_milter_text(name), nth, NULL);
    }
    return rc;
}

/* An added field becomes the only one of its name, since another one would be a sender's forgery;
 * but if the reply says which fields of the name to remove, only these are removed. */
static int add_fields(SMFICTX *ctx, const struct nb_milter_mail *mail,
                      const struct nb_milter_reply *reply)
{
    const char *name;
    json_t *value;
    int rc = MI_SUCCESS;
    json_object_foreach(reply->add, name, value)
    {
        assert(json_is_string(value)); /* nb_milter_reply_read has checked it */
        bool is_forged =
            json_object_get(reply->remove, name) == NULL && strcasecmp(name, NB_MILTER_STATUS) != 0;
        if (rc == MI_SUCCESS && is_forged)
            rc = remove_all(ctx, name, nb_milter_mail_count(mail, name));
        if (rc == MI_SUCCESS)
            rc =
                smfi_addheader(ctx, nb_milter_text(name), nb_milter_text(json_string_value(value)));
    }
    return rc;
}

static int change_subject(SMFICTX *ctx, const struct nb_milter_mail *mail, const char *subject)
{
    char *name = nb_milter_text("Subject");
    if (nb_milter_mail_count(mail, name) == 0)
        return smfi_addheader(ctx, name, nb_milter_text(subject));
    return smfi_chgheader(ctx, name, 1, nb_milter_text(subject));
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Sets the SMTP reply. smfi_setreply(3) takes one line of printable text, in which % is doubled. */
static void set_reply(SMFICTX *ctx, const char *code, const char *status, const char *text)
{
    assert(strlen(code) == 3 && text != NULL);
    char line[REPLY_TEXT];
    size_t length = 0;
    for (; *text != '\0' && length < sizeof line - 2; text++) {
        bool is_printable = *text >= 0x20 && *text < 0x7F;
        line[length++] = is_printable ? *text : ' ';
        if (*text == '%')
            line[length++] = '%';
    }
    line[length] = '\0';
    if (smfi_setreply(ctx, nb_milter_text(code), nb_milter_text(status), line) != MI_SUCCESS)
        nb_log(NB_LOG_WARNING, "the mail server is given no reason code=%s", code);
}

static sfsistat defer(SMFICTX *ctx, const char *text)
{
    set_reply(ctx, "451", "4.7.1", text);
    return SMFIS_TEMPFAIL;
}

static sfsistat refuse(SMFICTX *ctx, enum nb_milter_on_reject on_reject, const char *text)
{
    switch (on_reject) {
    case NB_MILTER_QUARANTINE:
        return smfi_quarantine(ctx, nb_milter_text(REFUSED)) == MI_SUCCESS ? SMFIS_CONTINUE
                                                                           : defer(ctx, TRY_LATER);
    case NB_MILTER_DISCARD:
        return SMFIS_DISCARD;
    case NB_MILTER_TAG:
        return SMFIS_CONTINUE;
    case NB_MILTER_REJECT:
    default:
        set_reply(ctx, "550", "5.7.1", text != NULL ? text : REFUSED);
        return SMFIS_REJECT;
    }
}

sfsistat nb_milter_answer(SMFICTX *ctx, const struct nb_milter_options *options,
                          const struct nb_milter_mail *mail, const struct nb_milter_reply *reply)
{
    assert(reply->action != NB_MILTER_DO_REWRITE_SUBJECT || reply->subject != NULL);
    if (reply->action == NB_MILTER_DO_SOFT_REJECT)
        return defer(ctx, reply->text != NULL ? reply->text : TRY_LATER);
    int rc = remove_fields(ctx, mail, reply->remove);
    if (rc == MI_SUCCESS)
        rc = add_fields(ctx, mail, reply);
    if (rc == MI_SUCCESS && reply->action == NB_MILTER_DO_REWRITE_SUBJECT)
        rc = change_subject(ctx, mail, reply->subject);
    if (rc != MI_SUCCESS) {
        nb_log(NB_LOG_WARNING, "the header cannot be changed queue_id=%s", mail->queue_id);
        return defer(ctx, TRY_LATER);
    }
    return reply->action == NB_MILTER_DO_REJECT ? refuse(ctx, options->on_reject, reply->text)
                                                : SMFIS_CONTINUE;
}

sfsistat nb_milter_answer_unchecked(SMFICTX *ctx, const struct nb_milter_options *options,
                                    const struct nb_milter_mail *mail, const struct nb_error *error)
{
    bool is_accepted = options->on_failure == NB_MILTER_ACCEPT;
    nb_log(NB_LOG_WARNING, "not checked queue_id=%s %s: %s", mail->queue_id,
           is_accepted ? "accepted" : "deferred", error->text);
    if (is_accepted && smfi_addheader(ctx, nb_milter_text(NB_MILTER_STATUS),
                                      nb_milter_text(NO_VERDICT)) == MI_SUCCESS)
        return SMFIS_CONTINUE;
    return defer(ctx, TRY_LATER);
}

/* Removes texts that some readers would take for a field of this filter. */
static int clean_fields(SMFICTX *ctx, const struct nb_milter_mail *mail)
{
    int rc = MI_SUCCESS;
    const char *name = mail->hidden.bytes;
    for (size_t i = 0; i < mail->hidden_count && rc == MI_SUCCESS; i++) {
        assert(name < mail->hidden.bytes + mail->hidden.length);
        const char *place = name + strlen(name) + 1;
        const char *value = place + strlen(place) + 1;
        rc = smfi_chgheader(ctx, nb_milter_text(name), (int)strtol(place, NULL, 10),
                            nb_milter_text(value));
        name = value + strlen(value) + 1;
    }
    return rc;
}

sfsistat nb_milter_answer_forged(SMFICTX *ctx, const struct nb_milter_mail *mail)
{
    if (mail->is_foul) {
        set_reply(ctx, "550", "5.6.0", FOUL);
        return SMFIS_REJECT;
    }
    int rc = clean_fields(ctx, mail);
    if (rc == MI_SUCCESS)
        rc = remove_all(ctx, NB_MILTER_STATUS, mail->forged);
    return rc == MI_SUCCESS ? SMFIS_CONTINUE : defer(ctx, TRY_LATER);
}

/* The changes to mails that the callbacks make. The mail server must allow all of them. */
static const unsigned long CHANGES = SMFIF_ADDHDRS | SMFIF_CHGHDRS | SMFIF_QUARANTINE;

/* One connection of a mail server. */
struct session {
    struct nb_milter_settings *settings; /* the settings with which the mail began */
    struct nb_milter_mail mail;
    bool can_skip;   /* the mail server allows to skip the rest of a body */
    bool is_skipped; /* this mail is not checked */
};

/* ---- connections ----------------------------------------------------------------------------- */

/* Returns the session of a connection; the first call makes it. NULL if memory is short or too many
 * connections are open. */
static struct session *session_of(SMFICTX *ctx)
{
    struct session *session = smfi_getpriv(ctx);
    if (session != NULL)
        return session;
    if (!nb_listener_admit())
        return NULL;
    session = calloc(1, sizeof *session);
    if (session == NULL || smfi_setpriv(ctx, session) != MI_SUCCESS) {
        free(session);
        nb_listener_leave();
        return NULL;
    }
    session->settings = nb_milter_settings_take();
    assert(session->settings != NULL); /* main has set the first ones */
    session->mail.most = session->settings->options.max_bytes;
    return session;
}

static sfsistat on_negotiate(SMFICTX *ctx, unsigned long actions, unsigned long steps,
                             unsigned long more, unsigned long still_more,
                             unsigned long *want_actions, unsigned long *want_steps,
                             unsigned long *want_more, unsigned long *want_still_more)
{
    struct session *session = session_of(ctx);
    (void)more;
    (void)still_more;
    *want_actions = CHANGES;
    *want_steps = steps & SMFIP_SKIP;
    *want_more = *want_still_more = 0;
    if ((actions & CHANGES) != CHANGES)
        nb_log(NB_LOG_ERROR, "the mail server does not let filters change headers and quarantine");
    if (session == NULL || (actions & CHANGES) != CHANGES)
        return SMFIS_REJECT;
    session->can_skip = (steps & SMFIP_SKIP) != 0;
    return SMFIS_CONTINUE;
}

static sfsistat on_connect(SMFICTX *ctx, char *hostname, _SOCK_ADDR *address)
{
    struct session *session = session_of(ctx);
    char text[INET6_ADDRSTRLEN] = "";
    if (session == NULL)
        return SMFIS_TEMPFAIL;
    /* Mail from the machine itself has no address. */
    if (address != NULL && address->sa_family == AF_INET)
        (void)getnameinfo(address, sizeof(struct sockaddr_in), text, sizeof text, NULL, 0,
                          NI_NUMERICHOST);
    if (address != NULL && address->sa_family == AF_INET6)
        (void)getnameinfo(address, sizeof(struct sockaddr_in6), text, sizeof text, NULL, 0,
                          NI_NUMERICHOST);
    nb_milter_mail_set(session->mail.address, text);
    nb_milter_mail_set(session->mail.hostname, hostname);
    nb_milter_mail_set(session->mail.server, smfi_getsymval(ctx, nb_milter_text("j")));
    return SMFIS_CONTINUE;
}

static sfsistat on_helo(SMFICTX *ctx, char *name)
{
    struct session *session = session_of(ctx);
    if (session == NULL)
        return SMFIS_TEMPFAIL;
    nb_milter_mail_set(session->mail.helo, name);
    return SMFIS_CONTINUE;
}

static sfsistat on_close(SMFICTX *ctx)
{
    struct session *session = smfi_getpriv(ctx);
    if (session == NULL)
        return SMFIS_CONTINUE;
    nb_milter_mail_reset(&session->mail);
    nb_milter_settings_release(&session->settings);
    (void)smfi_setpriv(ctx, NULL);
    free(session);
    nb_listener_leave();
    return SMFIS_CONTINUE;
}

/* ---- collecting a mail ----------------------------------------------------------------------- */

static sfsistat on_sender(SMFICTX *ctx, char **arguments)
{
    struct session *session = session_of(ctx);
    if (session == NULL)
        return SMFIS_TEMPFAIL;
    nb_milter_mail_reset(&session->mail);
    nb_milter_settings_release(&session->settings);
    session->settings = nb_milter_settings_take();
    session->mail.most = session->settings->options.max_bytes;
    nb_milter_mail_set(session->mail.sender, arguments[0]);
    nb_milter_mail_set(session->mail.user, smfi_getsymval(ctx, nb_milter_text("{auth_authen}")));
    session->is_skipped =
        session->settings->options.skip_authenticated && session->mail.user[0] != '\0';
    return SMFIS_CONTINUE;
}

static sfsistat on_recipient(SMFICTX *ctx, char **arguments)
{
    struct session *session = session_of(ctx);
    if (session == NULL)
        return SMFIS_TEMPFAIL;
    nb_milter_mail_recipient(&session->mail, arguments[0]);
    return SMFIS_CONTINUE;
}

static sfsistat on_field(SMFICTX *ctx, char *name, char *value)
{
    struct session *session = session_of(ctx);
    if (session == NULL)
        return SMFIS_TEMPFAIL;
    nb_milter_mail_field(&session->mail, name, value);
    return SMFIS_CONTINUE;
}

static sfsistat on_header_end(SMFICTX *ctx)
{
    struct session *session = session_of(ctx);
    if (session == NULL)
        return SMFIS_TEMPFAIL;
    nb_milter_mail_header_end(&session->mail);
    return SMFIS_CONTINUE;
}

static sfsistat on_body(SMFICTX *ctx, unsigned char *bytes, size_t length)
{
    struct session *session = session_of(ctx);
    if (session == NULL)
        return SMFIS_TEMPFAIL;
    bool is_wanted = !session->is_skipped && nb_milter_mail_body(&session->mail, bytes, length);
    return is_wanted || !session->can_skip ? SMFIS_CONTINUE : SMFIS_SKIP;
}

static sfsistat on_abort(SMFICTX *ctx)
{
    struct session *session = smfi_getpriv(ctx);
    if (session != NULL)
        nb_milter_mail_reset(&session->mail);
    return SMFIS_CONTINUE;
}

/* Does nothing: miltertest works only with a program that has all callbacks. */
static sfsistat on_data(SMFICTX *ctx)
{
    (void)ctx;
    return SMFIS_CONTINUE;
}

static sfsistat on_unknown(SMFICTX *ctx, const char *command)
{
    (void)ctx;
    (void)command;
    return SMFIS_CONTINUE;
}

/* ---- the end of a mail ----------------------------------------------------------------------- */

static sfsistat check(SMFICTX *ctx, struct session *session)
{
    const struct nb_milter_mail *mail = &session->mail;
    const struct nb_milter_options *options = &session->settings->options;
    struct nb_milter_reply reply;
    struct nb_error error = {0};
    sfsistat status;
    uint64_t start = nb_clock_monotonic();
    int rc = nb_ask_about(&session->settings->ask, mail, &reply, &error);
    if (rc == 0) {
        nb_log(NB_LOG_INFO, "checked queue_id=%s action=%s score=%.2f bytes=%zu%s ms=%llu",
               mail->queue_id, reply.name, reply.score, mail->message.length,
               mail->is_cut ? " cut" : "",
               (unsigned long long)((nb_clock_monotonic() - start) / 1000000));
        status = nb_milter_answer(ctx, options, mail, &reply);
    } else {
        status = nb_milter_answer_unchecked(ctx, options, mail, &error);
    }
    nb_milter_reply_deinit(&reply);
    return status;
}

static sfsistat on_message_end(SMFICTX *ctx)
{
    struct session *session = session_of(ctx);
    if (session == NULL)
        return SMFIS_TEMPFAIL;
    struct nb_milter_mail *mail = &session->mail;
    nb_milter_mail_set(mail->queue_id, smfi_getsymval(ctx, nb_milter_text("i")));
    nb_listener_count_checks(1);
    sfsistat status = nb_milter_answer_forged(ctx, mail);
    if (status == SMFIS_CONTINUE && !session->is_skipped)
        status = check(ctx, session);
    nb_milter_mail_reset(mail);
    nb_listener_count_checks(-1);
    return status;
}

int nb_milter_register(void)
{
    static char name[] = "bayesd-milter";
    const struct smfiDesc callbacks = {
        .xxfi_name = name,
        .xxfi_version = SMFI_VERSION,
        .xxfi_flags = CHANGES,
        .xxfi_negotiate = on_negotiate,
        .xxfi_connect = on_connect,
        .xxfi_helo = on_helo,
        .xxfi_envfrom = on_sender,
        .xxfi_envrcpt = on_recipient,
        .xxfi_data = on_data,
        .xxfi_header = on_field,
        .xxfi_eoh = on_header_end,
        .xxfi_body = on_body,
        .xxfi_eom = on_message_end,
        .xxfi_abort = on_abort,
        .xxfi_close = on_close,
        .xxfi_unknown = on_unknown,
    };
    return smfi_register(callbacks) == MI_SUCCESS ? 0 : NB_NO_MEMORY;
}
