/* C types for the readers of debug information, and a variable of each. */
struct node {
  struct node* next;
  const char* name;
  unsigned low : 3;
  unsigned high : 13;
  int values[2][3];
  union {
    int number;
    void* pointer;
  };
  int (*compare)(struct node*, const void*);
  enum color { RED, GREEN = 7, BLUE = -1 } color;
};
typedef struct {
  long x;
  double y;
} point_t;
typedef const point_t* point_ref;
struct hidden;
struct buffer {
  unsigned long size;
  struct node* items[];
};
typedef unsigned long size_type;

struct node first;
struct node* const head = &first;
struct node** all[4];
point_t origin;
point_ref where;
struct hidden* secret;
struct buffer* buffer;
volatile size_type count;
int (*compare)(struct node*, const void*);
int (*matrix)[4];
void* anything;
enum color favourite;
struct {
  short s;
} nameless;

int use(int n) {
  static struct node* cache;
  struct local {
    int n;
  } l = {n};
  cache = head;
  return l.n + (cache != 0);
}
