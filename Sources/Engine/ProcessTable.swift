import Coordination
import Glibc

/// What `/proc` says about processes.
enum ProcessTable {
    /// The process of a thread; the thread's own id when it is gone or of another pid namespace.
    ///
    /// FUSE requests carry thread ids. Related: proc(5), `/proc/PID/status`, `Tgid`.
    static func process(ofThread thread: Int32) -> Int32 {
        let process = withContents("/proc/\(thread)/status") { status -> Int32? in
            // In bytes: every file that is opened asks, and making text of it all took longer than all the rest of the asking.
            let name: StaticString = "\nTgid:\t"
            let length = name.utf8CodeUnitCount
            guard status.count > length,
                let start = (0..<status.count - length).first(where: {
                    status[$0] == UInt8(ascii: "\n") && memcmp(status.baseAddress! + $0, name.utf8Start, length) == 0
                })
            else { return nil }
            let digits = status[(start + length)...].prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            return Int32(String(decoding: digits, as: UTF8.self))
        }
        return (process ?? nil) ?? thread
    }

    /// The name of a process's program, at most 15 bytes; empty when it is gone.
    static func command(of process: Int32) -> String {
        String((contents("/proc/\(process)/comm") ?? "").prefix { $0 != "\n" })
    }

    /// A process and its ancestors, itself included; those that cannot be seen from this pid namespace are left out.
    ///
    /// Related: proc_pid_stat(5), `ppid`.
    static func lineage(of process: ProcessID) -> Set<ProcessID> {
        var lineage: Set<ProcessID> = []
        var current = process
        while current.rawValue > 0, lineage.count < lineageLimit, lineage.insert(current).inserted {
            guard let parent = status(of: current.rawValue)?.parent else { break }
            current = ProcessID(parent)
        }
        return lineage
    }

    /// The most generations that are looked at.
    private static let lineageLimit = 1024

    /// Whether a signal or a debugger has stopped it.
    static func isStopped(_ process: Int32) -> Bool {
        status(of: process).map { $0.state == "T" || $0.state == "t" } ?? false
    }

    /// The pid namespace of a process when it is not ours, such as `pid:[4026532201]`.
    static func otherNamespace(of process: Int32) -> String? {
        guard let theirs = link("/proc/\(process)/ns/pid"), theirs != link("/proc/self/ns/pid") else { return nil }
        return theirs
    }

    private static func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
            let count = readlink(path, buffer.baseAddress!, buffer.count)
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
        }
    }

    /// The state and the parent, which stand behind the name; the name is in parentheses and may contain any.
    private static func status(of process: Int32) -> (state: Character, parent: Int32)? {
        guard let text = contents("/proc/\(process)/stat"), let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 1, let state = fields[0].first, let parent = Int32(fields[1]) else { return nil }
        return (state, parent)
    }

    private static func contents(_ path: String) -> String? {
        withContents(path) { String(decoding: $0, as: UTF8.self) }
    }

    /// Gives `body` the first 4 KiB of a file of `/proc`, which is all that is looked for here.
    private static func withContents<Value>(_ path: String, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let count = read(file, buffer.baseAddress, buffer.count)
            return count > 0 ? body(UnsafeRawBufferPointer(rebasing: buffer[..<count])) : nil
        }
    }
}
