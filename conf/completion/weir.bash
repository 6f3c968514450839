# SPDX-License-Identifier: MIT
#
# weir.bash - completes command lines of weir in bash.
#
# Asks `weir complete`, which knows the verbs, flags, keys and commands of the installed version and the
# names in a running one. Takes the line apart by its blanks, because bash also splits at '=' and ':'.

_weir()
{
    local line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^=:]/} files='' split='' word
    local -a words

    read -ra words <<<"$line"
    [[ $line == *[[:blank:]] ]] && words+=("")
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        if [[ $word == :files ]]; then
            files=yes
        else
            COMPREPLY+=("$word")
        fi
    done < <("${1/#\~/$HOME}" complete -- "${words[@]:1}" 2>/dev/null)
    # bash replaces only what follows the last place where it splits.
    word=${words[-1]}
    [[ -n $breaks ]] && split=${word%"${word##*["$breaks"]}"}
    COMPREPLY=("${COMPREPLY[@]#"$split"}")
    if [[ ${#COMPREPLY[@]} -eq 0 && -n $files ]]; then
        compopt -o default 2>/dev/null
    elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F _weir weir
