# SPDX-License-Identifier: Apache-2.0
# Completion for bash of bayesc, bayesd and bayesd-milter: commands and options come from their --help.

_bayesc()
{
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} command=()
    local names
    COMPREPLY=()
    case ${program##*/} in
    bayesd | bayesd-milter) ;;
    *) command=("${COMP_WORDS[1]}") ;;
    esac
    if [ "$COMP_CWORD" -eq 1 ] && [ ${#command[@]} -gt 0 ]; then
        names=$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')
    elif [[ $word == -* ]]; then
        names=$("$program" "${command[@]}" --help 2>/dev/null | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p')
    else
        return
    fi
    # shellcheck disable=SC2207 # names hold no white space
    COMPREPLY=($(compgen -W "$names" -- "$word"))
}

complete -o default -F _bayesc bayesc bayesd bayesd-milter
