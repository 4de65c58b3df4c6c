/*
 * Starts a daemon anew at once when it is killed, and keeps for it what must not end meanwhile: its connection to the
 * kernel. See "A daemon that is killed" in the page Architecture.
 *
 *     dewpoint-supervisor PROGRAM ARGUMENT…
 *
 * Descriptor 3 is for the first daemon, which reports on it that it is ready. Each daemon has a socket of sequenced packets
 * as descriptor 4, on which it says, in one byte:
 *
 *     'f' and a descriptor   its connection, /dev/fuse: from now on it is started anew when it is killed
 *     's' and a descriptor   the memory that says what is open
 *     'n' and a descriptor   a socket of sequenced packets, the notifications on which are written to the connection
 *     'r'                    it serves
 *     'u'                    it is about to be killed, so that the program as it is installed by then takes its place
 *     'e'                    it ends in order: nothing is kept any more
 *
 * A daemon that takes the place of another has both as descriptors 5 and 6. The variables of the environment below name
 * the three.
 *
 * A notification may wait for the lock of a directory, and the holder of that for an answer of the daemon. A daemon that is
 * killed meanwhile could not end before the lock is free. So they are written by a process that is neither killed with it,
 * nor has anything that the next daemon needs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY 3
#define SOCKET 4
#define CONNECTION 5
#define MEMORY 6
/* The descriptors of this process are above those of daemons. */
#define OWN 10

/* A daemon that ends so many times in a row, each time within so many seconds, is not started anew. Tests, which kill often,
 * set another number of seconds. */
#define QUICK_DEATHS 3
#define QUICK_SECONDS 10
#define QUICK_VARIABLE "DEWPOINT_SUPERVISOR_SECONDS"
/* Between two daemons, in microseconds: one that cannot start shall not keep the machine busy. */
#define PAUSE 20000
/* The longest notification: one that stores a page in the kernel's cache is not sent this way. */
#define NOTIFICATION_LIMIT 8192

static char socket_variable[] = "DEWPOINT_SUPERVISOR=4";
static char connection_variable[] = "DEWPOINT_CONNECTION=5";
static char memory_variable[] = "DEWPOINT_HANDLES=6";

extern char **environ;

static struct {
    char **arguments;
    char **environment;
    /* Where the variables above begin. */
    char **variables;
    sigset_t signals;
    /* -1: none. */
    int connection;
    int memory;
    int socket;
    pid_t daemon;
    struct timespec started;
    int is_serving;
    /* Whether the daemon has said that it is about to be killed, to be replaced: that is no death that counts. */
    int is_replaced;
    int quick_deaths;
    long quick_seconds;
} own = {.connection = -1, .memory = -1, .socket = -1};

static volatile sig_atomic_t is_ending;

static void end(int signal)
{
    is_ending = signal;
}

static void wake(int signal)
{
    (void)signal;
}

static void say(const char *sentence, int number)
{
    dprintf(STDERR_FILENO, "dewpoint-supervisor: %s (%d)\n", sentence, number);
}

static void drop(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

/* Moves a descriptor above those of daemons. */
static int moved(int file)
{
    int other = fcntl(file, F_DUPFD_CLOEXEC, OWN);

    close(file);
    return other;
}

static int starts_with(const char *text, const char *variable)
{
    return strncmp(text, variable, strcspn(variable, "=") + 1) == 0;
}

static int prepare_environment(void)
{
    size_t count = 0;
    char **old;

    for (old = environ; *old; old++)
        count++;
    own.environment = calloc(count + 4, sizeof *own.environment);
    if (!own.environment)
        return -1;
    count = 0;
    for (old = environ; *old; old++)
        if (!starts_with(*old, socket_variable) && !starts_with(*old, connection_variable)
            && !starts_with(*old, memory_variable))
            own.environment[count++] = *old;
    own.variables = own.environment + count;
    return 0;
}

/* In the new process: what the daemon gets, and nothing else. */
static void become_daemon(int socket)
{
    own.variables[0] = socket_variable;
    dup2(socket, SOCKET);
    if (own.connection >= 0) {
        dup2(own.connection, CONNECTION);
        dup2(own.memory, MEMORY);
        own.variables[1] = connection_variable;
        own.variables[2] = memory_variable;
    }
    /* Whoever waited for the first daemon waits no more, and the number must not become another file's. */
    if (fcntl(READY, F_GETFD) < 0 && open("/dev/null", O_WRONLY) != READY)
        _exit(127);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &own.signals, NULL);
    execve(own.arguments[0], own.arguments, own.environment);
    _exit(127);
}

