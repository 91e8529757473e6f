# SPDX-License-Identifier: Apache-2.0
# A developer with a CSV of tickets: from the file as it is to a column with the category, and to a program.
# shellcheck shell=bash source=tests/walks/steps.sh disable=SC2119
source "$TOP/tests/walks/steps.sh"
start
columns=text=title+body,label=category,id=ticket

step "which settings suit the tickets?"
bayesc evaluate --model tickets --columns "$columns" --variant preset=text --variant preset=book --folds 5 tickets.csv | tee found
command=$(sed -n 's/^to use it: //p' found)
case $command in "bayesc create tickets --set preset="*) ;; *) echo "not a command: $command"; exit 1 ;; esac
$command

step "train; the header is no ticket, and a second time changes nothing"
sees "210 learned" bayesc train --model tickets --columns "$columns" tickets.csv
sees "210 unchanged" bayesc train --model tickets --columns "$columns" tickets.csv
sees "billing" bayesc stats tickets

step "a slip of the fingers is refused"
echo "the invoice is wrong" >ticket.txt
fails 65 "the label 'biling' is new, and there is 'billing'" bayesc train --model tickets --label biling ticket.txt

step "categories for the new tickets, as a column"
bayesc classify --model tickets --columns text=title+body,id=ticket --csv new.csv | tr -d '\r' >out.csv # the line ends are those of the table
[ "$(head -n 1 out.csv)" = "ticket,title,body,predicted,probability" ]
[ "$(wc -l <out.csv)" -eq 31 ]
right=$(paste -d, <(cut -d, -f4 out.csv) <(tr -d '\r' <answers.csv | cut -d, -f4) | awk -F, 'NR > 1 && $1 == $2' | wc -l)
[ "$right" -ge 27 ] || { echo "only $right of 30 are right"; exit 1; }

step "the same from a program"
cp "$TOP/clients/python/bayesd.py" .
cat >ask.py <<'END'
from bayesd import Bayesd
with Bayesd.from_environment() as daemon:
    print(daemon.classify("tickets", "my parcel is lost, the courier was late")["label"])
END
sees delivery python3 ask.py

step "a setting, looked up and changed"
sees "Seconds" bayesc show tickets max_age
sees "max_age is 86400 now" bayesc set tickets max_age=86400

step "keep it, and clean up"
bayesc export --model tickets tickets.ndjson
sees "deleted" bayesc delete --yes tickets
bayesc import --model tickets tickets.ndjson
sees "210 documents" bayesc stats tickets
