# SPDX-License-Identifier: MIT
#
# weir.fish - completes command lines of weir in fish.
#
# Asks `weir complete`, which knows the verbs, flags, keys and commands of the installed version and the
# names in a running one.

function __weir_complete
    set -l words (commandline -opc)
    set -l name $words[1]
    set -e words[1]
    set -l current (commandline -ct)
    $name complete -- $words "$current" 2>/dev/null
end

complete -c weir -f -a '(__weir_complete | string match -v -- :files)'
complete -c weir -n '__weir_complete | string match -q -- :files' -F
