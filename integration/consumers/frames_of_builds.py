#!/usr/bin/env python3
"""frames_of_builds.py list short|long: the builds of the standing programs to compare, a line each.
frames_of_builds.py run HEAPATTACH TARGETS BUILD: builds one, starts it, and compares its frames.

A build is LANGUAGE COMPILER FORM FLAG…: how it is linked, and where its debug information is, is
its form.
"""
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

OPTIMISED = ['-O0', '-O1', '-O2', '-O3']
# Which tables, and whether with frame pointers.
TABLES = {
    'kept': ['-fno-omit-frame-pointer'],
    'omitted': ['-fomit-frame-pointer'],
    # No .eh_frame: with -g the compilers write .debug_frame instead.
    'debug-frame': ['-fomit-frame-pointer', '-fno-asynchronous-unwind-tables',
                    '-fno-unwind-tables'],
}
# How it is linked.
LINKED = {
    'pie': ['-fpie', '-pie'],
    'lazy': ['-fpie', '-pie', '-Wl,-z,lazy'],
    'fixed': ['-fno-pie', '-no-pie'],
    'static': ['-static'],
    'static-pie': ['-static-pie', '-fpie'],
    'link': ['-fpie', '-pie'],      # stripped, its debug file is named by .gnu_debuglink
    'build-id': ['-fpie', '-pie'],  # stripped, its debug file is found by the build id
    'deep': ['-fpie', '-pie'],      # a million frames, which are too many for gdb
    'mini': ['-fpie', '-pie'],      # stripped, with mini debug info: compressed symbols
}
SHORT = ['c gcc mini -O2 -fomit-frame-pointer', 'cxx clang link -O1 -fno-omit-frame-pointer',
         'c musl-gcc static -O2']


def long_list():
    builds = list(SHORT)
    for language in ('c', 'cxx'):
        for compiler in ('gcc', 'clang'):
            for level in OPTIMISED:
                for name, flags in TABLES.items():
                    # Exceptions need the tables that this leaves out.
                    if language == 'cxx' and name == 'debug-frame':
                        continue
                    builds.append(' '.join([language, compiler, 'pie', level, *flags]))
            for form in LINKED:
                builds.append(f'{language} {compiler} {form} -O2')
            for more in ('-gdwarf-4', '-gsplit-dwarf', '-flto', '-fcf-protection=full'):
                if (compiler, more) != ('clang', '-flto'):  # needs another linker
                    builds.append(f'{language} {compiler} pie -O2 {more}')
    for level in OPTIMISED:
        builds.append(f'c musl-gcc static {level}')
    builds.append('c musl-gcc pie -O2')
    builds += ['c gcc deep -O0', 'c gcc deep -O2', 'c clang deep -O1']
    return list(dict.fromkeys(builds))


def strip_to_mini(program):
    """As distributions do it: the symbols of functions stay, compressed, in a section."""
    symbols = program + '.symbols'
    subprocess.run(['objcopy', '--strip-debug', '--remove-section=.comment', program, symbols],
                   check=True)
    subprocess.run(['xz', '--force', symbols], check=True)
    subprocess.run(['strip', '--strip-all', program], check=True)
    subprocess.run(['objcopy', f'--add-section=.gnu_debugdata={symbols}.xz', program], check=True)


def build(targets, text, directory):
    language, compiler, form, *flags = text.split()
    if language == 'cxx':
        compiler = {'gcc': 'g++', 'clang': 'clang++'}[compiler]
        flags = ['-std=c++17', *flags]
    source = os.path.join(targets, 'standing.c' if language == 'c' else 'standing.cpp')
    program = os.path.join(directory, 'standing')
    # eu-stack finds units only by .debug_aranges, which clang writes on request.
    if compiler.startswith('clang'):
        flags.append('-gdwarf-aranges')
    subprocess.run([compiler, '-g', '-pthread', '-Wl,--build-id', *flags, *LINKED[form], '-o',
                    program, source], check=True, cwd=directory)
    options = []
    if form == 'mini':
        strip_to_mini(program)
    if form in ('link', 'build-id'):
        debug = program + '.debug'
        subprocess.run(['objcopy', '--only-keep-debug', program, debug], check=True)
        subprocess.run(['strip', '--strip-all', program], check=True)
        if form == 'link':
            subprocess.run(['objcopy', f'--add-gnu-debuglink={debug}', program], check=True)
        else:
            notes = subprocess.run(['readelf', '-n', program], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout
            build_id = notes.split('Build ID: ')[1].split()[0]
            below = os.path.join(directory, 'dbg', '.build-id', build_id[:2])
            os.makedirs(below)
            os.rename(debug, os.path.join(below, build_id[2:] + '.debug'))
            options = ['--debug-dir', os.path.join(directory, 'dbg')]
    return program, options


def look_at_musl(tool, pid):
    """No tables say how musl's functions return, and they keep no frame pointers: gdb and eu-stack
    do not get out of them. heapattach follows their code, and must come to the program's functions."""
    done = subprocess.run([tool, '--stacks', '-q', '-f', 'json', '--max-pause', '60000', str(pid)],
                          check=True, stdout=subprocess.PIPE)
    bad = 0
    for thread in json.loads(done.stdout)['threads']:
        functions = [frame.get('function', '?') for frame in thread['frames']]
        wanted = ['main'] if thread['tid'] == pid else ['in_', 'run']
        # If musl has no symbols either, this thread's frame pointer is trusted.
        if thread['name'] == 'aligned' and functions[0] == '?':
            wanted = ['run']
        at = 0
        for function in functions:
            at += at < len(wanted) and function.startswith(wanted[at])
        if at < len(wanted) or not {'code', 'scan'} & {frame['found_by'] for frame in thread['frames']}:
            print(f'thread {thread["name"]}: {functions}')
            bad += 1
    print(f'{bad} stacks without the functions of the program')
    return 1 if bad else 0


NOT_HERE = 77  # the exit status for a build that is impossible here


def run(tool, targets, text):
    compiler, form = text.split()[1:3]
    for needed in [compiler] + ['xz'] * (form == 'mini'):
        if not shutil.which(needed):
            print(f'{needed} is not installed')
            return NOT_HERE
    with tempfile.TemporaryDirectory(prefix='heapattach-frames-') as directory:
        program, options = build(targets, text, directory)
        # It ends when its input does: also if this script is killed.
        depth, only = (['1000000'], ['--only=eu-stack']) if form == 'deep' else ([], [])
        with subprocess.Popen([program, *depth], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as standing:
            try:
                if not select.select([standing.stdout], [], [], 30)[0] or \
                        standing.stdout.readline() != b'ready\n':
                    sys.exit(f'{text} does not come to stand')
                if compiler == 'musl-gcc':
                    return look_at_musl(tool, standing.pid)
                done = subprocess.run([sys.executable, os.path.join(HERE, 'frames.py'), *only,
                                       tool, str(standing.pid), *options], check=False)
            finally:
                standing.kill()
        return done.returncode


def main():
    if sys.argv[1] == 'list':
        print('\n'.join(SHORT if sys.argv[2] == 'short' else long_list()))
        return 0
    return run(*sys.argv[2:5])


sys.exit(main())
