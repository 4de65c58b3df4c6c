/*
 * Registers files that the kernel reads and writes by itself (FUSE pass-through), for a daemon of an ordinary user.
 *
 * The kernel asks for CAP_SYS_ADMIN for that one call. So this program has it (setcap cap_sys_admin+ep), and nothing else
 * of the product. It does only what gives its caller nothing that he has not: see "Native speed for ordinary users" in the
 * page Security, which lists what it refuses and why.
 *
 * Standard input is a socket of sequenced packets. At first it sends 0, or the errno for which it can do nothing. Then:
 *
 *     'o', descriptors of /dev/fuse and of a file   →  the number of the registered file, or -errno
 *     'c' and the number, descriptor of /dev/fuse   →  0, or -errno
 *
 * All numbers have 32 bits, in the order of the machine. It keeps no descriptor from one request to the next: else a mount
 * would outlive its daemon. It ends with the socket.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <linux/types.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* linux/fuse.h, protocol 7.40: headers may be older. */
struct backing_map {
    int32_t file;
    uint32_t flags;
    uint64_t padding;
};
#define BACKING_OPEN _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)
#define FUSE_DEVICE makedev(10, 229)

/* How many files may be registered at a time. Each is a file that no limit of the user counts. */
#define LIMIT 16384

/* The magic numbers that linux/magic.h lacks. */
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e

static const long disks[] = {
    EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, TMPFS_MAGIC, ZFS_MAGIC, BCACHEFS_MAGIC,
};

static unsigned int registered;

static int is_connection(int file)
{
    struct stat status;

    return fstat(file, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == FUSE_DEVICE;
}

static int is_on_disk(int file)
{
    struct statfs disk;
    size_t number;

    if (fstatfs(file, &disk) != 0)
        return 0;
    for (number = 0; number < sizeof disks / sizeof *disks; number++)
        if (disk.f_type == disks[number])
            return 1;
    return 0;
}

/* Whether the kernel may open a file anew for the caller, for reading and writing, without asking for permission: that is
 * what it does with a registered one. Returns 0 or an errno. */
static int check_file(int file)
{
    struct statx status;
    int flags = fcntl(file, F_GETFL);

    if (flags < 0)
        return errno;
    /* Opened for both by whoever gave it: then he was asked for permission. A descriptor of O_PATH opens nothing. */
    if (flags & (O_PATH | O_APPEND) || (flags & O_ACCMODE) != O_RDWR)
        return EACCES;
    if (statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) != 0)
        return errno;
    if (!S_ISREG(status.stx_mode))
        return EINVAL;
    /* Files of memory, and those that are kept from being seen. */
    if (status.stx_nlink == 0)
        return EINVAL;
    if (status.stx_uid != getuid())
        return EPERM;
    /* Which the descriptor may have been opened before. */
    if (status.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND | STATX_ATTR_VERITY))
        return EPERM;
    return is_on_disk(file) ? 0 : EINVAL;
}

static int32_t open_backing(int connection, int file)
{
    struct backing_map map = {.file = file};
    int error = check_file(file);
    int number;

    if (error != 0)
        return -error;
    if (registered >= LIMIT)
        return -EMFILE;
    number = ioctl(connection, BACKING_OPEN, &map);
    if (number <= 0)
        return number == 0 ? -EIO : -errno;
    registered++;
    return number;
}

static int32_t close_backing(int connection, uint32_t number)
{
    if (ioctl(connection, BACKING_CLOSE, &number) != 0)
        return -errno;
    if (registered > 0)
        registered--;
    return 0;
}

static int32_t answer(const unsigned char *request, size_t length, const int *files, size_t count)
{
    uint32_t number;

    if (count == 0 || !is_connection(files[0]))
        return -EINVAL;
    if (length == 1 && request[0] == 'o' && count == 2)
        return open_backing(files[0], files[1]);
    if (length == 1 + sizeof number && request[0] == 'c' && count == 1) {
        memcpy(&number, request + 1, sizeof number);
        return close_backing(files[0], number);
    }
    return -EINVAL;
}

/* Returns 0 when the socket has ended. */
static int serve(void)
{
    unsigned char request[8];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec piece = {request, sizeof request};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *part;
    ssize_t length;
    int files[2];
    size_t count = 0, number;
    int32_t result;

    do
        length = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    if (length <= 0)
        return 0;
    for (part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(files, CMSG_DATA(part), count * sizeof(int));
    }
    /* What did not fit was closed by the kernel. */
    result = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -EINVAL : answer(request, (size_t)length, files, count);
    for (number = 0; number < count; number++)
        close(files[number]);
    return send(STDIN_FILENO, &result, sizeof result, MSG_NOSIGNAL) == (ssize_t)sizeof result;
}

/* Whether CAP_SYS_ADMIN is effective: of the kernel's three sets, that is the first. */
static int has_capability(void)
{
    struct {
        uint32_t version;
        int process;
    } header = {0x20080522, 0};
    struct {
        uint32_t effective, permitted, inheritable;
    } sets[2];

    extern int capget(void *, void *);
    return capget(&header, sets) == 0 && sets[0].effective >> 21 & 1;
}

int main(void)
{
    int32_t result;

    /* No debugger, no core dump, no further privilege; nothing that the caller had open. */
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (chdir("/") != 0 || close_range(STDIN_FILENO + 1, UINT_MAX, 0) != 0)
        return 1;
    result = has_capability() ? 0 : EPERM;
    if (send(STDIN_FILENO, &result, sizeof result, MSG_NOSIGNAL) != (ssize_t)sizeof result || result != 0)
        return 1;
    while (serve())
        ;
    return 0;
}
