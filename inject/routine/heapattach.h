/* heapattach_dump: writes the contents of the heap of the program that calls it, for programs that
 * use the Boehm collector.
 *
 * A program can call it itself, or have it called from outside in a throwaway copy of the program:
 *   heapattach --inject --keep FILE PID
 *
 * It allocates nothing, neither from the collector nor with malloc, and writes only with plain
 * system calls. In a program with several threads, the collector stops the other threads during the
 * call (GC_stop_world_external), and takes its own lock to do so. Therefore call it only where the
 * program could allocate, and never in a signal handler. A signal handler should set a flag that
 * some loop of the program checks.
 */
#ifndef HEAPATTACH_ROUTINE_H
#define HEAPATTACH_ROUTINE_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HEAPATTACH_GRAPH = 0, /* GCGRPH: every object and its pointers */
  HEAPATTACH_FULL = 1,  /* GCFULL: every object and all its bytes, including secrets */
  /* Can be added to either mode: use the result of the last collection instead of collecting. */
  HEAPATTACH_NO_COLLECTION = 256
};

/* Writes the objects that a collection finds alive to the file `path`, which is created with mode
 * 0600 or replaced. Returns the number of objects, or minus an errno. */
long heapattach_dump(const char* path, int mode);

/* Writes the same to an open descriptor. */
long heapattach_dump_to(int descriptor, int mode);

#ifdef __cplusplus
}
#endif

#endif
