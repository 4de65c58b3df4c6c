import Glibc
import Logging
package import Model
import Remote
import Replica
import Synchronization
import Linux

/// The files that were closed while a program may still write to them through a mapping that the daemon sees nothing
/// of: one that the kernel passed to the backing file.
///
/// Such a mapping outlives the last RELEASE, because it holds the backing file and no longer the one of the mount. Many
/// programs map a file, close it, and then write to the mapping: linkers, for example. Whether anyone still has the
/// backing file open for writing is told by a read lease, which is refused then. Related: fcntl(2), `F_SETLEASE`.
package final class MappedFiles: Sendable {
    private struct Entry {
        /// Open for reading only: our own descriptor must not count as a writer.
        let descriptor: Descriptor
        /// The status that the index has recorded last.
        var recorded: BackingStatus?
        /// Whether it was opened before it was a file of the mount: then the kernel may have cached other bytes of it.
        var isFromBefore = false
    }

    /// How many closed files are watched before those that nobody has mapped are dropped, without waiting for the next
    /// look at them: each takes a descriptor.
    static let entryLimit = 1024

    private struct PassedThrough {
        var numbers: Set<InodeNumber> = []
        /// Whether there were more than are remembered.
        var isIncomplete = false
    }

    /// How many passed-through files are remembered. Beyond that, each open for writing takes some 20 µs longer.
    static let passedThroughLimit = 65_536

    private let entries = Mutex<[InodeNumber: Entry]>([:])
    /// The files that the kernel was given the backing files of. They may be mapped ever since: for reading too, and
    /// nobody watches that.
    private let passedThrough = Mutex(PassedThrough())
    /// Raised when there is something to look after.
    let additions = Signal()
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
        // The kernel asks for a lease back with this signal, which would end the process.
        signal(SIGIO, SIG_IGN)
    }

    /// Files that can be mapped for writing are open.
    func wake() { additions.raise() }

    /// A handle that a file could be mapped for writing with is about to be removed.
    func noteClose(of inode: OpenInode) {
        guard inode.access == .passthrough, let writable = inode.descriptor else { return }
        do throws(FileError) {
            let entry = Entry(descriptor: try writable.reopenedForReading(), recorded: inode.recordedStatus)
            let isFull = entries.withLock { entries in
                entries[inode.number] = entry
                return entries.count.isMultiple(of: Self.entryLimit)
            }
            if isFull { dropUnmapped() }
            wake()
        } catch {
            logger.error(
                "failed to watch a closed file; changes through its remaining mappings are not noticed",
                metadata: ["inode": "\(inode.number)", "error": "\(error)"])
        }
    }

    /// A file that is not open here, and may be elsewhere since before it was one of the mount.
    ///
    /// - Parameter descriptor: The backing file, open for reading alone.
    func noteIfOpenForWriting(_ number: InodeNumber, _ descriptor: Descriptor) {
        guard descriptor.isOpenForWriting else { return }
        entries.withLock { $0[number] = Entry(descriptor: descriptor, isFromBefore: true) }
        wake()
    }

    /// Drops what nobody can write to, and is recorded as it is.
    private func dropUnmapped() {
        for (number, entry) in entries.withLock({ $0 }) where entry.descriptor.lease() == .granted {
            guard let status = try? BackingStatus(of: entry.descriptor),
                entry.recorded?.hasSameBytes(as: status) == true
            else { continue }
            remove(number, entry.descriptor)
        }
    }

    /// The files that may still be mapped.
    var numbers: [InodeNumber] { entries.withLock { Array($0.keys) } }

    /// The bytes of a file that may still be mapped.
    func descriptor(of number: InodeNumber) -> Descriptor? { entries.withLock { $0[number]?.descriptor } }

    /// Whether a program has a closed file mapped for writing, or a file that was closed before is open for writing
    /// again.
    package func isMapped(_ number: InodeNumber) -> Bool { descriptor(of: number)?.isOpenForWriting == true }

    /// The kernel is given the backing file of an inode.
    func notePassThrough(of number: InodeNumber) {
        passedThrough.withLock { passed in
            if passed.numbers.count < Self.passedThroughLimit {
                passed.numbers.insert(number)
            } else if !passed.numbers.contains(number) {
                passed.isIncomplete = true
            }
        }
    }

    /// The kernel has backing files from the daemon before.
    func noteEarlierPassThrough() { passedThrough.withLock { $0.isIncomplete = true } }

    /// Whether the kernel may have been given the backing file of an inode, and was not known since to be done with it.
    func wasPassedThrough(_ number: InodeNumber) -> Bool {
        passedThrough.withLock { $0.isIncomplete || $0.numbers.contains(number) }
    }

    /// Whether anyone may have the backing file open or mapped, for reading too, of an inode that is not open.
    ///
    /// - Parameter descriptor: The backing file, open for writing.
    func isInUse(_ number: InodeNumber, open descriptor: Descriptor) -> Bool {
        passedThrough.withLock { passed in
            guard passed.isIncomplete || passed.numbers.contains(number) else { return false }
            guard descriptor.isOpenNowhereElse else { return true }
            passed.numbers.remove(number)
            return false
        }
    }

    /// Whether what is written to a file does not show in the kernel's cache by itself.
    func bypassesCache(_ number: InodeNumber) -> Bool { entries.withLock { $0[number]?.isFromBefore == true } }

    /// Whether the index has recorded this status of a closed file.
    func isRecorded(_ status: BackingStatus, of number: InodeNumber) -> Bool {
        entries.withLock { $0[number]?.recorded?.hasSameBytes(as: status) == true }
    }

    func noteRecorded(_ status: BackingStatus, of number: InodeNumber) {
        entries.withLock { $0[number]?.recorded = status }
    }

    /// Nobody has a file mapped any more, unless it was closed anew since `descriptor` was asked.
    func remove(_ number: InodeNumber, _ descriptor: Descriptor) {
        entries.withLock { entries in
            if entries[number]?.descriptor === descriptor { entries[number] = nil }
        }
    }

    /// Whether the file system of a directory has leases. Without them, the kernel must not be given the backing files.
    static func hasLeases(in directory: String) -> Bool {
        var template = Array("\(directory)/lease-XXXXXX".utf8CString)
        let raw = mkstemp(&template)
        // A full disk, say: it tells nothing about leases, which every common file system has.
        guard raw >= 0 else { return true }
        unlink(template)
        let writable = Descriptor(owning: raw)
        guard let readable = try? writable.reopenedForReading() else { return false }
        return withExtendedLifetime(writable) { readable.lease() == .refused }
    }
}

extension Descriptor {
    enum Lease { case granted, refused, unavailable }

    private static let setLease: Int32 = 1024

    /// Takes a read lease of a file that is open for reading only, and returns it.
    func lease() -> Lease {
        guard fcntl(rawValue, Self.setLease, F_RDLCK) == 0 else { return errno == EAGAIN ? .refused : .unavailable }
        _ = fcntl(rawValue, Self.setLease, F_UNLCK)
        return .granted
    }

    fileprivate var isOpenForWriting: Bool { lease() == .refused }

    /// Whether nobody else has the file open or mapped, as a write lease tells, which is returned at once. The file is
    /// open for writing here.
    var isOpenNowhereElse: Bool {
        guard fcntl(rawValue, Self.setLease, F_WRLCK) == 0 else { return false }
        _ = fcntl(rawValue, Self.setLease, F_UNLCK)
        return true
    }

    /// The same file, open for reading only.
    fileprivate func reopenedForReading() throws(FileError) -> Descriptor {
        try Descriptor("/proc/self/fd/\(rawValue)", as: "open")
    }
}
