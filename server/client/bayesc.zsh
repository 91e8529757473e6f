#compdef bayesc bayesd bayesd-milter
# SPDX-License-Identifier: Apache-2.0
# Completion for zsh of bayesc, bayesd and bayesd-milter: commands and options come from their --help.

_bayesc_names()
{
    "$@" --help 2>/dev/null | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

_bayesc()
{
    local -a names
    if [[ $service != bayesc ]]; then
        [[ $PREFIX == -* ]] && names=(${(f)"$(_bayesc_names $words[1])"})
    elif (( CURRENT == 2 )); then
        names=(${(f)"$($words[1] --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')"})
    elif [[ $PREFIX == -* ]]; then
        names=(${(f)"$(_bayesc_names $words[1] $words[2])"})
    fi
    if (( $#names )); then
        compadd -- $names
    else
        _files
    fi
}

_bayesc "$@"
