require ["fileinto", "mailbox"];

# Written by bayesd, bayesc or bayesd-milter: "spam, probability=0.9987, model=mail".
if header :matches "X-Bayes-Status" "spam,*" {
    fileinto :create "Junk";
}
