#pragma once

#include <string_view>

namespace heapattach {

// "heapattach 0.1.0", as --version and the header of a snapshot say it.
[[nodiscard]] std::string_view version_text();

// --help: what most need, on one screen.
inline constexpr std::string_view kShortHelpText =
    R"(Usage: heapattach [options] PID         looks into a process that runs

  heapattach --count 4711              objects and bytes per type
  heapattach --sizes 4711              the same, with what would go with them
  heapattach --suspects 4711           the few places where most memory is
  heapattach --why Session 4711        what keeps these objects alive
  heapattach --stacks 4711             where its threads and fibers stand
  heapattach --check 4711              may I, and how long would it stop
  heapattach -o heap.jsonl.gz 4711     all of it; a file can stand for 4711
  heapattach --diff heap.jsonl.gz 4711 what grew since then
  heapattach -o heap.html 4711         a report to look at in a browser

  -o, --output FILE      write there; its extension says the format
  -f, --format NAME      jsonl, html, svg, pprof, ...; table, json, ...
      --top N, --type GLOB, --min-bytes N, --sort KEY   rows of a table
      --all, --values    also what is no longer reachable; texts and numbers
      --snapshot MODE    freeze (default), clone, auto or read
      --max-pause MS     give up rather than hold the process longer
      --timeout S        end after about this long (default 60)
  -q, --quiet; -v, --verbose; --version

All options and the exit status: heapattach --help all
)";

// --help all, and the man page.
inline constexpr std::string_view kHelpText =
    R"(Usage: heapattach [options] SOURCE          snapshot of its heap as JSON Lines
       heapattach --count [options] SOURCE  objects and bytes per type
       heapattach --sizes [options] SOURCE  the same, with what they lead to and
                                            what would go with them
       heapattach --stacks [options] PID    where its threads and fibers stand,
                                            and why it hangs; of any program,
                                            or of a core file
       heapattach --why TYPE|ADDRESS SOURCE what keeps it alive
       heapattach --suspects SOURCE         the few places where most memory is
       heapattach --graph TYPE SOURCE       what leads to it, as a Mermaid graph
       heapattach --sizes ADDRESS SOURCE    the sizes of one object
       heapattach --check [options] PID     what stands in the way, how long a
                                            snapshot would take; stops nothing
       heapattach --call 'FN("x", 1)' PID   calls a C function in a copy of it
       heapattach --inject [options] PID    snapshot by its own dump routine, in
                                            a copy; --keep FILE: the raw dump
       heapattach --diff [options] BEFORE AFTER [LAST]
                                            growth per type; with three, what
                                            came after BEFORE and stayed
       heapattach --watch INTERVAL [--rounds N] PID
                                            types that grew in every round
       heapattach --summary [options] SOURCE  what its memory is made of
       heapattach --strings [options] SOURCE  texts that the heap holds twice

SOURCE is the pid of a process that uses the Boehm collector, which is frozen,
copied, let go, and looked into; nothing is written to it but by --snapshot
clone, --call and --inject, which put everything back. Or it is a file: a
snapshot that was saved before, plain or gzip (./4711 if its name is a number),
a core file (gcore's or the kernel's; --exe and --sysroot where its program and
libraries are no longer in their places), or a GCGRPH or GCFULL dump of a
Crystal program, whose types --type-info names.

  -p, --pid PID          a process as SOURCE; several PIDs: a report for each
      --tree PID         this process and all that descend from it
      --name GLOB        all processes with this name, as ps shows it: 'web-*'
  -o, --output FILE      write there (%p pid, %h host, %t time), mode 0600
      --force            replace FILE if it exists; write to a FIFO or device
  -f, --format NAME      of a snapshot: jsonl, html, heapsnapshot, pprof,
                         folded, svg, dhat, ruby, gcgrph, gcfull, hprof
                         (best effort);
                         of counts: table, tsv, csv, json, markdown, memprof;
                         of --graph: mermaid, dot, json; of --stacks: table,
                         json, folded; of --diff: table, json, html; of others:
                         table, json
  -z, --gzip             compress; implied by a FILE in .gz
      --sort KEY         rows by bytes, count, name or retained
      --by GROUP         type (default), or holder: buffers with what holds them
      --top N            the first N rows
      --type GLOB        rows of these types; repeatable: 'Acme::*'
      --min-bytes N      rows of at least N bytes (k, M, G)
      --fail-if EXPR     exit with 10 if so; repeatable: 'count(User) > 1000';
                         also bytes, retained; of --diff and --watch: growth,
                         growth_bytes; a TYPE that is not known is a usage
                         error, but with --allow-missing has 0 objects
      --paths N          of --why: at most so many (default 5)
      --exclude TYPE:FIELD   as if such pointers were not; repeatable
      --levels N         of --graph: how many pointers back (default 5; 0: all)
      --objects N        of --graph: from how many objects (default 10; 0: all)
      --all              also what is allocated but no longer reachable
      --values[=N]       also texts (of N bytes at most, 64) and numbers
      --redact full      stand-ins for all names that are not a library's
      --watch INTERVAL   seconds, or 500ms, 10s, 5m, 1h; --rounds N (default 5)
      --snapshot MODE    freeze (default), read (stops nothing, may tear), clone
                         (stops it for milliseconds, reads a copy), auto
      --max-pause MS     give up rather than hold the process longer
      --timeout S        end after about this long (default 60)
      --returns KIND     what --call prints: long (default), int, pointer or
                         string
      --thread TID       the thread that --call runs as (default: the first)
      --allow-calls NAMES  system calls that --call and --inject may make in the
                         copy besides those in heapattach(1), as socket,connect
      --in-place[=MANNER]  --call in the process itself, where it cannot be
                         undone: on a thread that is in its own code or waits,
                         the others held for --max-pause (hold) or not (run)
      --routine NAME     what --inject calls, as NAME(path, mode) (default:
                         heapattach_dump, or else heapdump_dump)
      --library FILE     loaded into the copy where the process has no such
                         routine (default: heapattach's own)
      --no-rewind        do not re-issue calls that the freeze interrupted
      --type-info FILE   type names from the Crystal compiler
      --exe FILE, --debug-dir DIR, --sysroot DIR   where to find symbols
      --color WHEN       auto, always or never
  -q, --quiet            no summary
  -v, --verbose          tell each step
  -h, --help [all], --version

Exit status: 0 complete, 1 other error, 2 usage, 3 no such process, 4 not
permitted, 5 no supported heap, 6 deadline passed, 7 read only in part, 8 output
not written, 9 traced by another process, 10 --fail-if held, 11 not released
cleanly, 130 and 143 interrupted.

Examples:
  heapattach --count --top 20 4711
  heapattach -o 'heap.%p.%t.jsonl.gz' 4711
  heapattach --diff heap.4711.yesterday.jsonl.gz 4711
  heapattach --why Session 4711
  heapattach --sizes heap.4711.20261120T113407Z.jsonl.gz
)";

}  // namespace heapattach
