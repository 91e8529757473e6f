/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/mail_ignored.h"

#include <assert.h>
#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "core/base/string.h"

/* PATTERN: bytes of a pattern, padded with zeros. FIRST: bytes of a name and of a pattern that are
 * compared first. */
enum { PATTERN = 36, FIRST = 4 };

/* Sorted; a '*' at the end stands for any ending, after at least FIRST bytes. The list has
 *   - filters of spam and their parts: SpamAssassin, rspamd, bogofilter, DSPAM, CRM114, SpamBayes,
 *     POPFile, Pyzor, Razor, DCC, greylisting, bayesd;
 *   - scanners and appliances: Amavis, ClamAV, Kaspersky (KAS, KSE, KLMS, KSMG), Trend Micro (TM,
 *     IMSS), Sophos, Barracuda (ASG), Cisco (IronPort, IPAS, AMP, Talos), Proofpoint and Cloudmark
 *     (CMAE, CLX, PSTN, MDID), Mimecast, Fortinet (FEAS), McAfee (NAI), Halon, Vade (VR), MDaemon;
 *   - providers of mailboxes: Microsoft, Apple (ICL, CLX), Yahoo, AOL, GMX, OVH, Mail.ru, Free,
 *     Orange (ME), T-Online (TOI), Stalwart;
 *   - results of checks by other hosts (SPF, DKIM, DMARC, ARC), which anybody can write;
 *   - notes of mailboxes and mail programs, which are not in the mail when it arrives, and what
 * Exim adds for scanners of contents;
 *   - times of arrival: they tell when a mail was learned, and nothing about its label. */
/* clang-format off */
static const char ignored[][PATTERN] = {
    "arc-*", "authentication-results*", "content-length", "delivery-date", "dkim-filter",
    "domainkey-status", "greylist*", "ironport-*", "lines", "old-authentication-results",
    "original-authentication-results", "pstn*", "received-dkim", "received-spf*", "spam-*",
    "status", "suspected-spam", "x-account*", "x-amavis*", "x-amp-*", "x-annoyance*",
    "x-aol-global*", "x-aol-scoll*", "x-aol-vss*", "x-apple-action", "x-apple-movetofolder",
    "x-appriver*", "x-arc-*", "x-arrival-time", "x-asg-*", "x-assp*", "x-auth-result*",
    "x-authentication-*", "x-authority-analysis*", "x-av-*", "x-avanan*", "x-avas*", "x-avg*",
    "x-avira*", "x-barracuda*", "x-bayes*", "x-bitdefender*", "x-bmi-*", "x-bogosity*",
    "x-brightmail*", "x-bulk-score", "x-bytes", "x-canit*", "x-checked*", "x-clam*", "x-cleanmail*",
    "x-cloudmark*", "x-clx-*", "x-cm-analysis*", "x-cmae*", "x-cmcategory*", "x-cmscore*",
    "x-cnfs-*", "x-commtouch*", "x-content-scan*", "x-cpei*", "x-crm114*", "x-crowdstrike*",
    "x-cse-*", "x-ct-*", "x-ctch-*", "x-cyren*", "x-darktrace*", "x-dcc*", "x-declude*",
    "x-delivery-time", "x-dkim*", "x-dmarc*", "x-dnsbl*", "x-dovecot*", "x-drweb*", "x-edgewave*",
    "x-eleven*", "x-envelope-from", "x-envelope-to", "x-eop*", "x-eset*", "x-evolution*",
    "x-exchange-scl", "x-exchange-senderid*", "x-exiscan*", "x-expurgate*", "x-f-prot*",
    "x-f-secure*", "x-fe-*", "x-feas-*", "x-filter*", "x-fireeye*", "x-folder*", "x-forefront-*",
    "x-fortinet*", "x-fprot*", "x-fsecure*", "x-fuglu*", "x-gbudb-*", "x-gdata*", "x-gfi*",
    "x-gm-*", "x-gmail-labels", "x-gmx-*", "x-greylist*", "x-habeas-report*", "x-halon*", "x-ham-*",
    "x-hammie*", "x-haraka*", "x-hmailserver*", "x-hornetsecurity*", "x-icewarp*", "x-icl-*",
    "x-ifile*", "x-ikarus*", "x-imap*", "x-imss-*", "x-interscan*", "x-ipas-*", "x-iphas*",
    "x-ironport*", "x-ironscales*", "x-junk*", "x-kas*", "x-keywords", "x-klms-*", "x-kmail*",
    "x-kse-*", "x-ksmg-*", "x-label", "x-mail-filter*", "x-mail-scan*", "x-mailcleaner*",
    "x-mailfilter*", "x-mailgun-dkim*", "x-mailgun-sflag", "x-mailgun-spf", "x-mailgun-sscore",
    "x-mailroute*", "x-mailspike*", "x-mailwasher*", "x-mcafee*", "x-mdaemon*", "x-mdarrival-date",
    "x-mdav*", "x-mdhelolookup", "x-mdid*", "x-mdmaillookup", "x-mdptrlookup", "x-me-vs*",
    "x-message-delivery", "x-message-info", "x-message-sniffer*", "x-message-status",
    "x-messagelabs*", "x-messagesniffer*", "x-milter-*", "x-mimecast*", "x-mimedefang*", "x-mlf-*",
    "x-mozilla-*", "x-mras", "x-mru-*", "x-ms-exchange-atp*", "x-ms-exchange-organization*",
    "x-ms-office365-filtering*", "x-mutt*", "x-mx-logic*", "x-mxl-*", "x-mxlogic*", "x-mxthunder*",
    "x-nai-*", "x-ncsc*", "x-nicebayes*", "x-nod32*", "x-norton*", "x-originalarrivaltime",
    "x-osbf*", "x-panda*", "x-perlmx*", "x-pmx-*", "x-policy*", "x-popfile*", "x-postini*",
    "x-proofpoint*", "x-proxad-sc", "x-pstn*", "x-puremessage*", "x-purgate*", "x-pyzor*",
    "x-qmail-scanner*", "x-quarantine*", "x-rav*", "x-razor*", "x-rbl*", "x-received-spf*",
    "x-recommended-action*", "x-redcondor*", "x-reflexion*", "x-reputation-*", "x-rpd*",
    "x-rzg-class-id", "x-sa-*", "x-sanitizer*", "x-sbrs*", "x-scan-*", "x-scanned*", "x-scanner*",
    "x-scl", "x-score", "x-scores", "x-scrollout*", "x-sender-id*", "x-senderid*", "x-sendio*",
    "x-sid-*", "x-sieve*", "x-signature-violations", "x-simscan*", "x-smartermail*", "x-sonicwall*",
    "x-sophos*", "x-spf*", "x-stalwart*", "x-starscan*", "x-status", "x-surfcontrol*",
    "x-suspected*", "x-symantec*", "x-talos-*", "x-terra-karma", "x-tessian*", "x-text-class*",
    "x-threat*", "x-tm-*", "x-tmase-*", "x-toi-*", "x-trend*", "x-trustwave*", "x-tuffmail*",
    "x-tuid", "x-ube*", "x-uce*", "x-ui-*", "x-uid", "x-uidl", "x-uvscan*", "x-vade*", "x-verdict*",
    "x-vipre*", "x-vr-*", "x-vscan*", "x-watchguard*", "x-websense*", "x-yahoo-filtered*",
    "x-yahoofilteredbulk*", "x-ymailisg",
};
/* clang-format on */