static int start(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    own.socket = moved(ends[0]);
    ends[1] = moved(ends[1]);
    own.is_serving = 0;
    clock_gettime(CLOCK_MONOTONIC, &own.started);
    own.daemon = fork();
    if (own.daemon == 0)
        become_daemon(ends[1]);
    close(ends[1]);
    close(READY);
    return own.daemon < 0 ? -1 : 0;
}

/* Writes what comes on a socket to the connection, and sends back 0 or -errno each time. */
static void notify(int socket)
{
    static char bytes[NOTIFICATION_LIMIT];
    ssize_t length;
    int32_t result;

    prctl(PR_SET_NAME, "dewpoint-notify");
    /* Not the others', above all not the socket of the daemon, at whose end the supervisor would wait for this process. */
    dup2(socket, STDIN_FILENO);
    dup2(own.connection, STDOUT_FILENO);
    close_range(STDERR_FILENO, UINT_MAX, 0);
    for (;;) {
        length = recv(STDIN_FILENO, bytes, sizeof bytes, 0);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            _exit(0);
        result = write(STDOUT_FILENO, bytes, (size_t)length) < 0 ? -errno : 0;
        if (send(STDIN_FILENO, &result, sizeof result, MSG_NOSIGNAL) != (ssize_t)sizeof result)
            _exit(0);
    }
}

static void start_notifier(int socket)
{
    if (own.connection >= 0 && fork() == 0)
        notify(socket);
    close(socket);
}

