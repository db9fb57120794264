# Completion for fish. Options are read from `heapattach --help all`, so that this file never lags
# behind it.
function __heapattach_options
    heapattach --help all 2>/dev/null | string match -ra '(?:^|[ ,])(--?[a-z][a-z-]*)' |
        string trim -c ' ,' | sort -u
end
complete -c heapattach -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__heapattach_options)'
complete -c heapattach -n 'not string match -q -- "-*" (commandline -ct)' -a '(__fish_complete_pids)'
complete -c heapattach -s f -l format -x -a 'table tsv csv json markdown memprof jsonl html heapsnapshot pprof folded svg dhat ruby gcgrph gcfull hprof'
complete -c heapattach -l snapshot -x -a 'freeze read clone auto'
complete -c heapattach -l sort -x -a 'bytes count name retained'
complete -c heapattach -l by -x -a 'type holder'
complete -c heapattach -l redact -x -a 'full'
complete -c heapattach -l color -x -a 'auto always never'
complete -c heapattach -s o -l output -r
complete -c heapattach -s p -l pid -x -a '(__fish_complete_pids)'
complete -c heapattach -l call -x
complete -c heapattach -l returns -x -a 'long int pointer string'
complete -c heapattach -l thread -x
complete -c heapattach -l allow-calls -x
complete -c heapattach -l allow-missing
complete -c heapattach -l in-place -a 'hold run'
complete -c heapattach -l routine -x -a 'heapattach_dump heapdump_dump'
complete -c heapattach -l keep -r
complete -c heapattach -l library -r
complete -c heapattach -l tree -x -a '(__fish_complete_pids)'
