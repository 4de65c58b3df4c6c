// A dispatch source may be cancelled from any thread, but its type is not marked Sendable yet.
@preconcurrency import Dispatch
import Glibc
import Model
import Synchronization
import Linux

/// Reports writes below a directory store, by `inotify(7)`.
enum DirectoryWatch {
    /// File systems on which another machine's writes cause no events here.
    private static let remoteFileSystems: Set<String> = [
        "9p", "afs", "ceph", "cifs", "nfs", "nfs4", "smb3", "virtiofs",
    ]

    /// The buffer size for a burst of events: 64 KiB.
    private static let bufferByteCount = 64 << 10

    /// - Returns: `nil` when the file system does not support it or the limits of inotify are reached.
    static func changes(root: String, prefix: String) -> AsyncStream<Void>? {
        guard !isRemote(root) else { return nil }
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        let directory = prefix.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(prefix[..<$0]) } ?? ""
        guard watch(descriptor, root: root, directory: directory) else {
            close(descriptor)
            return nil
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor, queue: DispatchQueue(label: "dewpoint.store.watch"))
        source.setEventHandler {
            drain(descriptor)
            // The directory may have just been created, and the root may be missing.
            if watch(descriptor, root: root, directory: directory) {
                continuation.yield()
            } else {
                continuation.finish()
            }
        }
        source.setCancelHandler { close(descriptor) }
        continuation.onTermination = { _ in source.cancel() }
        source.activate()
        return stream
    }

    /// Watches the root and, once it exists, the directory; watching twice has no effect.
    private static func watch(_ descriptor: Int32, root: String, directory: String) -> Bool {
        guard let opened = try? StoreRoot(path: root), let top = try? opened.directory([]), watch(descriptor, top)
        else { return false }
        // A directory without objects need not exist.
        if !directory.isEmpty, let below = try? opened.directory(ItemPath(directory).components) {
            _ = watch(descriptor, below)
        }
        return true
    }

    private static func watch(_ descriptor: Int32, _ directory: Descriptor) -> Bool {
        let events = UInt32(IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
        // inotify(7) takes paths only; this one refers to the open directory, whatever has its name by now.
        return inotify_add_watch(descriptor, "/proc/self/fd/\(directory.rawValue)", events) >= 0
    }

    private static func drain(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: bufferByteCount, alignment: 8) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        }
    }

    /// Whether the directory is on a file system of ``remoteFileSystems``, by the last line of the mount table that
    /// covers it.
    private static func isRemote(_ path: String) -> Bool {
        guard let file = fopen("/proc/self/mounts", "re") else { return false }
        defer { fclose(file) }
        guard let real = realpath(path, nil) else { return false }
        defer { free(real) }
        let target = String(cString: real)
        var found = (length: -1, type: "")
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let text = line {
            let fields = String(cString: text).splitBytes(at: UInt8(ascii: " "))
            guard fields.count > 2 else { continue }
            let point = String(fields[1])
            let covers = ItemPath(target).relative(to: ItemPath(point)) != nil
            if covers, point.utf8.count >= found.length { found = (point.utf8.count, String(fields[2])) }
        }
        return remoteFileSystems.contains(found.type) || found.type.hasBytePrefix("fuse")
    }
}
