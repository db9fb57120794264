/* heapattach_dump: writes what is in the heap of the program that it is called in, for programs
 * that use the Boehm collector.
 *
 * A program may call it itself, or have it called from outside in a throwaway copy of the program:
 *   heapattach --inject --keep FILE PID
 *
 * Nothing is allocated, neither from the collector nor by malloc, and nothing is written but by
 * plain system calls. In a program with several threads the collector holds the others still
 * meanwhile (GC_stop_world_external), for which it takes its own lock: so call it where you could
 * allocate, and not in a signal's handler. A handler should set a flag that some loop looks at.
 */
#ifndef HEAPATTACH_ROUTINE_H
#define HEAPATTACH_ROUTINE_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HEAPATTACH_GRAPH = 0, /* GCGRPH: every object and its pointers */
  HEAPATTACH_FULL = 1,  /* GCFULL: every object and all its bytes, secrets too */
  /* Added to either: what the last collection found, without a collection now. */
  HEAPATTACH_NO_COLLECTION = 256
};

/* Writes the objects that a collection finds alive to the file `path`, which is made for its owner
 * alone (0600) or replaced. How many there are, or minus an errno. */
long heapattach_dump(const char* path, int mode);

/* The same to a descriptor. */
long heapattach_dump_to(int descriptor, int mode);

#ifdef __cplusplus
}
#endif

#endif
