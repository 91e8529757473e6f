/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/json_fault.h"

#include <string.h>

const char *nb_json_fault_hint(const char *fault)
{
    return strstr(fault, "invalid Unicode") != NULL
               ? "; it is half of a character, as of a text that was cut within an emoji: write "
                 "both halves, as in \\ud83d\\ude00, or neither"
               : "";
}
