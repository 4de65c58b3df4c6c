import Foundation
import Glibc
import Model
import Synchronization
import Linux

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
        let descriptor = try Descriptor(state.lock, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        var attempts = 0
        while try !descriptor.lock(as: "flock \(state.lock)") {
            // A daemon that is just ending, or a program that it was starting, still has it for a moment.
            attempts += 1
            guard attempts <= Self.attempts else {
                throw FileError(.busy, "another daemon uses the state \(state.path)\(Self.holder(of: state))")
            }
            usleep(Self.pauseMicroseconds)
        }
        let detail = "write \(state.lock)"
        try descriptor.truncate(to: 0, as: detail)
        do throws(FileError) { try descriptor.write(Array("\(getpid())\n".utf8), at: 0, as: detail) } catch {
            // Only for people: on a full disk there may be no space for it, and the lock holds without.
            guard error.code == .diskFull else { throw error }
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
        let descriptor: Descriptor
        do throws(FileError) { descriptor = try Descriptor(state.lock, O_RDONLY | O_NOFOLLOW) } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
        guard try descriptor.lock(as: "flock \(state.lock)") else {
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
        let descriptor = try Descriptor(state.running, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
        try descriptor.write(Array(text.utf8), at: 0, as: "write \(state.running)")
        try descriptor.synchronize(as: "fsync \(state.running)")
        try syncDirectory()
    }

    func removeRunningMarker() throws(FileError) {
        try SystemCalls.check("unlink", state.running) { unlink(state.running) }
        try syncDirectory()
    }

    func release() { descriptor.withLock { $0 = nil } }

    private func syncDirectory() throws(FileError) {
        try BackingDirectory.openDirectory(state.path).synchronize(as: "fsync \(state.path)")
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
