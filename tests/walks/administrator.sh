# SPDX-License-Identifier: Apache-2.0
# A mail administrator: from folders that users have sorted to mail that is marked, and a correction.
# shellcheck shell=bash source=tests/walks/steps.sh disable=SC2119
source "$TOP/tests/walks/steps.sh"
start

step "ask before anything is learned: nothing is called spam"
sees "no action" curl -sS "$url/checkv2" --data-binary @spam.eml

step "train the sorted folders"
sees "120 learned" bayesc train --label ham --folder Junk=spam --recursive Maildir
sees "60 ham, 60 spam" bayesc train --label ham --folder Junk=spam --recursive Maildir
sees "120 documents" bayesc stats

step "mail software asks, by rspamd's protocol and through a pipe"
sees '"action":"no action"' curl -sS "$url/checkv2" --data-binary @ham.eml
sees '"action":"add header"' curl -sS "$url/checkv2" --data-binary @spam.eml
sees "X-Bayes-Status: spam" bayesc filter <spam.eml
sees "X-Bayes-Status: ham" bayesc filter <ham.eml
cmp <(bayesc filter <ham.eml | tail -n +2) ham.eml

step "why?"
sees "prize" bayesc explain spam.mbox

step "a user moves a mail to Junk by mistake, and back"
sees '"success":true' bash -c "curl -sS '$url/learnspam?' --data-binary @ham.eml | tr -d ' '"
sees "relabelled" bayesc train --json --label ham ham.eml
sees '"relabelled":1' bayesc train --json --label spam --source junk-button ham.eml

step "somebody pressed the button too often: see what taking it back would do, and do it"
sees "1 document would be taken back" bayesc undo --source junk-button --dry-run
sees "1 document taken back" bayesc undo --source junk-button --yes
sees '"unchanged":1' bayesc train --json --label ham ham.eml

step "how good was it?"
sees "false positives" bayesc evaluate

step "the daemon is away: the mail passes"
stop
cmp <(bayesc filter <ham.eml 2>said.now) ham.eml
grep -q "no verdict, the mail goes on without one" said.now