/* Takes one message. Returns 0 when the socket has ended. */
static int hear(void)
{
    unsigned char tag = 0;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec piece = {&tag, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *part;
    ssize_t length;
    int file = -1;

    do
        length = recvmsg(own.socket, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    if (length <= 0)
        return 0;
    part = CMSG_FIRSTHDR(&message);
    if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
        memcpy(&file, CMSG_DATA(part), sizeof file);
        file = moved(file);
    }
    switch (tag) {
    case 'f':
        drop(&own.connection);
        own.connection = file;
        break;
    case 's':
        drop(&own.memory);
        own.memory = file;
        break;
    case 'n':
        if (file >= 0)
            start_notifier(file);
        break;
    case 'r':
        own.is_serving = 1;
        break;
    case 'u':
        own.is_replaced = 1;
        break;
    case 'e':
        drop(&own.connection);
        drop(&own.memory);
        break;
    default:
        drop(&file);
    }
    return 1;
}

/* What the daemon said before it died is still to be heard. */
static void hear_all(void)
{
    struct pollfd waiting = {.fd = own.socket, .events = POLLIN};

    while (own.socket >= 0 && poll(&waiting, 1, 0) > 0 && hear())
        ;
    drop(&own.socket);
}

/* Ends as the daemon did. */
static void end_like(int status)
{
    struct rlimit none = {0, 0};

    if (WIFEXITED(status))
        exit(WEXITSTATUS(status));
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    sigprocmask(SIG_SETMASK, &own.signals, NULL);
    raise(WTERMSIG(status));
    exit(128 + WTERMSIG(status));
}

/* Nobody will answer any more. Who waits for an answer may hold a lock that the process waits for which writes
 * notifications, and this has the connection too: it would never end. So everything is refused until there are none. */
static void refuse_all(void)
{
    static union {
        struct {
            uint32_t length;
            uint32_t operation;
            uint64_t unique;
        } request;
        char bytes[(1 << 20) + 8192];
    } room;
    struct {
        uint32_t length;
        int32_t error;
        uint64_t unique;
    } reply = {.length = 16, .error = 7};
    struct pollfd waiting = {.fd = own.connection, .events = POLLIN};
    int turns;

    fcntl(own.connection, F_SETFL, O_NONBLOCK);
    /* FUSE_NOTIFY_RESEND: also what the daemon had read. */
    if (write(own.connection, &reply, sizeof reply) < 0)
        return;
    reply.error = -ENOTCONN;
    for (turns = 0; turns < 100 && (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD); turns++) {
        poll(&waiting, 1, 10);
        while (read(own.connection, room.bytes, sizeof room.bytes) > 0) {
            reply.unique = room.request.unique;
            /* FORGET and BATCH_FORGET have no answer. */
            if (room.request.operation != 2 && room.request.operation != 42
                && write(own.connection, &reply, sizeof reply) < 0)
                continue;
        }
    }
}

/* Whether the daemon is to be started anew. */
static int is_to_be_replaced(int status)
{
    struct timespec now;

    if (is_ending || own.connection < 0 || own.memory < 0)
        return 0;
    if (WIFEXITED(status) && (own.is_serving || WEXITSTATUS(status) == 0))
        return 0;
    if (own.is_replaced) {
        own.is_replaced = 0;
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    own.quick_deaths = now.tv_sec - own.started.tv_sec < own.quick_seconds ? own.quick_deaths + 1 : 0;
    if (own.quick_deaths < QUICK_DEATHS)
        return 1;
    say("the daemon ended again and again, giving up; times", own.quick_deaths);
    refuse_all();
    return 0;
}

/* Reaps processes that have ended. */
static void reap(void)
{
    int status;
    pid_t process;

    while ((process = waitpid(-1, &status, WNOHANG)) > 0) {
        if (process != own.daemon)
            continue;
        hear_all();
        if (!is_to_be_replaced(status)) {
            drop(&own.connection);
            drop(&own.memory);
            end_like(status);
        }
        if (WIFSIGNALED(status))
            say("the daemon was killed and is started anew; signal", WTERMSIG(status));
        else
            say("the daemon could not go on and is started anew; status", WEXITSTATUS(status));
        usleep(own.quick_deaths > 1 ? PAUSE * own.quick_deaths : 0);
        if (start() != 0) {
            say("the daemon cannot be started anew; errno", errno);
            drop(&own.connection);
            exit(1);
        }
    }
}

static void handle(int signal, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    sigaction(signal, &action, NULL);
}

static int prepare(char **arguments)
{
    sigset_t blocked;

    own.arguments = arguments;
    own.quick_seconds = getenv(QUICK_VARIABLE) ? atol(getenv(QUICK_VARIABLE)) : QUICK_SECONDS;
    handle(SIGHUP, SIG_IGN);
    handle(SIGPIPE, SIG_IGN);
    handle(SIGTERM, end);
    handle(SIGINT, end);
    handle(SIGCHLD, wake);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &blocked, &own.signals) != 0 || prepare_environment() != 0)
        return -1;
    /* A supervisor keeps no directory busy. */
    return chdir("/");
}

int main(int count, char **arguments)
{
    int forwarded = 0;

    if (count < 2) {
        fputs("usage: dewpoint-supervisor PROGRAM [ARGUMENT]...\n", stderr);
        return 64;
    }
    if (prepare(arguments + 1) != 0 || start() != 0) {
        say("the daemon cannot be started; errno", errno);
        return 1;
    }
    for (;;) {
        struct pollfd waiting = {.fd = own.socket, .events = POLLIN};

        if (ppoll(&waiting, 1, NULL, &own.signals) > 0 && !hear())
            /* It is ending, or has closed it: its end is told by a signal. */
            drop(&own.socket);
        if (is_ending && is_ending != forwarded) {
            forwarded = is_ending;
            kill(own.daemon, forwarded);
        }
        reap();
    }
}
