# SPDX-License-Identifier: Apache-2.0
# A user of bogofilter: takes the word list over, goes on as before, and tries whether training anew is better.
# shellcheck shell=bash source=tests/walks/steps.sh disable=SC2119
source "$TOP/tests/walks/steps.sh"
start

step "bogoutil -d wordlist.db | bayesc import"
bayesc import <wordlist.txt
sees "ham 60, spam 60" bash -c "bayesc models | tr -s ' '"

step "bogofilter -e -p: the exit status tells"
fails 1 "X-Bayes-Status: ham" bayesc filter --bogofilter <ham.eml
sees "X-Bayes-Status: spam" bayesc filter --bogofilter <spam.eml
fails 3 "no verdict" bayesc filter --bogofilter --url http://127.0.0.1:1 <spam.eml

step "bogofilter -s, -n, -M, -Sn, -S"
sees "1 learned" bayesc train --label spam spam.eml
sees "40 learned" bayesc train --label ham ham.mbox
sees "1 relabelled" bayesc train --label ham spam.eml
sees "1 forgotten" bayesc untrain spam.eml

step "thresholds of bogofilter.cf; nobody is sure of a mail of common words"
printf 'From: x@example.com\nSubject: you and we\n\nplease this that with your our\n' >odd.eml
fails 2 "X-Bayes-Status: unsure" bayesc filter --bogofilter --spam-from 0.99 --ham-to 0.01 <odd.eml

step "a model from the mails themselves, beside it"
bayesc train --model anew --label ham --folder Junk=spam --recursive Maildir
sees "X-Bayes-Status: spam" bayesc filter --model anew <spam.eml
sees "1 - area under ROC" bayesc evaluate spam=spam.mbox ham=ham.mbox

step "procmail's recipe: the mail is passed on byte for byte"
cmp <(bayesc filter --model anew <spam.eml | tail -n +2) spam.eml
