import ctypes, mmap, os, struct
LIBC = ctypes.CDLL(None, use_errno=True)
class Uring:
    NOP, READV, WRITEV, FSYNC, READ_FIXED, WRITE_FIXED, READ, WRITE = 0,1,2,3,4,5,22,23
    FIXED_FILE, LINK, ASYNC = 1, 4, 16
    def __init__(self, entries=32):
        p = ctypes.create_string_buffer(120)
        self.fd = LIBC.syscall(425, entries, p)
        if self.fd < 0: raise OSError(ctypes.get_errno(), "io_uring_setup")
        f = struct.unpack_from("30I", p.raw)
        self.features = f[5]
        so = f[10:20]; co = f[20:30]
        n = max(so[6] + f[0]*4, co[5] + f[1]*16)
        self.ring = mmap.mmap(self.fd, n, offset=0)
        self.sqes = mmap.mmap(self.fd, f[0]*64, offset=0x10000000)
        self.so, self.co = so, co
        self.mask = struct.unpack_from("I", self.ring, so[2])[0]
        self.cmask = struct.unpack_from("I", self.ring, co[2])[0]
    def run(self, ops, wait=None):
        """ops: (opcode, flags, fd, offset, address, length, buf_index)"""
        tail = struct.unpack_from("I", self.ring, self.so[1])[0]
        for n, (op, flags, fd, off, addr, length, buf) in enumerate(ops):
            i = tail & self.mask
            struct.pack_into("<BBHiQQIIQHHiQQ", self.sqes, i*64, op, flags, 0, fd, off & (1<<64)-1, addr, length, 0, n, buf, 0, 0, 0, 0)
            struct.pack_into("I", self.ring, self.so[6]+4*i, i)
            tail += 1
        struct.pack_into("I", self.ring, self.so[1], tail & 0xffffffff)
        r = LIBC.syscall(426, self.fd, len(ops), len(ops), 1, None, 0)
        if r < 0: raise OSError(ctypes.get_errno(), "enter")
        res = [None]*len(ops)
        head, = struct.unpack_from("I", self.ring, self.co[0]); tail, = struct.unpack_from("I", self.ring, self.co[1])
        while head != tail:
            u, rr, fl = struct.unpack_from("QiI", self.ring, self.co[5] + (head & self.cmask)*16)
            res[u] = rr; head += 1
        struct.pack_into("I", self.ring, self.co[0], head)
        return res
    def register(self, op, arg, n):
        r = LIBC.syscall(427, self.fd, op, arg, n)
        if r < 0: raise OSError(ctypes.get_errno(), "register")
if __name__ == "__main__":
    import sys
    u = Uring()
    path = sys.argv[1]
    size = os.stat(path).st_size
    b = ctypes.create_string_buffer(1<<20); a = ctypes.addressof(b)
    fd = os.open(path, os.O_RDONLY)
    print("read 1MiB@0:", u.run([(u.READ,0,fd,0,a,1<<20,0)]))
    print("ASYNC read 1MiB@0:", u.run([(u.READ,u.ASYNC,fd,0,a,1<<20,0)]))
    print("read 64K@-1 x4:", [u.run([(u.READ,0,fd,-1,a,1<<16,0)])[0] for _ in range(4)], os.lseek(fd,0,1))
    os.lseek(fd,0,0)
    print("read 4K@-1 x4 :", [u.run([(u.READ,0,fd,-1,a,4096,0)])[0] for _ in range(4)], os.lseek(fd,0,1))
    os.close(fd)
    fd = os.open(path, os.O_RDWR)
    for _ in range(3): ctypes.memmove(a, bytes([65+_])*70, 70); print("write 70@-1:", u.run([(u.WRITE,0,fd,-1,a,70,0)]), os.lseek(fd,0,1))
    print(os.pread(fd, 220, 0)[:5], os.pread(fd,220,0).count(b"A"))
