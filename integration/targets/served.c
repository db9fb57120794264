// A file system with one file, "served MOUNTPOINT FILE": serves FILE as MOUNTPOINT/program through
// /dev/fuse, until the message "stop". Then it reads no more requests, and every process that needs
// one waits in the kernel. When its input ends, the program ends, and so does the file system. It
// implements only the part of the protocol (linux/fuse.h) that is needed to run a program from
// there.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kFile = 2, kRequestBytes = 1 << 18 };

static int fuse;
static int file;

static void answer(const struct fuse_in_header* request, int error, const void* data, size_t size) {
  static char reply[kRequestBytes];
  const struct fuse_out_header header = {
      .len = (uint32_t)(sizeof header + size), .error = error, .unique = request->unique};
  memcpy(reply, &header, sizeof header);
  if (size > 0) memcpy(reply + sizeof header, data, size);
  if (write(fuse, reply, header.len) < 0) perror("answer");
}

static struct fuse_attr attributes(uint64_t node) {
  struct stat status;
  fstat(file, &status);
  struct fuse_attr attr = {.ino = node, .mode = S_IFDIR | 0755, .nlink = 2, .blksize = 4096};
  if (node == kFile) {
    attr.mode = S_IFREG | 0755;
    attr.nlink = 1;
    attr.size = (uint64_t)status.st_size;
    attr.blocks = (uint64_t)status.st_blocks;
  }
  return attr;
}

static void handle(const struct fuse_in_header* request) {
  const void* body = request + 1;
  static char bytes[kRequestBytes];
  switch (request->opcode) {
    case FUSE_INIT: {
      struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
      return answer(request, 0, &out, sizeof out);
    }
    case FUSE_LOOKUP: {
      if (strcmp(body, "program") != 0) return answer(request, -ENOENT, NULL, 0);
      struct fuse_entry_out out = {.nodeid = kFile, .generation = 1, .attr = attributes(kFile)};
      return answer(request, 0, &out, sizeof out);
    }
    case FUSE_GETATTR: {
      struct fuse_attr_out out = {.attr = attributes(request->nodeid)};
      return answer(request, 0, &out, sizeof out);
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR: {
      struct fuse_open_out out = {.fh = 1};
      return answer(request, 0, &out, sizeof out);
    }
    case FUSE_READ: {
      const struct fuse_read_in* read_in = body;
      const ssize_t got = pread(file, bytes, read_in->size, (off_t)read_in->offset);
      return answer(request, got < 0 ? -EIO : 0, bytes, got < 0 ? 0 : (size_t)got);
    }
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: return;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR: return answer(request, 0, NULL, 0);
    default: return answer(request, -ENOSYS, NULL, 0);
  }
}

int main(int argc, char** argv) {
  static char request[kRequestBytes];
  char options[128];
  char line[64];
  if (argc < 3) return 2;
  fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  file = open(argv[2], O_RDONLY | O_CLOEXEC);
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
  const int is_mounted =
      fuse >= 0 && file >= 0 && mount("served", argv[1], "fuse", MS_NODEV, options) == 0;
  printf("ready mounted=%d\n", is_mounted);
  fflush(stdout);
  if (!is_mounted) return 1;
  int serves = 1;
  for (;;) {
    struct pollfd waited[2] = {{0, POLLIN, 0}, {serves ? fuse : -1, POLLIN, 0}};
    poll(waited, 2, -1);
    if (waited[0].revents != 0) {
      const ssize_t got = read(0, line, sizeof line);
      if (got <= 0) break;
      serves = 0;
      printf("stopped=1\n");
      fflush(stdout);
    }
    if (serves && (waited[1].revents & POLLIN) != 0 && read(fuse, request, sizeof request) > 0) {
      handle((const struct fuse_in_header*)request);
    }
  }
  umount2(argv[1], MNT_DETACH);
  return 0;
}
