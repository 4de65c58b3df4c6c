import CLinux
import Glibc

/// What programs watch on a file system, as `/proc` tells. Related: proc(5), `/proc/PID/fdinfo`; inotify(7), fanotify(7).
package struct FileWatches: Hashable, Sendable {
    /// The inode numbers of files and directories.
    package var inodes: Set<UInt64> = []
    /// Whether a program watches the whole file system.
    package var coversAll = false

    package init() {}

    package var isEmpty: Bool { inodes.isEmpty && !coversAll }

    package func covers(_ inode: UInt64) -> Bool { coversAll || inodes.contains(inode) }

    /// Reads the watches of all processes that this one may look at: for root, of all.
    ///
    /// - Parameter device: The minor number of the file system's `st_dev`, whose major number is 0.
    package init(onDevice device: UInt64) {
        // A process may have ended meanwhile, or be another user's: then it has no watches here.
        let processes = (try? SystemCalls.names(in: "/proc")) ?? []
        for process in processes where process.utf8.first.map({ (0x30...0x39).contains($0) }) ?? false {
            let descriptors = (try? SystemCalls.names(in: "/proc/\(process)/fd")) ?? []
            for descriptor in descriptors where Self.isWatcher("/proc/\(process)/fd/\(descriptor)") {
                read("/proc/\(process)/fdinfo/\(descriptor)", device)
            }
        }
    }

    private static let watchers = ["anon_inode:inotify", "anon_inode:[fanotify]"]

    private static func isWatcher(_ descriptor: String) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            let count = CLinux_readlinkat(AT_FDCWD, descriptor, buffer.baseAddress!, buffer.count)
            guard count > 0 else { return false }
            return watchers.contains { $0.utf8.elementsEqual(buffer[..<count]) }
        }
    }

    private mutating func read(_ path: String, _ device: UInt64) {
        guard let file = fopen(path, "re") else { return }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0 {
            add(String(cString: line!), onDevice: device)
        }
    }

    /// Adds a line of `fdinfo`, for example `inotify wd:1 ino:2 sdev:31 mask:fce ignored_mask:0 …`; all numbers in base 16.
    package mutating func add(_ line: String, onDevice device: UInt64) {
        let words = line.utf8.split { $0 == 0x20 || $0 == 0x0a }
        guard let kind = words.first, kind.elementsEqual("inotify".utf8) || kind.elementsEqual("fanotify".utf8) else {
            return
        }
        func number(_ name: String) -> UInt64? {
            guard let word = words.first(where: { $0.starts(with: name.utf8) }) else { return nil }
            return UInt64(Substring(word.dropFirst(name.utf8.count)), radix: 16)
        }
        guard number("sdev:") == device else { return }
        if let inode = number("ino:") { inodes.insert(inode) } else { coversAll = true }
    }
}
