// A program in the shape of the C that V's compiler writes: arrays whose element types only a
// typedef states, maps with two buffers, strings by value, sum types, an interface, and a thread
// with arrays of its own. Only one sum type has functions that make it, as in programs without
// -prod. The typedef of one map can be understood in two ways. Prints how many objects of each type
// it has, and waits for the end of its standard input.
#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef double f64;

typedef struct string {
  u8* str;
  int len;
  int is_lit;
} string;

// With MANAGED, an array's own buffer has a header of eight bytes.
typedef enum {
  ArrayFlags__noslices = 1,
#ifdef MANAGED
  ArrayFlags__managed = 16,
#endif
} ArrayFlags;

typedef struct array {
  void* data;
  int offset;
  int len;
  int cap;
  ArrayFlags flags;
  int element_size;
} array;

typedef struct DenseArray {
  int key_bytes;
  int value_bytes;
  int cap;
  int len;
  u32 deletes;
  u8* all_deleted;
  u8* keys;
  u8* values;
} DenseArray;

typedef struct map {
  int key_bytes;
  int value_bytes;
  DenseArray key_values;
  u32* metas;
  int len;
} map;

typedef struct main__Item main__Item;
typedef struct main__Session main__Session;
typedef struct main__Circle main__Circle;
typedef struct main__Square main__Square;
typedef struct main__Shape main__Shape;
typedef struct main__Event main__Event;
typedef struct main__Speaker main__Speaker;
typedef struct main__a main__a;
typedef struct main__a_main__b main__a_main__b;
typedef struct main__b main__b;
typedef struct main__b_main__b main__b_main__b;
typedef array Array_int;
typedef array Array_string;
typedef array Array_Array_int;
typedef array Array_main__Item;
typedef array Array_main__Session_ptr;
typedef array Array_main__Shape;
typedef array Array_main__Event;
typedef array Array_main__Speaker;
typedef map Map_string_main__Session_ptr;
typedef map Map_int_f64;
typedef map Map_main__a_main__b_main__b;

struct main__Item {
  string title;
  int price;
};

struct main__Session {
  string name;
  int visits;
  Array_main__Item items;
  main__Session* next;
};

struct main__Circle {
  f64 radius;
  string name;
};

struct main__Square {
  int side[6];
};

struct main__Shape {
  union {
    struct main__Circle* _main__Circle;
    struct main__Square* _main__Square;
  };
  int _typ;
};

struct main__Event {
  union {
    struct main__Circle* _main__Circle;
    struct main__Item* _main__Item;
  };
  int _typ;
};

typedef struct main__Dog {
  string name;
  int age;
} main__Dog;

typedef struct main__Cat {
  Array_int lives;
  string name;
} main__Cat;

struct main__Speaker {
  union {
    void* _object;
    main__Dog* _main__Dog;
    main__Cat* _main__Cat;
  };
  int _typ;
  string* name;
};
const int _main__Speaker_main__Dog_index = 0;
const int _main__Speaker_main__Cat_index = 1;

// The keys of one map may be of type `a` or of type `a_main__b`.
struct main__a {
  long a;
};
struct main__a_main__b {
  long a;
};
struct main__b {
  long b;
};
struct main__b_main__b {
  long b;
};

typedef struct main__App {
  Array_main__Session_ptr sessions;
  Map_string_main__Session_ptr by_name;
  Map_int_f64 prices;
  Array_main__Shape shapes;
  Array_main__Event events;
  Array_main__Speaker speakers;
  Array_string names;
  Array_Array_int matrix;
  Map_main__a_main__b_main__b unclear;
  main__a_main__b key;
  main__b_main__b value;
  main__a other_key;
  main__b other_value;
} main__App;

enum { SESSIONS = 1000, SHAPES = 300, EVENTS = 20, SPEAKERS = 90, OWN = 500 };

static main__App* app;
static pthread_barrier_t ready;
static pthread_barrier_t done;

static string text(const char* word, int number) {
  char buffer[64];
  string result = {0};
  result.len = snprintf(buffer, sizeof buffer, "%s %d", word, number);
  result.str = GC_MALLOC_ATOMIC((size_t)result.len + 1);
  memcpy(result.str, buffer, (size_t)result.len + 1);
  return result;
}

static array new_array(int cap, int element_size, bool is_atomic) {
  array result = {0};
  size_t bytes = (size_t)cap * (size_t)element_size;
#ifdef MANAGED
  bytes += sizeof(void*);
  result.flags = ArrayFlags__managed;
#endif
  char* const buffer = is_atomic ? GC_MALLOC_ATOMIC(bytes) : GC_MALLOC(bytes);
  if (is_atomic) memset(buffer, 0, bytes);
#ifdef MANAGED
  result.data = buffer + sizeof(void*);
#else
  result.data = buffer;
#endif
  result.cap = cap;
  result.element_size = element_size;
  return result;
}

static void* pushed(array* to) {
  return (char*)to->data + (size_t)to->len++ * (size_t)to->element_size;
}

static void fill_map(map* it, int cap, int key_bytes, int value_bytes) {
  it->key_bytes = it->key_values.key_bytes = key_bytes;
  it->value_bytes = it->key_values.value_bytes = value_bytes;
  it->key_values.cap = cap;
  it->key_values.keys = GC_MALLOC((size_t)cap * (size_t)key_bytes);
  it->key_values.values = GC_MALLOC((size_t)cap * (size_t)value_bytes);
  it->metas = GC_MALLOC_ATOMIC((size_t)cap * 2 * sizeof(u32));
  memset(it->metas, 0, (size_t)cap * 2 * sizeof(u32));
}

