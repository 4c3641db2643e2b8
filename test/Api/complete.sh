# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What bash proposes after the given words: complete.sh FILE WORDS...
compopt() { :; }
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"_${1//-/_}"
printf '%s\n' "${COMPREPLY[@]}"
