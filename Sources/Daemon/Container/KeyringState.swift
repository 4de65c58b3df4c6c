import Foundation
import Glibc
import Linux
import Logging
import Model
package import Sealing
import Synchronization

/// What opens an encrypted container on this device: `keyring.json` in its state, for its owner only.
extension StateDirectory {
    fileprivate var keyringFile: String { "\(path)/keyring.json" }

    /// - Returns: `nil` for a plain container, and for a device that was never enrolled.
    /// - Throws: ``DaemonError`` with `failed` when it cannot be read.
    func keyring() throws(DaemonError) -> KeyringMemory? {
        guard FileManager.default.fileExists(atPath: keyringFile) else { return nil }
        do {
            return try ForeignJSON.decode(KeyringMemory.self, from: Data(contentsOf: URL(filePath: keyringFile)))
        } catch {
            throw DaemonError(
                .failed,
                "\(keyringFile) cannot be read: \(error.localizedDescription); remove it, and mount with the passphrase"
            )
        }
    }

    /// Why what is kept here opens nothing, in a sentence; `nil` when it can be read, or there is none.
    var keyringFault: String? {
        do throws(DaemonError) {
            _ = try keyring()
            return nil
        } catch { return error.description }
    }

    /// Lets another state of this device open an encrypted container as well.
    package func lendKeyring(to other: StateDirectory) throws(DaemonError) {
        if let memory = try keyring() { try other.record(memory) }
    }

    /// Removes it: it opens nothing any more.
    fileprivate func forgetKeyring() { unlink(keyringFile) }

    private var historyFile: String { "\(path)/history.json" }

    /// The newest commit that this device has seen; `nil` when it has seen none, or it is not known any more: then the
    /// next one is verified by its signature only.
    var newestCommit: SealedHistory.Entry? {
        guard let data = FileManager.default.contents(atPath: historyFile) else { return nil }
        return try? ForeignJSON.decode(SealedHistory.Entry.self, from: data)
    }

    /// That commit in words.
    ///
    /// - Returns: `nil` for a plain container too.
    package func checkpoint() throws(DaemonError) -> Checkpoint? {
        guard let container = try keyring()?.container else { return nil }
        return newestCommit.map { Checkpoint($0, of: container) }
    }

    /// Keeps it. After a crash it may be an older one.
    fileprivate func record(_ commit: SealedHistory.Entry) {
        try? JSONEncoder().encode(commit).write(to: URL(filePath: historyFile), options: .atomic)
    }

    /// The SHA-256 of the description that this device has read, and its number in 8 bytes.
    fileprivate var descriptionFile: String { "\(path)/description.sha256" }

    /// The one of these states that opens a container.
    static func keyring(of container: UUID, among states: some Sequence<StateDirectory>) -> KeyringMemory? {
        // One that cannot be read opens nothing.
        states.lazy.compactMap { try? $0.keyring() }.first { $0.container == container }
    }

    /// Keeps what opens the container, unless a newer version is kept already.
    package func record(_ memory: KeyringMemory) throws(DaemonError) {
        do {
            let lock = try lockKeyring()
            try withExtendedLifetime(lock) { try write(memory) }
        } catch let error as FileError {
            throw DaemonError(.failed, "\(keyringFile) cannot be written: \(error.detail)")
        } catch {
            throw DaemonError(.failed, "\(keyringFile) cannot be written: \(error.localizedDescription)")
        }
    }

    private func write(_ memory: KeyringMemory) throws {
        if let known = try? keyring(), known.container == memory.container, known.device == memory.device,
            let (old, new) = try? (known.number(), memory.number()), old >= new
        {
            return
        }
        let new = "\(keyringFile).new"
        let data = try JSONEncoder().encode(memory)
        try? FileManager.default.removeItem(atPath: new)  // left behind by a crash
        let file = try Descriptor(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        try [UInt8](data).withBytes { bytes throws(FileError) in try file.append(bytes) }
        try file.synchronize()
        try SystemCalls.check("rename") { rename(new, keyringFile) }
        // Who was told that the device is enrolled is not asked again after a power failure.
        try Descriptor(path).synchronize()
    }

    /// The daemon and commands write the same files. The lock ends with its descriptor.
    private func lockKeyring() throws(FileError) -> Descriptor {
        let file = try Descriptor("\(path)/keyring.lock", O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        for _ in 0..<Self.lockAttempts {
            if try file.lock() { return file }
            usleep(Self.lockPause)
        }
        throw FileError(.busy, "another command has been writing it for two seconds")
    }

    /// How often, and after which pause in microseconds: two seconds in all, of which writing needs some milliseconds.
    private static let lockAttempts = 200
    private static let lockPause: UInt32 = 10_000
}

/// `history.json` and `description.sha256`, for a device that follows an encrypted container.
struct HistoryFile: HistoryNotebook {
    let state: StateDirectory

    var newest: SealedHistory.Entry? { state.newestCommit }
    /// `nil` also where it cannot be read: then the next one is verified by its signature only.
    var description: SeenDescription? {
        FileManager.default.contents(atPath: state.descriptionFile).flatMap(SeenDescription.init)
    }

    func remember(_ newest: SealedHistory.Entry) { state.record(newest) }

    func remember(description: SeenDescription) {
        try? description.bytes.write(to: URL(filePath: state.descriptionFile), options: .atomic)
    }
}

/// `keyring.json`, for a daemon that follows the keyring.
final class KeyringFile: KeyringNotebook {
    private let state: StateDirectory
    /// What was in it when it was looked at last, some 2 KiB. Not its inode number: file systems give that of a version that
    /// is gone to the next one.
    private let known = Mutex<Data?>(nil)

    init(state: StateDirectory) { self.state = state }

    func remember(_ memory: KeyringMemory) {
        do throws(DaemonError) { try state.record(memory) } catch {
            // The next start reads it from the store again.
            DaemonService.logger("keyring", level: .warning).warning(
                "a new version of the keyring was not kept", metadata: ["error": "\(error)"])
        }
    }

    func hasChanged() -> Bool {
        let found = FileManager.default.contents(atPath: state.keyringFile)
        return known.withLock { known in
            defer { known = found }
            return known != found
        }
    }

    func forget() { state.forgetKeyring() }
}