static main__Session* new_session(const char* word, int number) {
  main__Session* const session = GC_MALLOC(sizeof *session);
  session->name = text(word, number);
  session->visits = number;
  return session;
}

static void* memdup(const void* from, size_t bytes) {
  return memcpy(GC_MALLOC(bytes), from, bytes);
}

static main__Shape main__Circle_to_sumtype_main__Shape(main__Circle* from) {
  main__Circle* const value = memdup(from, sizeof *from);
  return (main__Shape){._main__Circle = value, ._typ = 95};
}

static main__Shape main__Square_to_sumtype_main__Shape(main__Square* from) {
  main__Square* const value = memdup(from, sizeof *from);
  return (main__Shape){._main__Square = value, ._typ = 296};
}

static main__Shape new_shape(int number) {
  if (number % 3 == 0) {
    return main__Circle_to_sumtype_main__Shape(&(main__Circle){1.5, text("circle", number)});
  }
  return main__Square_to_sumtype_main__Shape(&(main__Square){{number}});
}

static main__Event new_event(int number) {
  return (main__Event){
      ._main__Circle = memdup(&(main__Circle){.radius = number}, sizeof(main__Circle)), ._typ = 97};
}

static main__Speaker new_speaker(int number) {
  main__Speaker speaker = {0};
  if (number % 3 == 0) {
    main__Dog* const dog = memdup(&(main__Dog){text("dog", number), number}, sizeof *dog);
    speaker._main__Dog = dog;
    speaker._typ = _main__Speaker_main__Dog_index;
    speaker.name = &dog->name;
  } else {
    main__Cat* const cat = memdup(&(main__Cat){.name = text("cat", number)}, sizeof *cat);
    speaker._main__Cat = cat;
    speaker._typ = _main__Speaker_main__Cat_index;
    speaker.name = &cat->name;
  }
  return speaker;
}

static void add_session(int number) {
  main__Session* const session = new_session("guest", number);
  session->items = new_array(2, sizeof(main__Item), false);
  for (int i = 0; i < 2; ++i)
    *(main__Item*)pushed(&session->items) = (main__Item){text("book", i), i};
  *(main__Session**)pushed(&app->sessions) = session;
  ((string*)app->by_name.key_values.keys)[number] = text("key", number);
  ((main__Session**)app->by_name.key_values.values)[number] = session;
  *(string*)pushed(&app->names) = text("name", number);
  const array row = new_array(3, sizeof(int), true);
  *(Array_int*)pushed(&app->matrix) = row;
}

static void fill(void) {
  app = GC_MALLOC(sizeof *app);
  app->sessions = new_array(SESSIONS, sizeof(main__Session*), false);
  app->names = new_array(SESSIONS, sizeof(string), false);
  app->matrix = new_array(SESSIONS, sizeof(Array_int), false);
  app->shapes = new_array(SHAPES, sizeof(main__Shape), false);
  app->events = new_array(EVENTS, sizeof(main__Event), false);
  app->speakers = new_array(SPEAKERS, sizeof(main__Speaker), false);
  fill_map(&app->by_name, SESSIONS, sizeof(string), sizeof(main__Session*));
  fill_map(&app->prices, SESSIONS, sizeof(int), sizeof(f64));
  fill_map(&app->unclear, 40, sizeof(main__a), sizeof(main__b_main__b));
  for (int i = 0; i < SESSIONS; ++i) add_session(i);
  for (int i = 0; i < SHAPES; ++i) *(main__Shape*)pushed(&app->shapes) = new_shape(i);
  for (int i = 0; i < EVENTS; ++i) *(main__Event*)pushed(&app->events) = new_event(i);
  for (int i = 0; i < SPEAKERS; ++i) *(main__Speaker*)pushed(&app->speakers) = new_speaker(i);
}

static void* work(void* unused) {
  Array_main__Session_ptr own = new_array(OWN, sizeof(main__Session*), false);
  for (int i = 0; i < OWN; ++i) *(main__Session**)pushed(&own) = new_session("worker", i);
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&done);
  return own.len == OWN ? unused : app;
}

int main(void) {
  GC_INIT();
  fill();
  pthread_t thread;
  pthread_barrier_init(&ready, NULL, 2);
  pthread_barrier_init(&done, NULL, 2);
  if (GC_pthread_create(&thread, NULL, work, NULL) != 0) return 1;
  pthread_barrier_wait(&ready);
  printf(
      "ready sessions=%d item_buffers=%d rows=%d circles=%d squares=%d events=%d dogs=%d cats=%d ",
      SESSIONS + OWN, SESSIONS, SESSIONS, SHAPES / 3, SHAPES - SHAPES / 3, EVENTS, SPEAKERS / 3,
      SPEAKERS - SPEAKERS / 3);
  printf("texts=%d\n", SESSIONS * 5 + OWN + SHAPES / 3 + SPEAKERS);
  fflush(stdout);
  while (getchar() != EOF) {
  }
  pthread_barrier_wait(&done);
  return GC_pthread_join(thread, NULL);
}
