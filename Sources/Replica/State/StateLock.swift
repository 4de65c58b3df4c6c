import Foundation
import Glibc
import Model
import Synchronization

/// The lock of a state directory: one daemon at a time. Records whether the previous daemon shut down cleanly.
final class StateLock: Sendable {
    private let state: ReplicaDirectory
    private let descriptor: Mutex<Descriptor?>

    /// How the previous daemon ended, by its marker.
    enum Before: Hashable, Sendable {
        /// It shut down in order, or there was none.
        case orderly
        /// It was killed; the data that it had written is still in the kernel's cache or on the disk.
        case killed
        /// The machine went down with it: any unsynced data may be missing.
        case powerFailure
    }

    /// - Throws: `busy` when another daemon has it.
    init(_ state: ReplicaDirectory) throws(FileError) {
        self.state = state
        let raw = open(state.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try SystemCalls.check(raw, "open \(state.lock)")
        let descriptor = Descriptor(owning: raw)
        var attempts = 0
        while flock(raw, LOCK_EX | LOCK_NB) != 0 {
            let number = errno
            guard number == EWOULDBLOCK else { throw FileError(systemCall: number, "flock \(state.lock)") }
            // A daemon that is just ending, or a program that it was starting, still has it for a moment.
            attempts += 1
            guard attempts <= Self.attempts else {
                throw FileError(.busy, "another daemon uses the state \(state.path)\(Self.holder(of: state))")
            }
            usleep(Self.pauseMicroseconds)
        }
        let text = Array("\(getpid())\n".utf8)
        // Only for people: on a full disk there may be no space for it, and the lock holds without.
        guard ftruncate(raw, 0) == 0, pwrite(raw, text, text.count, 0) == text.count || errno == ENOSPC else {
            throw FileError(systemCall: errno, "write \(state.lock)")
        }
        self.descriptor = Mutex(descriptor)
    }

    /// How often a taken lock is tried again, and after how long: half a second in all.
    private static let attempts = 25
    private static let pauseMicroseconds: UInt32 = 20_000

    private static func holder(of state: ReplicaDirectory) -> String {
        // Only for people: without the process id the message is still correct.
        guard let text = try? String(contentsOfFile: state.lock, encoding: .utf8),
            let process = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))
        else { return "" }
        return " (pid \(process))"
    }

    /// Keeps daemons from a state that is only read, and may be on a disk that cannot be written.
    ///
    /// - Returns: What holds the lock as long as it lives; `nil` when there is no lock.
    /// - Throws: `busy` when a daemon has it.
    static func hold(_ state: ReplicaDirectory) throws(FileError) -> Descriptor? {
        let raw = open(state.lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard raw >= 0 else {
            if errno == ENOENT { return nil }
            throw FileError(systemCall: errno, "open \(state.lock)")
        }
        let descriptor = Descriptor(owning: raw)
        guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw FileError(systemCall: errno, "flock \(state.lock)") }
            throw FileError(.busy, "another daemon uses the state \(state.path)\(holder(of: state))")
        }
        return descriptor
    }

    func before() -> Before { Self.before(state) }

    static func before(_ state: ReplicaDirectory) -> Before {
        guard access(state.running, F_OK) == 0 else { return .orderly }
        // A marker that cannot be read says nothing about the boot: assume the worse case.
        guard let text = try? String(contentsOfFile: state.running, encoding: .utf8),
            let life = text.split(whereSeparator: \.isWhitespace).first, let current = diskLife(of: state),
            life.utf8.elementsEqual(current.utf8)
        else { return .powerFailure }
        return .killed
    }

    func writeRunningMarker() throws(FileError) {
        let text = "\(Self.diskLife(of: state) ?? "unknown") \(getpid())\n"
        let raw = open(state.running, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try SystemCalls.check(raw, "open \(state.running)")
        let descriptor = Descriptor(owning: raw)
        let bytes = Array(text.utf8)
        guard write(raw, bytes, bytes.count) == bytes.count else {
            throw FileError(systemCall: errno, "write \(state.running)")
        }
        try SystemCalls.check(fsync(descriptor.rawValue), "fsync \(state.running)")
        try syncDirectory()
    }

    func removeRunningMarker() throws(FileError) {
        try SystemCalls.check(unlink(state.running), "unlink \(state.running)")
        try syncDirectory()
    }

    func release() { descriptor.withLock { $0 = nil } }

    private func syncDirectory() throws(FileError) {
        let directory = try BackingDirectory.openDirectory(state.path)
        try SystemCalls.check(fsync(directory.rawValue), "fsync \(state.path)")
    }

    /// Constant as long as written data, synced or not, can still be read: a boot, and within it one mount of the disk.
    /// A disk that failed and was mounted again has lost its unsynced data, as in a power failure.
    private static func diskLife(of state: ReplicaDirectory) -> String? {
        guard let boot = bootID else { return nil }
        return boot + (SystemCalls.mountID(of: state.path).map { "/\($0)" } ?? "")
    }

    /// Related: `/proc/sys/kernel/random/boot_id`.
    private static var bootID: String? {
        // Without /proc the boot is unknown, and `before()` treats it as another boot.
        guard let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8) else {
            return nil
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

extension ReplicaDirectory {
    /// Whether a daemon has it open.
    package var isInUse: Bool {
        do throws(FileError) {
            _ = try StateLock.hold(self)
            return false
        } catch {
            return error.code == .busy
        }
    }
}
