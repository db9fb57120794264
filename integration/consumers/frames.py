#!/usr/bin/env python3
"""frames.py HEAPATTACH PID [OPTION...]: checks heapattach's frames against those of gdb and eu-stack.

The process is stopped, so that all three describe the same state: every thread, frame for frame,
with function, file and line. Prints the differences, and ends with 1 if there are any. Further
options are heapattach's; --debug-dir goes to the other two as well. Known differences in notation
are described here, at the function that removes each, and nowhere else.
"""
import json
import os
import re
import subprocess
import sys

SIGNAL = '<signal handler called>'  # as gdb and heapattach write it


class Frame:
    def __init__(self, function, file='', line=0, column=0):
        self.function, self.file, self.line, self.column = function, file, line, column
        self.inlined_into = ''

    def __repr__(self):
        return f'{self.function or "?"} {self.file}:{self.line}:{self.column}'


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, timeout=300, errors='replace')
    return done


def frames_of_heapattach(tool, pid, options):
    done = run([tool, '--stacks', '-q', '-f', 'json', '--max-pause', '60000', *options, pid])
    if done.returncode != 0:
        sys.exit(f'heapattach ended with {done.returncode}: {done.stderr}')
    threads = {}
    for thread in json.loads(done.stdout)['threads']:
        frames = [Frame(f.get('function', ''), f.get('file', ''), f.get('line', 0), f.get('column', 0))
                  for f in thread['frames']]
        outer = ''
        for frame, told in zip(reversed(frames), reversed(thread['frames'])):
            if told.get('inlined'):
                frame.inlined_into = outer
            else:
                outer = frame.function
        threads[thread['tid']] = frames
        if thread['end'] != 'outermost':
            print(f'thread {thread["tid"]}: the stack ends {thread["end"]}')
        if thread.get('left_out'):
            # None for each: the others count the frames of such a deep stack from there.
            at = thread['left_out_behind']
            frames[at:at] = [None] * thread['left_out']
    return threads


# "#3  0x00007f… in app::run<int> (x=…) at app.cc:12", "… in read () from /lib/libc.so.6"
GDB_FRAME = re.compile(r'^#\d+\s+(?:0x[0-9a-f]+ in )?(?P<rest>.*)$')
GDB_PLACE = re.compile(r'^(?P<call>.*?)(?: at (?P<file>\S+):(?P<line>\d+)| from \S+)?$')


def without_arguments(call):
    """gdb writes the arguments behind a name, and a blank before them."""
    depth = 0
    for at in range(len(call) - 1, -1, -1):
        depth += {')': 1, '(': -1}.get(call[at], 0)
        if depth == 0 and call[at] == '(':
            return call[:at].rstrip()
    return call.strip()


# For each frame, whether gdb invented it: a function that ended in a jump is no longer on the
# stack.
JUMPED = """
for thread in gdb.selected_inferior().threads():
  thread.switch()
  frame, kinds = gdb.newest_frame(), ''
  while frame is not None:
    kinds += 'j' if frame.type() == gdb.TAILCALL_FRAME else '.'
    frame = frame.older()
  print('kinds', thread.ptid[1] or thread.ptid[0], kinds)
"""


def frames_of_gdb(pid, debug_dir):
    settings = ['set debuginfod enabled off', 'set width 0', 'set height 0',
                'set print frame-arguments none', 'set print entry-values no',
                'set print demangle on', 'set backtrace past-main on', 'set backtrace past-entry on',
                'set backtrace limit unlimited']
    if debug_dir:
        settings.append(f'set debug-file-directory {debug_dir}:/usr/lib/debug')
    command = ['gdb', '-nx', '-batch']
    for setting in settings:
        command += ['-iex', setting]
    done = run([*command, '-p', pid, '-ex', f'python exec({JUMPED!r})', '-ex', 'thread apply all bt'])
    kinds = dict(re.findall(r'^kinds (\d+) (\S+)$', done.stdout, re.MULTILINE))
    threads, now = {}, None
    for line in done.stdout.splitlines():
        # One thread has no heading if threads are unknown, as in a static program.
        if found := re.match(r'^Thread \d+ \((?:Thread 0x[0-9a-f]+ )?\(?(?:LWP|process) (\d+)', line):
            tid = int(found[1])
            now = threads.setdefault(tid, [])
        elif line.startswith('#') and now is not None:
            # After the last frame of a fiber gdb shows another, at address 0.
            if re.match(r'^#\d+\s+0x0+ in \?\? \(\)$', line):
                kinds[str(tid)] = kinds[str(tid)][:-1]
                continue
            rest = GDB_FRAME.match(line)['rest']
            if SIGNAL in rest:
                now.append(Frame(SIGNAL))
                continue
            place = GDB_PLACE.match(rest)
            now.append(Frame(without_arguments(place['call']), place['file'] or '',
                             int(place['line'] or 0)))
    if not threads:
        sys.exit(f'gdb shows no stacks: {done.stderr}')
    for tid, frames in threads.items():
        kept = zip(frames, kinds.get(str(tid), ''), strict=True)
        threads[tid] = [frame for frame, kind in kept if kind == '.']
    return threads


