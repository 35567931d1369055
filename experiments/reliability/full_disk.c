// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program: from the Nth on, each write to a regular file fails as on a full disk (ENOSPC), or each
// opening of a file to write as on a read-only file system (EROFS). $FAIL is "write:N" or "open:N".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static int fails(const char* kind) {
  const char* which = getenv("FAIL");
  const size_t length = strlen(kind);
  if (which == NULL || strncmp(which, kind, length) != 0 || which[length] != ':') return 0;
  return atomic_fetch_add(&calls, 1) + 1 >= atol(which + length + 1);
}

static int is_full(int file) {
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || !fails("write")) return 0;
  errno = ENOSPC;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void* data, size_t size) { return is_full(file) ? -1 : REAL(write)(file, data, size); }
ssize_t writev(int file, const struct iovec* parts, int count) {
  return is_full(file) ? -1 : REAL(writev)(file, parts, count);
}
ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  return is_full(file) ? -1 : REAL(pwrite)(file, data, size, at);
}
ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  return is_full(file) ? -1 : REAL(pwrite64)(file, data, size, at);
}

static int is_refused(int flags) {
  if ((flags & O_ACCMODE) == O_RDONLY || !fails("open")) return 0;
  errno = EROFS;
  return 1;
}

#define OPEN(name)                                     \
  int name(const char* path, int flags, ...) {         \
    va_list rest;                                      \
    va_start(rest, flags);                             \
    const mode_t mode = va_arg(rest, mode_t);          \
    va_end(rest);                                      \
    return is_refused(flags) ? -1 : REAL(name)(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return is_refused(flags) ? -1 : REAL(openat)(folder, path, flags, mode);
}
