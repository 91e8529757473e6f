require ["copy", "imapsieve", "vnd.dovecot.pipe"];

pipe :copy "bayesd-learn" ["spam"];
