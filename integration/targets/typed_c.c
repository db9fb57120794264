// A C program that knows every edge of its objects. The objects have no headers, so their types
// follow only from debug information. Globals, statics, and locals of functions deep in a stack
// reference them. typed_edges.h describes the output.

#define GC_THREADS
#include <stdint.h>
#include <stdlib.h>

#include "typed_edges.h"

struct node {
  struct node* next;
  char* name;
  long value;
};

enum color { RED, GREEN, BLUE };

struct item {
  char* name;
  enum color color;
  struct node* first;
};

// Structs in arrays, inside and outside; arrays of arrays.
struct table {
  int count;
  struct item inner[3];
  struct item* items;
  struct node** slots;
  struct node* grid[2][3];
};

// These bit fields together look like the address of a node.
struct bits {
  unsigned small : 3;
  unsigned wide : 13;
  struct node* first;
  uint64_t low : 40;
  uint64_t high : 24;
};

struct packet {
  struct packet* reply;
  size_t length;
  struct node* nodes[];
};

struct variant {
  int tag;
  union {
    struct node* node;
    double number;
    uint64_t word;
  } as;
};

struct operations {
  void (*close)(struct node* of);
  int (*read)(struct node* of, int at);
  struct node* of;
};

// An untyped pointer gives its object no type.
struct secret {
  long number;
  struct secret* next;
};

struct any {
  void* data;
  struct any* next;
};

struct numbers {
  uintptr_t address;
  double real;
  unsigned char bytes[16];
  uintptr_t* words;
};

// A struct without a name, and a pointer into the middle of another.
typedef struct {
  struct node* held;
  long* middle;
} holder;

struct kept {
  struct kept* next;
  struct item item;
};

struct session {
  char* user;
  struct session* parent;
};

struct table* table;
struct bits* all_bits[2];
struct config {
  const char* title;
  struct packet* packets;
  struct variant* variants[3];
} config = {.title = "typed"};
static struct operations* operations;
static struct any* anything;
static struct numbers* numbers;
static holder* holders;
static struct kept* kept_by_static;
static struct session* session_of_local[4];  // the objects of the locals; inverted, to hide them

static char* text(const char* word, long number) {
  char* made = GC_MALLOC_ATOMIC(32);
  snprintf(made, 32, "%s-%ld", word, number);
  return made;
}

static struct node* list(const char* word, long count) {
  struct node* first = NULL;
  for (long i = 0; i < count; ++i) {
    struct node* made = GC_MALLOC(sizeof *made);
    made->next = first;
    made->name = text(word, i);
    made->value = (long)(uintptr_t)first;
    first = made;
  }
  return first;
}

static void fill(struct item* item, long number) {
  item->name = text("item", number);
  item->color = (enum color)(number % 3);
  item->first = number % 2 ? list("of item", 2) : NULL;
}

static void close_node(struct node* of) {
  of->value = 0;
}
static int read_node(struct node* of, int at) {
  return of->name[at];
}

static void make_tables(void) {
  table = GC_MALLOC(sizeof *table);
  table->count = 10;
  table->items = GC_MALLOC(10 * sizeof *table->items);
  table->slots = GC_MALLOC(6 * sizeof *table->slots);
  for (int i = 0; i < 3; ++i) fill(&table->inner[i], i);
  for (int i = 0; i < 10; ++i) fill(&table->items[i], i);
  for (int i = 0; i < 6; ++i) table->slots[i] = i == 4 ? NULL : list("slot", 1);
  for (int i = 0; i < 6; ++i) table->grid[i / 3][i % 3] = list("grid", 1);
  for (int i = 0; i < 2; ++i) {
    struct node* first = list("bits", 3);
    all_bits[i] = GC_MALLOC(sizeof **all_bits);
    *all_bits[i] = (struct bits){.small = 5, .wide = 77, .first = first};
    all_bits[i]->low = (uintptr_t)first & 0xffffffffff;
    all_bits[i]->high = (uintptr_t)first >> 40;
  }
}

static void make_packets(void) {
  for (int i = 0; i < 3; ++i) {
    struct packet* made = GC_MALLOC(sizeof *made + 5 * sizeof *made->nodes);
    made->reply = config.packets;
    made->length = 5;
    for (int j = 0; j < 5; ++j) made->nodes[j] = list("packet", 1);
    config.packets = made;
    config.variants[i] = GC_MALLOC(sizeof **config.variants);
    config.variants[i]->tag = i;
    if (i == 0) config.variants[i]->as.node = list("variant", 1);
    if (i == 1) config.variants[i]->as.number = 2.5;
    if (i == 2) config.variants[i]->as.word = 77;
  }
}

static void make_others(void) {
  operations = GC_MALLOC(sizeof *operations);
  *operations = (struct operations){close_node, read_node, list("operations", 1)};
  numbers = GC_MALLOC(sizeof *numbers);
  numbers->address = (uintptr_t)table;
  memcpy(&numbers->real, &numbers->address, sizeof numbers->real);
  memcpy(numbers->bytes, &numbers->address, sizeof numbers->address);
  numbers->words = GC_MALLOC(8 * sizeof *numbers->words);
  for (int i = 0; i < 8; ++i) numbers->words[i] = (uintptr_t)table;
  holders = GC_MALLOC(sizeof *holders);
  holders->held = list("holder", 1);
  holders->middle = &holders->held->value;
  for (int i = 0; i < 3; ++i) {
    struct secret* secret = GC_MALLOC(sizeof *secret);
    struct any* any = GC_MALLOC(sizeof *any);
    struct kept* kept = GC_MALLOC(sizeof *kept);
    secret->next = anything == NULL ? NULL : anything->data;
    any->data = secret;
    any->next = anything;
    anything = any;
    kept->next = kept_by_static;
    fill(&kept->item, i);
    kept_by_static = kept;
  }
}