def frames_of_eu_stack(pid, debug_dir):
    path = [f'--debuginfo-path={debug_dir}:/usr/lib/debug:.debug'] if debug_dir else []
    # Its status shows whether it reached the end of every stack; its output is used anyway.
    done = run(['eu-stack', '-i', '-s', '-n', '0', *path, '-p', pid])
    threads, now = {}, None
    for line in done.stdout.splitlines():
        if found := re.match(r'^TID (\d+):', line):
            now = threads.setdefault(int(found[1]), [])
        elif found := re.match(r'^#\d+\s+0x[0-9a-f]+(?: - \d+)?(?: (.*))?$', line):
            now.append(Frame((found[1] or '').strip()))
        elif found := re.match(r'^    (\S.*?):(\d+)(?::(\d+))?$', line):
            now[-1].file, now[-1].line = found[1], int(found[2])
            now[-1].column = int(found[3] or 0)
    if not threads:
        sys.exit(f'eu-stack shows no stacks: {done.stderr}')
    return threads


def without_types(name):
    """C++: eu-stack writes parameters and the type that a template returns, gdb those of lambdas."""
    name = re.sub(r'( const| volatile| &&?)+$', '', name.split(' [clone ')[0])
    if name.endswith(')'):
        bare = without_arguments(name)
        name = name if re.search(r'\boperator$', bare) else bare
    depth, start = 0, 0
    for at, letter in enumerate(name):
        if depth == 0 and re.match(r'operator\b', name[at:]):
            break
        depth += {'(': 1, '<': 1, '{': 1, ')': -1, '>': -1, '}': -1}.get(letter, 0)
        if depth == 0 and letter == ' ':
            start = at + 1
    return name[start:]


def is_crystal_symbol_of(function, symbol):
    """eu-stack shows Crystal's symbols: "*IO::FileDescriptor+@IO::Evented#wait_readable:Nil", gdb
    the bare methods, which are all that the debug information has."""
    if symbol.startswith('~proc'):
        return function in ('->', '(proc)')
    method = re.escape(re.split(r'#|::', function)[-1])
    return re.search(rf'(^\*|#|::|\.){method}(<|:|$)', symbol) is not None


def plain_name(name):
    """Several names of one function, of which each picks another; and versions of symbols."""
    name = without_types(name.split('@@')[0]) if name != SIGNAL else name
    name = name if name.endswith('@plt') else re.sub(r'@[A-Z].*$', '', name)
    name = re.sub(r'\.(part|constprop|isra|cold).*$', '', name)
    name = re.sub(r'(?<!:):(?!:)\w+$', '', name)  # the names of a Crystal method's arguments
    name = re.sub(r'^(__GI_|__vdso_|__libc_(?=[a-z]+$)|_IO_(?=getc$))', '', name).lstrip('_')
    return {'sccp': 'syscall_cp_c'}.get(name, name)  # of musl


