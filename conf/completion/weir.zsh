#compdef weir
# SPDX-License-Identifier: MIT
#
# weir.zsh - completes command lines of weir in zsh.
#
# Asks `weir complete`, which knows the verbs, flags, keys and commands of the installed version and the
# names in a running one.

_weir()
{
    local word help files
    local -a typed whole whole_lines begun begun_lines

    (( CURRENT > 2 )) && typed=("${(@Q)words[2,CURRENT-1]}")

    while IFS=$'\t' read -r word help; do
        case $word in
        :files)
            files=yes
            ;;
        *=)
            begun+=("$word")
            begun_lines+=("$word${help:+  -- $help}")
            ;;
        *)
            whole+=("$word")
            whole_lines+=("${(r:24:)word}${help:+  -- $help}")
            ;;
        esac
    done < <("${words[1]/#\~\//$HOME/}" complete -- "${typed[@]}" "${(Q)PREFIX}" 2>/dev/null)
    (( $#whole )) && compadd -l -d whole_lines -a whole
    (( $#begun )) && compadd -l -S '' -d begun_lines -a begun
    [[ -n $files ]] && _files
    return 0
}

_weir "$@"
