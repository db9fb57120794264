// Has allocations whose types no reference shows, because only void pointers reference them, or
// nothing does. One struct has a size of its own. Two structs share a size. One has the size of
// texts. One shares the size of a struct of which a typed list references most objects. Prints
// "ready".

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct conn {  // 104 bytes, like no other struct
  int descriptor;
  char* peer;
  void* buffer;
  long received;
  struct conn* self;
  char state[64];
};

struct left {  // 200 bytes
  char* name;
  char rest[192];
};

struct right {  // 200 bytes, too
  void* value;
  char rest[192];
};

struct item {  // 56 bytes; a typed list references most objects
  struct item* next;
  char* text;
  long numbers[5];
};

struct other {  // 56 bytes, too
  void* value;
  char rest[48];
};

struct page {  // 504 bytes, as the texts have
  struct page* next;
  char text[496];
};

static void* volatile table[1000];
static size_t used;
static struct page no_page;
static struct right no_right;
static struct other no_other;
static struct item* volatile items;

static void keep(void* what) {
  table[used++] = what;
}

static struct conn* open_conn(int descriptor) {
  struct conn* const one = calloc(1, sizeof *one);
  one->descriptor = descriptor;
  one->peer = strdup("10.0.0.1");
  one->buffer = malloc(2000);
  one->self = one;
  strcpy(one->state, "open");
  return one;
}

static __attribute__((noinline)) void forget(void) {
  volatile char stack[16384];
  memset((char*)stack, 0, sizeof stack);
}

static struct item* add_item(struct item* next) {
  struct item* const one = calloc(1, sizeof *one);
  one->next = next;
  one->text = strdup("an item");
  return one;
}

static __attribute__((noinline)) void lose_some(void) {
  for (int i = 0; i < 10; ++i) add_item(add_item(add_item(NULL)));
  for (int i = 0; i < 50; ++i) open_conn(i)->self = NULL;
}

int main(void) {
  for (int i = 0; i < 100; ++i) keep(open_conn(i));
  for (int i = 0; i < 100; ++i) {
    struct left* const one = calloc(1, sizeof *one);
    one->name = strdup("left");
    keep(one);
  }
  for (int i = 0; i < 100; ++i) {
    char* const text = malloc(sizeof no_page);
    memset(text, 'x', sizeof no_page);
    keep(text);
  }
  for (int i = 0; i < 100; ++i) items = add_item(items);
  lose_some();
  forget();
  printf("ready %d\n", no_page.text[0] + no_right.rest[0] + no_other.rest[0]);
  fflush(stdout);
  for (;;) pause();
}
