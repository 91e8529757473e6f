#compdef bayesc bayesd bayesd-milter
# SPDX-License-Identifier: Apache-2.0
# Completion for zsh of bayesc, bayesd and bayesd-milter: commands, options and operations come from their --help,
# names of models, labels and settings from the daemon.

_bayesc_commands()
{
    $program --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
}

_bayesc_models()
{
    $program models --timeout 2 $daemon 2>/dev/null | sed '1d; s/ .*//'
}

# Of the model in $model, or of the default.
_bayesc_labels()
{
    $program stats --tokens 0 --timeout 2 ${model:+--model} ${model:+$model} $daemon 2>/dev/null | sed '1,/^label/d; s/ .*//'
}

_bayesc_settings()
{
    $program show --timeout 2 ${model:+--model} ${model:+$model} $daemon 2>/dev/null | sed '1d; s/ .*//'
}

# What the first argument may be: a model, or an operation that the first line of the help offers.
_bayesc_first_argument()
{
    print -r -- $help | sed -n '1s/.*\[OPTION\]\.\.\. \(\[MODEL\] \)\{0,1\}\[\{0,1\}\([a-z]*|[a-z|]*\).*/\2/p' | tr '|' '\n'
    case ${help%%$'\n'*} in
    *'[OPTION]... MODEL'* | *'[OPTION]... [MODEL'* | *'[OPTION]... OLD'*) _bayesc_models ;;
    esac
}

# Finds in the words before the cursor the command, whether it has an argument, the option whose value is completed,
# and the options that say where the daemon is.
_bayesc_read_words()
{
    local before word
    local -a commands takes
    takes=(-m --model -u --url --token-file --ca-file --cert --key --timeout --after)
    [[ $kind != bayesc ]] || commands=(${(f)"$(_bayesc_commands)"})
    for word in ${(Q)words[2,CURRENT-1]}; do
        if [[ -n $before ]] && (( $takes[(Ie)$before] )); then
            [[ $before != (-m|--model) ]] || model=$word
            [[ $before != (-u|--url|--token-file|--ca-file|--cert|--key) ]] || daemon+=($before $word)
            before=
            continue
        fi
        before=$word
        [[ $word != --model=* ]] || model=${word#*=}
        [[ $word != --(url|token-file|ca-file|cert|key)=* ]] || daemon+=($word)
        if [[ -z $command ]] && (( $commands[(Ie)$word] )); then
            command=$word
            help=$($program $command --help 2>/dev/null)
            takes=(${=:-$(print -r -- $help | sed -n 's/^  \(-.\)\{0,1\},\{0,1\} *\(--[a-z-]*\) [A-Z].*/\1 \2/p')})
        elif [[ -n $command && $word != -* ]]; then
            [[ $command != (set|show|rename-label|delete-label|sample|watch) || -n $model$has_argument ]] || model=$word
            has_argument=yes
        fi
    done
    [[ -z $before ]] || (( ! $takes[(Ie)$before] )) || option=$before
}

_bayesc()
{
    local program=$words[1] kind=${words[1]:t} help command has_argument option model
    local -a how
    local -a names daemon
    _bayesc_read_words
    [[ $kind == bayesc ]] || help=$($program --help 2>/dev/null)
    if compset -P 1 '--*='; then
        option=${IPREFIX%=}
    fi
    if [[ $option == (-m|--model) ]]; then
        names=(${(f)"$(_bayesc_models)"})
    elif [[ $option == --preset || "$command $option" == 'create -p' ]]; then
        names=(text mail book)
    elif [[ $option == (--label|-l|--positive|--verdict) && $kind == bayesc ]]; then
        names=(${(f)"$(_bayesc_labels)"})
    elif [[ $option == --set ]]; then
        how=(-S=)
        names=(${(f)"$(_bayesc_settings)"})
    elif [[ -z $option && $PREFIX == -* ]]; then
        names=(${(f)"$(print -r -- $help | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p')"})
    elif [[ -z $option && $kind == bayesc && -z $command ]]; then
        names=(${(f)"$(_bayesc_commands)"})
    elif [[ -z $option && -n $has_argument && $command == (rename-label|delete-label) ]]; then
        names=(${(f)"$(_bayesc_labels)"})
    elif [[ -z $option && -n $has_argument && $command == (show|set) ]]; then
        [[ $command == show ]] || how=(-S=)
        names=(${(f)"$(_bayesc_settings)"})
    elif [[ -z $option && -z $has_argument ]]; then
        names=(${(f)"$(_bayesc_first_argument)"})
    fi
    if (( $#names )); then
        compadd $how -- $names
    else
        # LABEL=PATH
        [[ $kind != bayesc ]] || compset -P 1 '*='
        _files
    fi
}

_bayesc "$@"