/* Words that filters and scanners write between the name of an organisation and the rest:
 * X-Acme-MailScanner-SpamCheck, X-Coremail-Antispam. In lower case. */
static const char *const inside[] = {"spam", "virus", "scanner", "phish", "malware"};

/* Whether the name matches a pattern that has the same first bytes. */
static bool matches(struct nb_string name, const char *pattern)
{
    size_t same = FIRST;
    while (same < name.length && pattern[same] != '\0' && pattern[same] != '*' &&
           pattern[same] == nb_ascii_lower(name.bytes[same]))
        same++;
    return pattern[same] == '*' || (pattern[same] == '\0' && same == name.length);
}

/* Returns the first bytes as a number that sorts like them. */
static uint32_t rank_of(const char *first)
{
    uint32_t bytes;
    memcpy(&bytes, first, sizeof bytes);
    _Static_assert(sizeof bytes == FIRST, "all of them");
    return be32toh(bytes);
}

/* Finds the first possible pattern without a branch that depends on the name: few names are listed,
 * and a mail has dozens of fields. */
static bool is_listed(struct nb_string name)
{
    const char(*at)[PATTERN] = ignored;
    const char(*end)[PATTERN] = ignored + sizeof ignored / sizeof *ignored;
    if (name.length < FIRST)
        return false;
    uint32_t rank = rank_of(name.bytes);
    rank |= (rank & UINT32_C(0x40404040)) >> 1; /* letters in lower case, as in the table */
    for (size_t count = (size_t)(end - at); count > 1;) {
        size_t half = count / 2;
        at += rank_of(at[half - 1]) < rank ? half : 0;
        count -= half;
    }
    at += rank_of(*at) < rank;
    assert(at == ignored || rank_of(at[-1]) < rank); /* the patterns are sorted */
    for (; at < end && rank_of(*at) == rank; at++) {
        if (matches(name, *at))
            return true;
    }
    return false;
}

static bool has_inside(struct nb_string name)
{
    for (size_t i = 0; i < name.length; i++) {
        if (!nb_string_is_one_of(nb_ascii_lower(name.bytes[i]), "svpm")) /* the first letters */
            continue;
        for (size_t k = 0; k < sizeof inside / sizeof *inside; k++) {
            if (nb_string_starts_nocase(nb_string_from(name, i), inside[k]))
                return true;
        }
    }
    return false;
}

bool nb_mail_header_ignored(struct nb_string name)
{
    return is_listed(name) || (nb_string_starts_nocase(name, "x-") && has_inside(name));
}
