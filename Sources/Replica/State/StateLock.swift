import Foundation
import Glibc
import Model
import Synchronization

/// The hold on a state directory: one daemon at a time, and whether the one before ended in order.
final class StateLock: Sendable {
    private let state: StateDirectory
    private let descriptor: Mutex<Descriptor?>

    /// What the marker of the daemon before says.
    enum Before: Hashable, Sendable {
        /// It ended in order, or there was none.
        case orderly
        /// It was killed; what it had written is still there, in the kernel's cache or on the disk.
        case killed
        /// The machine went down with it: of what was not synced, anything may be missing.
        case powerFailure
    }

    /// - Throws: `busy` when another daemon has it.
    init(_ state: StateDirectory) throws(FileError) {
        self.state = state
        let raw = open(state.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try SystemCalls.check(raw, "open \(state.lock)")
        let descriptor = Descriptor(owning: raw)
        var attempts = 0
        while flock(raw, LOCK_EX | LOCK_NB) != 0 {
            let number = errno
            guard number == EWOULDBLOCK else { throw FileError(systemCall: number, "flock \(state.lock)") }
            // A daemon that is just ending, or a program it was starting, still holds it for a moment.
            attempts += 1
            guard attempts <= Self.attempts else {
                throw FileError(.busy, "another daemon has the state \(state.path)\(Self.holder(of: state))")
            }
            usleep(Self.pauseMicroseconds)
        }
        let text = Array("\(getpid())\n".utf8)
        // Only for people: on a full disk there may be no room for it, and the lock holds without.
        guard ftruncate(raw, 0) == 0, pwrite(raw, text, text.count, 0) == text.count || errno == ENOSPC else {
            throw FileError(systemCall: errno, "write \(state.lock)")
        }
        self.descriptor = Mutex(descriptor)
    }

    /// How often a taken lock is tried again, and after how long: half a second in all.
    private static let attempts = 25
    private static let pauseMicroseconds: UInt32 = 20_000

    private static func holder(of state: StateDirectory) -> String {
        // Only for people: without the number the message still says what is wrong.
        guard let text = try? String(contentsOfFile: state.lock, encoding: .utf8),
            let process = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))
        else { return "" }
        return " (pid \(process))"
    }

    func before() -> Before {
        guard access(state.running, F_OK) == 0 else { return .orderly }
        // A marker that cannot be read says nothing about the boot: take the worse case.
        guard let text = try? String(contentsOfFile: state.running, encoding: .utf8),
            let life = text.split(whereSeparator: \.isWhitespace).first, let current = diskLife,
            life.utf8.elementsEqual(current.utf8)
        else { return .powerFailure }
        return .killed
    }

    func writeRunningMarker() throws(FileError) {
        let text = "\(diskLife ?? "unknown") \(getpid())\n"
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

    /// The same as long as what was written, synced or not, can still be read: a boot, and in it one mount of the disk. A disk that failed
    /// and was mounted again has lost what was not on it, as in a power failure.
    private var diskLife: String? {
        guard let boot = Self.bootID else { return nil }
        return boot + (SystemCalls.mountID(of: state.path).map { "/\($0)" } ?? "")
    }

    /// Related: `/proc/sys/kernel/random/boot_id`.
    private static var bootID: String? {
        // Without /proc no boot is known, which `before()` takes for another boot.
        guard let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8) else {
            return nil
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