static void print_list(const struct node* at) {
  for (; at != NULL; at = at->next) {
    object_line(at, "struct node");
    EDGE("struct node", at, next);
    EDGE("struct node", at, name);
  }
}

static void print_table(void) {
  object_line(table, "struct table");
  EDGE("struct table", table, inner[0].name);
  EDGE("struct table", table, inner[0].first);
  EDGE("struct table", table, inner[1].name);
  EDGE("struct table", table, inner[1].first);
  EDGE("struct table", table, inner[2].name);
  EDGE("struct table", table, inner[2].first);
  EDGE("struct table", table, items);
  EDGE("struct table", table, slots);
  EDGE("struct table", table, grid[0][0]);
  EDGE("struct table", table, grid[0][1]);
  EDGE("struct table", table, grid[0][2]);
  EDGE("struct table", table, grid[1][0]);
  EDGE("struct table", table, grid[1][1]);
  EDGE("struct table", table, grid[1][2]);
  object_line(table->items, "struct item[]");
  for (int i = 0; i < 10; ++i) {
    EDGE_OF("struct item[]", table->items, i, name);
    EDGE_OF("struct item[]", table->items, i, first);
    print_list(table->items[i].first);
  }
  object_line(table->slots, "struct node *[]");
  for (int i = 0; i < 6; ++i) EDGE_AT("struct node *[]", table->slots, i);
  for (int i = 0; i < 6; ++i) print_list(table->slots[i]);
  for (int i = 0; i < 6; ++i) print_list(table->grid[i / 3][i % 3]);
}

static void print_packets(void) {
  for (const struct packet* at = config.packets; at != NULL; at = at->reply) {
    object_line(at, "struct packet");
    EDGE("struct packet", at, reply);
    EDGE("struct packet", at, nodes[0]);
    EDGE("struct packet", at, nodes[1]);
    EDGE("struct packet", at, nodes[2]);
    EDGE("struct packet", at, nodes[3]);
    EDGE("struct packet", at, nodes[4]);
    print_list(at->nodes[0]);
  }
  for (int i = 0; i < 3; ++i) {
    object_line(config.variants[i], "struct variant");
    if (i == 0) EDGE("struct variant", config.variants[i], as.node);
  }
  for (int i = 0; i < 2; ++i) {
    object_line(all_bits[i], "struct bits");
    EDGE("struct bits", all_bits[i], first);
    print_list(all_bits[i]->first);
  }
}

static void print_others(void) {
  object_line(operations, "struct operations");
  EDGE("struct operations", operations, of);
  object_line(numbers, "struct numbers");
  EDGE("struct numbers", numbers, words);
  object_line(numbers->words, "unsigned long[]");
  object_line(holders, "holder");
  EDGE("holder", holders, held);
  EDGE("holder", holders, middle);
  for (const struct any* at = anything; at != NULL; at = at->next) {
    const struct secret* secret = at->data;
    object_line(at, "struct any");
    EDGE("struct any", at, data);
    EDGE("struct any", at, next);
    object_line(secret, "(unknown)");
    edge_line(secret, "(unknown)", "+8", secret->next);
  }
  for (const struct kept* at = kept_by_static; at != NULL; at = at->next) {
    object_line(at, "struct kept");
    EDGE("struct kept", at, next);
    EDGE("struct kept", at, item.name);
    EDGE("struct kept", at, item.first);
  }
  for (int i = 0; i < 4; ++i) {
    const struct session* session = (const struct session*)~(uintptr_t)session_of_local[i];
    object_line(session, "struct session");
    EDGE("struct session", session, user);
    EDGE("struct session", session, parent);
  }
}

static void print_edges(void) {
  print_table();
  print_packets();
  print_others();
}

static struct session* make_session(int number, struct session* parent) {
  struct session* made = GC_MALLOC(sizeof *made);
  made->user = text("user", number);
  made->parent = parent;
  session_of_local[number] = (struct session*)~(uintptr_t)made;
  return made;
}

// Only locals and a parameter reference the sessions, in the function that waits and in its
// callers.
__attribute__((noinline)) static long wait_below(struct session* parameter) {
  printf("ready\n");
  fflush(stdout);
  answer_questions(print_edges);
  return parameter->user[0];
}

__attribute__((noinline)) static long hold_in_array(struct session* parent) {
  struct session* array[2] = {make_session(1, parent), NULL};
  const long found = wait_below(make_session(3, NULL));
  return found + array[0]->user[0];
}

__attribute__((noinline)) static long hold_in_struct(void) {
  struct session inside = {.user = text("inside", 0), .parent = make_session(2, NULL)};
  struct session* plain = make_session(0, NULL);
  const long found = hold_in_array(plain);
  return found + plain->user[0] + inside.parent->user[0];
}

int main(void) {
  GC_INIT();
  make_tables();
  make_packets();
  make_others();
  return hold_in_struct() == 0;
}
