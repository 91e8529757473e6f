/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_WRITER_SUBMIT_SUBMIT_DOCUMENT_H
#define NB_CORE_WRITER_SUBMIT_SUBMIT_DOCUMENT_H

#include "core/writer/submit/submit.h"

/* Changes whose content is in the store: in the quarantine, or in the history. */

#endif
