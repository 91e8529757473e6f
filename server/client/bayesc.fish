# SPDX-License-Identifier: Apache-2.0
# Completion for fish of bayesc, bayesd and bayesd-milter: commands, options and operations come from their --help,
# names of models, labels and settings from the daemon.

function __bayesc_options
    $argv --help 2>/dev/null | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p'
end

function __bayesc_commands
    $argv --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
end

# What the first argument of the command may be: a model, or an operation that the first line of its help offers. The
# program and its command are the first two words, what says where the daemon is follows.
function __bayesc_first_argument
    set -l usage ($argv[1..2] --help 2>/dev/null)[1]
    if string match --quiet --regex '\[OPTION\]\.\.\. \[?(MODEL|OLD)' -- $usage
        __bayesc_models $argv[1] $argv[3..]
    end
    string match --regex '\[OPTION\]\.\.\. (?:\[MODEL\] )?\[?([a-z]+\|[a-z|]+)' -- $usage | sed 1d | string split '|'
end

function __bayesc_models
    $argv[1] models --timeout 2 $argv[2..] 2>/dev/null | sed '1d; s/ .*//'
end

# Of a program, with the options that name the model and the daemon.
function __bayesc_labels
    $argv[1] stats --tokens 0 --timeout 2 $argv[2..] 2>/dev/null | sed '1,/^label/d; s/ .*//'
end

function __bayesc_settings
    $argv[1] show --timeout 2 $argv[2..] 2>/dev/null | sed '1d; s/ .*//'
end

function __bayesc_words
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --cut-at-cursor --current-token)
    set -l program $words[1]
    set -l commands (__bayesc_commands $program)
    set -l takes -m --model -u --url --token-file --ca-file --cert --key --timeout --after
    set -l daemon
    set -l command
    set -l argument
    set -l before
    set -l model
    for word in $words[2..]
        if contains -- "$before" $takes
            contains -- $before -m --model
            and set model --model $word
            contains -- $before -u --url --token-file --ca-file --cert --key
            and set --append daemon $before $word
            set before
            continue
        end
        set before $word
        string match --quiet -- '--model=*' $word
        and set model $word
        string match --quiet --regex '^--(url|token-file|ca-file|cert|key)=' -- $word
        and set --append daemon $word
        if test -z "$command"; and contains -- $word $commands
            set command $word
            set takes ($program $command --help 2>/dev/null | \
                sed -n 's/^  \(-.\)\{0,1\},\{0,1\} *\(--[a-z-]*\) [A-Z].*/\1 \2/p' | string match --all --regex -- '-\S+')
        else if test -n "$command"; and not string match --quiet -- '-*' $word
            contains -- $command set show rename-label delete-label sample watch
            and test -z "$model$argument"
            and set model --model $word
            set argument $word
        end
    end
    set -l option (string match --regex -- '^(--[a-z-]*)=' $current)[2]
    test -z "$option"; and contains -- "$before" $takes
    and set option $before
    test "$command $option" = 'create -p'
    and set option --preset
    switch "$option"
        case -m --model
            __bayesc_models $program $daemon
        case --label -l --positive --verdict
            __bayesc_labels $program $model $daemon
        case --set
            __bayesc_settings $program $model $daemon | sed 's/$/=/'
        case --preset
            string join \n text mail book
        case ''
            if string match --quiet -- '-*' $current
                __bayesc_options $program $command
            else if test -z "$command"
                string join \n $commands
            else if test -z "$argument"
                __bayesc_first_argument $program $command $daemon
            else if contains -- $command rename-label delete-label
                __bayesc_labels $program $model $daemon
            else if test "$command" = show
                __bayesc_settings $program $model $daemon
            else if test "$command" = set
                __bayesc_settings $program $model $daemon | sed 's/$/=/'
            end
    end
end

# Where it has nothing to offer, a file may be meant.
complete --command bayesc --condition '__fish_use_subcommand' --no-files
complete --command bayesc --arguments '(__bayesc_words)'
# With a '=' fish asks for the values of the options that it knows only.
complete --command bayesc --long-option model --exclusive --arguments '(__bayesc_words)'
for option in label positive verdict set
    complete --command bayesc --long-option $option --exclusive --arguments '(__bayesc_words)'
end
complete --command bayesc --long-option preset --exclusive --arguments '(__bayesc_words)'
for program in bayesd bayesd-milter
    complete --command $program --condition 'string match --quiet -- "-*" (commandline --current-token)' \
        --arguments "(__bayesc_options $program)"
end
