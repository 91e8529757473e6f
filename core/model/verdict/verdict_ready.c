/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the labels have enough documents for a useful verdict.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/model/verdict/verdict_private.h"

static void need(struct nb_verdict *verdict, const char *label, uint64_t documents)
{
    if (documents >= verdict->ready_documents)
        return;
    verdict->ready = false;
    snprintf(verdict->missing, sizeof verdict->missing, "label '%s' has %llu of %llu documents",
             label, (unsigned long long)documents, (unsigned long long)verdict->ready_documents);
}

/* Whether only one label has documents, although two are needed. */
static bool is_alone(struct nb_verdict *verdict)
{
    if (verdict->size >= 2 || verdict->ready_documents == 0)
        return false;
    verdict->ready = false;
    snprintf(verdict->missing, sizeof verdict->missing,
             "only the label '%s' has documents, there must be two labels", verdict->labels[0]);
    return true;
}

/* In reverse order, so that `missing` names the first label that has too few. */
void nb_verdict_fill_ready(struct nb_verdict *verdict)
{
    assert(verdict->size > 0);
    verdict->ready = true;
    if (is_alone(verdict))
        return;
    for (size_t i = verdict->size; i > 0; i--)
        need(verdict, verdict->labels[i - 1], verdict->documents[i - 1]);
}

void nb_verdict_need(struct nb_verdict *verdict, const char *const labels[], size_t count)
{
    verdict->ready = true;
    if (is_alone(verdict))
        return;
    for (size_t i = count; i > 0; i--)
        need(verdict, labels[i - 1], nb_verdict_documents(verdict, labels[i - 1]));
}
