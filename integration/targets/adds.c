// Prints "ready", and then adds a node to the front of a list every 50 microseconds, until its
// input ends or the list has a million nodes.

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
  struct node* next;
  char text[200];
};

static struct node* newest;

int main(void) {
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  for (int i = 0; i < 1000000; ++i) {
    struct node* const node = malloc(sizeof *node);
    if (node == NULL) return 1;
    memset(node->text, 'x', sizeof node->text);
    node->next = newest;
    newest = node;
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 0) > 0) return 0;
    usleep(50);
  }
  return 0;
}
