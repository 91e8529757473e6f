require ["copy", "environment", "imapsieve", "special-use", "variables", "vnd.dovecot.pipe"];

if environment :matches "imap.mailbox" "*" {
    set "mailbox" "${1}";
}
# Spam that is deleted, or moved to other spam, is still spam.
if anyof (string :matches "${mailbox}" ["Junk*", "Trash*"],
          specialuse_exists "${mailbox}" ["\\Trash"]) {
    stop;
}
pipe :copy "bayesd-learn" ["ham"];