def same_function(ours, theirs, who):
    if theirs.function.startswith(('*', '~proc')):
        return is_crystal_symbol_of(ours.function, theirs.function)
    mine, other = plain_name(ours.function), plain_name(theirs.function)
    if mine == other or (mine, other) == ('', '??'):
        return True
    # A function that only its own unit can call has a bare name in the debug information: eu-stack
    # prints that, gdb omits the class of a lambda.
    if other and re.search(r'(^|::|#)_*' + re.escape(other) + '$', mine):
        return True
    if who == 'eu-stack':
        if ours.function == SIGNAL and theirs.function.startswith('__restore'):
            return True  # the C library's function that a handler returns to
        if mine.endswith('@plt') and other == '':
            return True  # it has no names for stubs of other modules
    return False


def same_place(ours, theirs):
    if ours.line != theirs.line or theirs.column not in (0, ours.column):
        return False
    a, b = os.path.normpath(ours.file), os.path.normpath(theirs.file)
    return a == b or a.endswith('/' + b.lstrip('./')) or b.endswith('/' + a.lstrip('./'))


def is_host_at(mine, at, theirs, who):
    """Some member functions that are inlined eu-stack leaves out, and gives the function that has
    the code the line of the innermost one; all of them where it has no lines either. Returns the
    position of that function."""
    if who != 'eu-stack' or not mine[at].inlined_into:
        return None
    if theirs.line and not same_place(mine[at], theirs):
        return None
    host = next(i for i in range(at, len(mine)) if not mine[i].inlined_into)
    # It names that one by its symbol, which writes the types of lambdas differently.
    names = [plain_name(frame.function).split('<')[0] for frame in (mine[host], theirs)]
    return host if same_function(mine[host], theirs, who) or names[0] == names[1] else None


def compare_stacks(title, mine, theirs, who):
    """What differs: texts, and by their places here the frames in which only the line does."""
    at, lines, nothing = 0, {}, Frame('no frame')
    for number in range(max(len(mine), len(theirs))):
        a = mine[at] if at < len(mine) else nothing
        b = theirs[number] if number < len(theirs) else nothing
        if a is nothing and b is nothing:
            break
        if a is None:
            at += b is not nothing
            continue
        text = f'{title} frame {at}: heapattach {a}, {who} {b}'
        if not same_function(a, b, who):
            host = is_host_at(mine, at, b, who) if a is not nothing else None
            if host is None:
                return [text], lines  # the rest differs as well
            at = host
        elif not same_place(a, b):
            lines[title, at] = text
        at += 1
    return [], lines


def compare(ours, theirs, who):
    differences, lines = [], {}
    for tid in sorted(set(ours) | set(theirs)):
        if tid not in ours or tid not in theirs:
            differences.append(f'thread {tid} is not seen by {who if tid in ours else "heapattach"}')
            continue
        texts, places = compare_stacks(f'thread {tid}', ours[tid], theirs[tid], who)
        differences += texts
        lines.update(places)
    return differences, lines


def main():
    only = sys.argv[1].removeprefix('--only=') if sys.argv[1].startswith('--only=') else ''
    tool, pid, *options = sys.argv[1 + bool(only):]
    debug_dir = options[options.index('--debug-dir') + 1] if '--debug-dir' in options else ''
    ours = frames_of_heapattach(tool, pid, options)
    of_eu_stack = frames_of_eu_stack(pid, debug_dir)
    of_gdb = frames_of_gdb(pid, debug_dir) if only != 'eu-stack' else {}
    differences, gdb_lines = compare(ours, of_gdb, 'gdb') if of_gdb else ([], {})
    more, eu_lines = compare(ours, of_eu_stack, 'eu-stack')
    # eu-stack finds no lines if a unit is not in .debug_aranges, as with all LLVM output.
    if of_gdb and not gdb_lines:
        eu_lines = {at: text for at, text in eu_lines.items() if not text.endswith(' :0:0')}
    # gdb uses only those rows of the line table that begin a statement. If eu-stack has the same
    # line as heapattach, from the row of the instruction, gdb's is the one before.
    kept = [text for at, text in gdb_lines.items() if at in eu_lines]
    differences += more + list(eu_lines.values()) + kept
    for text in differences:
        print(text)
    count = sum(len(frames) for theirs in (of_gdb, of_eu_stack) for frames in theirs.values())
    print(f'{len(ours)} threads, {count} frames of gdb and eu-stack, {len(differences)} differences, '
          f'{len(gdb_lines) - len(kept)} other lines by gdb')
    sys.exit(1 if differences else 0)


main()
