import Coordination
import Glibc
import Linux

/// Queries `/proc` about processes.
package enum ProcessTable {
    /// The process of a thread; the thread's own id if it has exited or belongs to another pid namespace.
    ///
    /// FUSE requests carry thread ids. Related: proc(5), `/proc/PID/status`, `Tgid`.
    static func process(ofThread thread: Int32) -> Int32 {
        let process = withContents("/proc/\(thread)/status") { status -> Int32? in
            // In bytes: every open runs this, and converting it all to text took longer than all the rest.
            let name: StaticString = "\nTgid:\t"
            let length = name.utf8CodeUnitCount
            guard status.count > length,
                let start = (0..<status.count - length).first(where: {
                    status[$0] == UInt8(ascii: "\n") && memcmp(status.baseAddress! + $0, name.utf8Start, length) == 0
                })
            else { return nil }
            return number(status[(start + length)...].prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
        }
        return (process ?? nil) ?? thread
    }

    /// The name of a process's program, at most 15 bytes; empty if it has exited.
    package static func command(of process: Int32) -> String {
        String((contents("/proc/\(process)/comm") ?? "").prefix { $0 != "\n" })
    }

    /// The arguments of a process, as far as they fit into 4 KiB; empty if it has exited.
    static func arguments(of process: Int32) -> [String] {
        (contents("/proc/\(process)/cmdline") ?? "").split(separator: "\0").map(String.init)
    }

    /// A process and its ancestors, itself included; those not visible from this pid namespace are left out.
    static func ancestors(of process: ProcessID) -> Set<ProcessID> { Set(ancestry(of: process).map(\.process)) }

    struct Relative {
        var process: ProcessID
        /// Empty if it has exited.
        var command: String
    }

    /// A process, its parent, and so on.
    ///
    /// Related: proc_pid_stat(5), `ppid`.
    ///
    /// - Parameter isKnown: Called for each parent; the walk ends at the first for which it is true.
    static func ancestry(of process: ProcessID, until isKnown: (ProcessID) -> Bool = { _ in false }) -> [Relative] {
        var seen: Set<ProcessID> = []
        var ancestry: [Relative] = []
        var current = process
        while current.rawValue > 0, seen.count < ancestorLimit, seen.insert(current).inserted {
            let status = status(of: current.rawValue)
            ancestry.append(Relative(process: current, command: status?.command ?? ""))
            guard let status else { break }
            current = ProcessID(status.parent)
            if isKnown(current) { break }
        }
        return ancestry
    }

    /// The most generations that are examined.
    private static let ancestorLimit = 1024

    /// The process group of a process; `nil` if it has exited or belongs to another pid namespace.
    static func group(of process: Int32) -> Int32? { process > 0 ? status(of: process)?.group : nil }

    /// Whether a process group has no more processes.
    ///
    /// Related: kill(2) with signal 0.
    static func hasEnded(_ group: Int32) -> Bool { group > 1 && kill(-group, 0) != 0 && errno == ESRCH }

    /// Whether a signal or a debugger has stopped the process.
    static func isStopped(_ process: Int32) -> Bool {
        status(of: process).map { $0.state == UInt8(ascii: "T") || $0.state == UInt8(ascii: "t") } ?? false
    }

    /// The pid namespace of a process if it differs from ours, for example `pid:[4026532201]`.
    package static func otherNamespace(of process: Int32) -> String? {
        guard let theirs = link("/proc/\(process)/ns/pid"), theirs != link("/proc/self/ns/pid") else { return nil }
        return theirs
    }

    private static func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
            let count = readlink(path, buffer.baseAddress!, buffer.count)
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
        }
    }

    private struct Status {
        var command: String
        var state: UInt8
        var parent: Int32
        var group: Int32
    }

    /// The name is in parentheses and may contain parentheses; the other fields follow it. In bytes, since a first read
    /// runs this for all ancestors.
    private static func status(of process: Int32) -> Status? {
        withContents("/proc/\(process)/stat") { text -> Status? in
            guard let begin = text.firstIndex(of: UInt8(ascii: "(")), let end = text.lastIndex(of: UInt8(ascii: ")")),
                begin < end
            else { return nil }
            let blank = UInt8(ascii: " ")
            let fields = text[(end + 1)...].split(separator: blank, maxSplits: 3)
            guard fields.count > 2, let state = fields[0].first, let parent = number(fields[1]),
                let group = number(fields[2])
            else { return nil }
            let command = String(decoding: text[(begin + 1)..<end], as: UTF8.self)
            return Status(command: command, state: state, parent: parent, group: group)
        } ?? nil
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int32? {
        Int32(String(decoding: digits, as: UTF8.self))
    }

    private static func contents(_ path: String) -> String? {
        withContents(path) { String(decoding: $0, as: UTF8.self) }
    }

    /// Gives `body` the first 4 KiB of a file of `/proc`, which contains every field used here.
    private static func withContents<Value>(_ path: String, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        guard let file = try? Descriptor(path) else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            // One call: the kernel composes the text anew for each.
            let count = withExtendedLifetime(file) { read(file.rawValue, buffer.baseAddress, buffer.count) }
            return count > 0 ? body(UnsafeRawBufferPointer(rebasing: buffer[..<count])) : nil
        }
    }
}
