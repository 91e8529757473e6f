/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/base/log.h"
#include "server/milter/libmilter_text.h"

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
        size_t present = nb_milter_mail_count(mail, name);
        if (strcasecmp(name, NB_MILTER_STATUS) == 0 || rc != MI_SUCCESS)
            continue; /* nb_milter_answer_forged has removed those */
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
