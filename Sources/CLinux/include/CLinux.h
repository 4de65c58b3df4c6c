/// The calls and constants of Linux that a Swift import of Glibc lacks: they stand behind `_GNU_SOURCE`, which it does
/// not set, or in headers that its module leaves out.
///
/// Each function is the call that it is named after: see its man page.
#ifndef CLINUX_H
#define CLINUX_H

#include <linux/stat.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Since Linux 6.8, which the headers may be older than.
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

// open(2), openat(2)
extern const int CLinux_O_PATH;
extern const int CLinux_O_TMPFILE;
extern const int CLinux_AT_EMPTY_PATH;
// lseek(2)
extern const int CLinux_SEEK_DATA;
extern const int CLinux_SEEK_HOLE;
// umount2(2)
extern const int CLinux_UMOUNT_NOFOLLOW;
// utimensat(2)
extern const long CLinux_UTIME_OMIT;
// renameat2(2)
extern const unsigned int CLinux_RENAME_NOREPLACE;
extern const unsigned int CLinux_RENAME_EXCHANGE;
// mallopt(3)
extern const int CLinux_M_TRIM_THRESHOLD;
extern const int CLinux_M_MMAP_THRESHOLD;
extern const int CLinux_M_ARENA_MAX;

int CLinux_fallocate(int file, int mode, int64_t offset, int64_t byteCount);
int CLinux_syncfs(int file);
const char *CLinux_secure_getenv(const char *name);
ssize_t CLinux_splice(
    int from, off_t *fromOffset, int to, off_t *toOffset, size_t byteCount, unsigned int flags);
ssize_t CLinux_readlinkat(int directory, const char *name, void *target, size_t capacity);
int CLinux_renameat2(
    int directory, const char *name, int newDirectory, const char *newName, unsigned int flags);
int CLinux_statx(int directory, const char *name, int flags, unsigned int mask, struct statx *status);

/* When the inode of a file was created, in nanoseconds since 1970; 0 where the file system does not record it, or on
   errors. Symbolic links are not followed. Without `struct statx`, for modules that use times of Glibc. */
long long CLinux_born(const char *path);

int CLinux_fremovexattr(int file, const char *name);
int CLinux_fsetxattr(int file, const char *name, const void *value, size_t byteCount, int flags);
ssize_t CLinux_fgetxattr(int file, const char *name, void *value, size_t capacity);
ssize_t CLinux_flistxattr(int file, void *names, size_t capacity);
int CLinux_lsetxattr(const char *path, const char *name, const void *value, size_t byteCount, int flags);
ssize_t CLinux_lgetxattr(const char *path, const char *name, void *value, size_t capacity);
ssize_t CLinux_llistxattr(const char *path, void *names, size_t capacity);
ssize_t CLinux_getxattr(const char *path, const char *name, void *value, size_t capacity);
ssize_t CLinux_listxattr(const char *path, void *names, size_t capacity);

/* openat2(2): the path must lead to something on the same mount below the directory, by no symbolic link. */
int CLinux_openat2_beneath(int directory, const char *path, uint64_t flags);
/* sendmsg(2) with descriptors: 1 to 4 of them. Related: unix(7), SCM_RIGHTS. */
#define CLinux_FILES_LIMIT 4
ssize_t CLinux_send_files(int socket, const void *bytes, size_t byteCount, const int *files, size_t count);
int CLinux_pipe2(int ends[2], int flags);
// With MFD_CLOEXEC.
int CLinux_memfd_create(const char *name);
// close_range(2): closes this descriptor and all above it.
int CLinux_close_from(unsigned int first);

// With O_CLOEXEC and O_NONBLOCK, of which EFD_CLOEXEC and EFD_NONBLOCK are other names.
int CLinux_eventfd(unsigned int count, int flags);
int CLinux_pidfd_open(pid_t process, unsigned int flags);
int CLinux_pthread_setname_np(pthread_t thread, const char *name);
int CLinux_mallopt(int option, int value);
int CLinux_malloc_trim(size_t kept);
// For example "ENOENT"; NULL for an unknown number.
const char *CLinux_strerrorname_np(int number);

#endif
