import Glibc

/// What `/proc` says about processes.
enum ProcessTable {
    /// The process of a thread; the thread's own id when it is gone or of another pid namespace.
    ///
    /// FUSE requests carry thread ids. Related: proc(5), `/proc/PID/status`, `Tgid`.
    static func process(ofThread thread: Int32) -> Int32 {
        guard let status = contents("/proc/\(thread)/status") else { return thread }
        for line in status.split(separator: "\n") where line.hasPrefix("Tgid:") {
            return Int32(line.dropFirst("Tgid:".count).drop { $0 == "\t" || $0 == " " }) ?? thread
        }
        return thread
    }

    /// The name of a process's program, at most 15 bytes; empty when it is gone.
    static func command(of process: Int32) -> String {
        String((contents("/proc/\(process)/comm") ?? "").prefix { $0 != "\n" })
    }

    /// The first 4 KiB of a file of `/proc`, which is all that is looked for here.
    private static func contents(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let count = read(file, buffer.baseAddress, buffer.count)
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
        }
    }
}
