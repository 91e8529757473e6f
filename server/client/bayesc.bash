# SPDX-License-Identifier: Apache-2.0
# Completion for bash of bayesc, bayesd and bayesd-milter: commands, options and operations come from their --help,
# names of models, labels and settings from the daemon.

# Of a help text: the operations that its first line offers instead of any argument but a model.
_bayesc_operations()
{
    sed -n '1s/.*\[OPTION\]\.\.\. \(\[MODEL\] \)\{0,1\}\[\{0,1\}\([a-z]*|[a-z|]*\).*/\2/p' | tr '|' ' '
}

# What the first argument may be, from the help text $1; the words behind it say where the daemon is.
_bayesc_first_argument()
{
    _bayesc_operations <<<"$1"
    case ${1%%$'\n'*} in
    *'[OPTION]... MODEL'* | *'[OPTION]... [MODEL'* | *'[OPTION]... OLD'*) _bayesc_models "${@:2}" ;;
    esac
}

_bayesc_commands()
{
    "$program" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
}

_bayesc_models()
{
    "$program" models --timeout 2 "$@" 2>/dev/null | sed '1d; s/ .*//'
}

# Of the model in `model`, or of the default.
_bayesc_labels()
{
    "$program" stats --tokens 0 --timeout 2 ${model:+--model "$model"} "${daemon[@]}" 2>/dev/null | sed '1,/^label/d; s/ .*//'
}

_bayesc_settings()
{
    "$program" show --timeout 2 ${model:+--model "$model"} "${daemon[@]}" 2>/dev/null | sed '1d; s/ .*//'
}

# Finds in `words` the command, whether it has an argument, the option whose value is completed, and the options
# that say where the daemon is.
_bayesc_read_words()
{
    local at before='' commands='' takes=' -m --model -u --url --token-file --ca-file --cert --key --timeout --after '
    [ "$kind" != bayesc ] || commands=" $(_bayesc_commands | tr '\n' ' ')"
    for ((at = 1; at < ${#words[@]} - 1; at++)); do
        if [[ -n $before && $takes == *" $before "* ]]; then
            case $before in -m | --model) model=${words[at]} ;; esac
            case $before in -u | --url | --token-file | --ca-file | --cert | --key) daemon+=("$before" "${words[at]}") ;; esac
            before=
            continue
        fi
        before=${words[at]}
        case $before in --model=*) model=${before#*=} ;; esac
        case $before in --url=* | --token-file=* | --ca-file=* | --cert=* | --key=*) daemon+=("$before") ;; esac
        if [[ -z $command && $commands == *" $before "* ]]; then
            command=$before
            help=$("$program" "$command" --help 2>/dev/null)
            takes=" $(sed -n 's/^  \(-.\)\{0,1\},\{0,1\} *\(--[a-z-]*\) [A-Z].*/\1 \2/p' <<<"$help" | tr '\n' ' ')"
        elif [[ -n $command && $before != -* ]]; then
            case $command in set | show | rename-label | delete-label | sample | watch) [ -n "$model$has_argument" ] || model=$before ;; esac
            has_argument=yes
        fi
    done
    [[ -z $before || $takes != *" $before "* ]] || option=$before
}

_bayesc()
{
    local program=${COMP_WORDS[0]} kind=${COMP_WORDS[0]##*/} current=${COMP_WORDS[COMP_CWORD]}
    local line=${COMP_LINE:0:COMP_POINT} words word names='' help='' command='' has_argument='' option='' model='' daemon=()
    COMPREPLY=()
    # The shell's own words end at ':', '=' and '@', too.
    read -ra words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=('')
    word=${words[-1]}
    _bayesc_read_words
    [ "$kind" = bayesc ] || help=$("$program" --help 2>/dev/null)
    if [[ $word == --*=* ]]; then
        option=${word%%=*}
        word=${word#*=}
    fi
    if [[ $option == --model || $option == -m ]]; then
        names=$(_bayesc_models "${daemon[@]}")
    elif [[ $option == --preset || "$command $option" == 'create -p' ]]; then
        names='text mail book'
    elif [[ " --label -l --positive --verdict " == *" $option "* && -n $option && $kind == bayesc ]]; then
        names=$(_bayesc_labels)
    elif [[ $option == --set ]]; then
        names=$(_bayesc_settings | sed 's/$/=/')
    elif [[ -z $option && $word == -* ]]; then
        names=$(sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' <<<"$help")
    elif [[ -z $option && $kind == bayesc && -z $command ]]; then
        names=$(_bayesc_commands)
    elif [[ -z $option && -n $has_argument && " rename-label delete-label " == *" $command "* ]]; then
        names=$(_bayesc_labels)
    elif [[ -z $option && -n $has_argument && $command == show ]]; then
        names=$(_bayesc_settings)
    elif [[ -z $option && -n $has_argument && $command == set ]]; then
        names=$(_bayesc_settings | sed 's/$/=/')
    elif [[ -z $option && -z $has_argument ]]; then
        names=$(_bayesc_first_argument "$help" "${daemon[@]}")
    fi
    # shellcheck disable=SC2207 # names hold no white space
    COMPREPLY=($(compgen -W "$names" -- "$word"))
    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
    # What is replaced is the shell's own word, and a '@' before it.
    case $current in [=:]) current= ;; esac
    word=${word%"$current"}
    [ ${#COMPREPLY[@]} -eq 0 ] || COMPREPLY=("${COMPREPLY[@]#"${word%@}"}")
}

complete -o default -F _bayesc bayesc bayesd bayesd-milter
