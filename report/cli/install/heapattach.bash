# Completion for bash. Options and what some of them take are read from `heapattach --help all`, so
# that this file never lags behind it.
_heapattach() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} help words
  [[ $before == "=" && COMP_CWORD -gt 1 ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
  COMPREPLY=()
  case $before in
    -f | --format) words="table tsv csv json markdown memprof jsonl html heapsnapshot pprof \
folded svg dhat ruby gcgrph gcfull hprof" ;;
    --snapshot) words="freeze read clone auto" ;;
    --sort) words="bytes count name retained" ;;
    --by) words="type holder" ;;
    --redact) words="full" ;;
    --color) words="auto always never" ;;
    --in-place) words="hold run" ;;
    --returns) words="long int pointer string" ;;
    --routine) words="heapattach_dump heapdump_dump" ;;
    --name) words=$(cat /proc/[0-9]*/comm 2>/dev/null | grep -x "[a-zA-Z0-9._+-]*" | sort -u) ;;
    -p | --pid | --tree) words=$(cd /proc && echo [0-9]*) ;;
    -o | --output | --keep | --library | --type-info | --exe | --debug-dir | --sysroot)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return ;;
    *)
      if [[ $word == -* ]]; then
        help=$("${COMP_WORDS[0]}" --help all 2>/dev/null)
        words=$(grep -oE -e '(^|[ ,])--?[a-z][a-z-]*' <<<"$help" | tr -d ' ,' | sort -u)
      else
        compopt -o filenames 2>/dev/null
        words=$(cd /proc && echo [0-9]*)
        mapfile -t COMPREPLY < <(compgen -f -- "$word"; compgen -W "$words" -- "$word")
        return
      fi ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _heapattach heapattach
