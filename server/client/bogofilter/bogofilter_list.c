/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/bogofilter/bogofilter_list.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/pack.h"

static const struct {
    const char *name, *text;
} LOSSES[NB_LOSSES] = {
    [NB_LOSS_MALFORMED] = {"malformed", "not a line of a word list"},
    [NB_LOSS_TOO_HIGH] = {"too_high", "counted in more messages than there are"},
    [NB_LOSS_UNUSED] = {"unused", "counted in no message"},
    [NB_LOSS_FROM] = {"from", "from:"},
    [NB_LOSS_TO] = {"to", "to:"},
    [NB_LOSS_RETURN] = {"rtrn", "rtrn:"},
    [NB_LOSS_HEAD] = {"head", "head:, of an unknown header field"},
    [NB_LOSS_MIME] = {"mime", "mime:"},
    [NB_LOSS_URL] = {"url", "url:"},
    [NB_LOSS_IP] = {"ip", "ip:"},
    [NB_LOSS_NO_WORD] = {"no_word", "no word"},
};

const char *nb_bogofilter_loss_name(enum nb_bogofilter_loss loss)
{
    return LOSSES[loss].name;
}

const char *nb_bogofilter_loss_text(enum nb_bogofilter_loss loss)
{
    return LOSSES[loss].text;
}

int nb_bogofilter_list_init(struct nb_bogofilter_list *list)
{
    *list = (struct nb_bogofilter_list){.rows = nb_model_new()};
    nb_key_generate(&list->key);
    return list->rows != NULL ? 0 : NB_NO_MEMORY;
}

void nb_bogofilter_list_deinit(struct nb_bogofilter_list *list)
{
    nb_model_free(&list->rows);
    free(list->documents);
    nb_buffer_deinit(&list->texts);
    *list = (struct nb_bogofilter_list){.rows = NULL};
}

int nb_bogofilter_list_add(struct nb_bogofilter_list *list, uint64_t id, struct nb_string text,
                           uint32_t *row)
{
    struct nb_packer w = {.out = &list->texts};
    int rc = nb_model_append(list->rows, id, row);
    if (rc == 0)
        rc = nb_array_reserve(&list->documents, &list->room, (size_t)*row + 1,
                              sizeof *list->documents);
    if (rc != 0)
        return rc;
    memset(list->documents[*row], 0, sizeof list->documents[*row]);
    nb_pack_string(&w, text);
    return w.code;
}

void nb_bogofilter_list_lose(struct nb_bogofilter_list *list, enum nb_bogofilter_loss loss,
                             uint64_t line)
{
    struct nb_bogofilter_losses *losses = &list->losses[loss];
    if (losses->count < NB_LOSS_LINES)
        losses->lines[losses->count] = line;
    losses->count++;
}
