#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

const int CLinux_O_PATH = O_PATH;
const int CLinux_O_TMPFILE = O_TMPFILE;
const int CLinux_AT_EMPTY_PATH = AT_EMPTY_PATH;
const int CLinux_SEEK_DATA = SEEK_DATA;
const int CLinux_SEEK_HOLE = SEEK_HOLE;
const int CLinux_UMOUNT_NOFOLLOW = UMOUNT_NOFOLLOW;
const long CLinux_UTIME_OMIT = UTIME_OMIT;
const unsigned int CLinux_RENAME_NOREPLACE = RENAME_NOREPLACE;
const unsigned int CLinux_RENAME_EXCHANGE = RENAME_EXCHANGE;
const int CLinux_M_TRIM_THRESHOLD = M_TRIM_THRESHOLD;
const int CLinux_M_MMAP_THRESHOLD = M_MMAP_THRESHOLD;
const int CLinux_M_ARENA_MAX = M_ARENA_MAX;

int CLinux_fallocate(int file, int mode, int64_t offset, int64_t byteCount) {
    return fallocate(file, mode, offset, byteCount);
}

int CLinux_openat2_beneath(int directory, const char *path, uint64_t flags) {
    struct open_how how = {
        .flags = flags,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return syscall(SYS_openat2, directory, path, &how, sizeof how);
}

int CLinux_pipe2(int ends[2], int flags) { return pipe2(ends, flags); }

int CLinux_memfd_create(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

int CLinux_close_from(unsigned int first) { return syscall(SYS_close_range, first, ~0U, 0); }

int CLinux_syncfs(int file) { return syncfs(file); }

const char *CLinux_secure_getenv(const char *name) { return secure_getenv(name); }

ssize_t CLinux_splice(
    int from, off_t *fromOffset, int to, off_t *toOffset, size_t byteCount, unsigned int flags) {
    return splice(from, fromOffset, to, toOffset, byteCount, flags);
}

ssize_t CLinux_readlinkat(int directory, const char *name, void *target, size_t capacity) {
    return readlinkat(directory, name, target, capacity);
}

int CLinux_renameat2(
    int directory, const char *name, int newDirectory, const char *newName, unsigned int flags) {
    return renameat2(directory, name, newDirectory, newName, flags);
}

int CLinux_statx(int directory, const char *name, int flags, unsigned int mask, struct statx *status) {
    return statx(directory, name, flags, mask, status);
}

long long CLinux_born(const char *path) {
    struct statx status;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME))
        return 0;
    return status.stx_btime.tv_sec * 1000000000LL + status.stx_btime.tv_nsec;
}

int CLinux_fremovexattr(int file, const char *name) {
    return fremovexattr(file, name);
}

int CLinux_fsetxattr(int file, const char *name, const void *value, size_t byteCount, int flags) {
    return fsetxattr(file, name, value, byteCount, flags);
}

ssize_t CLinux_fgetxattr(int file, const char *name, void *value, size_t capacity) {
    return fgetxattr(file, name, value, capacity);
}

ssize_t CLinux_flistxattr(int file, void *names, size_t capacity) { return flistxattr(file, names, capacity); }

int CLinux_lsetxattr(const char *path, const char *name, const void *value, size_t byteCount, int flags) {
    return lsetxattr(path, name, value, byteCount, flags);
}

ssize_t CLinux_lgetxattr(const char *path, const char *name, void *value, size_t capacity) {
    return lgetxattr(path, name, value, capacity);
}

ssize_t CLinux_llistxattr(const char *path, void *names, size_t capacity) {
    return llistxattr(path, names, capacity);
}

ssize_t CLinux_getxattr(const char *path, const char *name, void *value, size_t capacity) {
    return getxattr(path, name, value, capacity);
}

ssize_t CLinux_listxattr(const char *path, void *names, size_t capacity) { return listxattr(path, names, capacity); }

int CLinux_eventfd(unsigned int count, int flags) { return eventfd(count, flags); }

// The C library has it since 2.36 only.
int CLinux_pidfd_open(pid_t process, unsigned int flags) {
    return (int)syscall(SYS_pidfd_open, process, flags);
}

int CLinux_pthread_setname_np(pthread_t thread, const char *name) { return pthread_setname_np(thread, name); }

int CLinux_mallopt(int option, int value) { return mallopt(option, value); }

int CLinux_malloc_trim(size_t kept) { return malloc_trim(kept); }

const char *CLinux_strerrorname_np(int number) { return strerrorname_np(number); }

ssize_t CLinux_send_files(
    int socket, const void *bytes, size_t byteCount, const int *files, size_t count) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(CLinux_FILES_LIMIT * sizeof(int))];
    } control = {0};
    struct iovec piece = {(void *)bytes, byteCount};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control};
    if (count == 0 || count > CLinux_FILES_LIMIT) {
        errno = EINVAL;
        return -1;
    }
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(part), files, count * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}
