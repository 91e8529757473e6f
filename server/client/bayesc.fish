# SPDX-License-Identifier: Apache-2.0
# Completion for fish of bayesc, bayesd and bayesd-milter: commands and options come from their --help.

function __bayesc_options
    $argv --help 2>/dev/null | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p'
end

function __bayesc_commands
    $argv --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
end

function __bayesc_words
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    if test (count $words) -eq 1
        __bayesc_commands $words[1]
    else
        __bayesc_options $words[1..2]
    end
end

complete --command bayesc --condition '__fish_use_subcommand' --no-files --arguments '(__bayesc_words)'
complete --command bayesc --condition 'string match --quiet -- "-*" (commandline --current-token)' --arguments '(__bayesc_words)'
for program in bayesd bayesd-milter
    complete --command $program --condition 'string match --quiet -- "-*" (commandline --current-token)' \
        --arguments "(__bayesc_options $program)"
end
