import ControlAPI
import ControlClient
import Foundation
import Glibc
import Model
import Synchronization
import Linux

/// The bytes of versions that this process has used, in a private directory.
///
///     CACHES/ubiquity-versions/PID-RANDOM/HASH/item             a symbolic link to the item
///                                        /HASH/ID/NAME.EXT      the bytes of one version
///
/// The directory has mode 0700. The first use removes those of processes that have ended.
final class VersionStore: Sendable {
    static let shared = VersionStore()

    /// The directory of this process, once it exists.
    private let root = Mutex<String?>(nil)

    private init() {}

    // MARK: Places

    /// Where the bytes of a version are, or would be.
    func place(of version: NSFileVersion) -> URL {
        let root = root.withLock { $0 } ?? "\(Self.parent())/none"
        return URL(fileURLWithPath: place(of: version, in: root))
    }

    func hasBytes(of version: NSFileVersion) -> Bool {
        guard let root = root.withLock({ $0 }) else { return false }
        return access(place(of: version, in: root), F_OK) == 0
    }

    /// The item of a stored version.
    func item(of url: URL) -> URL? {
        guard let root = root.withLock({ $0 }), url.isFileURL else { return nil }
        let path = ItemPath(url.standardizedFileURL.path).relative(to: ItemPath(root))
        guard let hash = path?.components.first else { return nil }
        let link = "\(root)/\(hash)/item"
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return nil }
        return URL(fileURLWithPath: target)
    }

    private func place(of version: NSFileVersion, in root: String) -> String {
        "\(directory(of: version.itemURL, in: root))/\(version.id)/\(version.itemURL.fileName)"
    }

    private func directory(of item: URL, in root: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325  // FNV-1a
        for byte in item.standardizedFileURL.path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return "\(root)/\(String(hash, radix: 16))"
    }

    // MARK: Bytes

    /// The bytes of a version, fetched if needed.
    ///
    /// - Throws: `CocoaError`.
    func url(of version: NSFileVersion) throws -> URL {
        let root = try openRoot()
        let path = place(of: version, in: root)
        if access(path, F_OK) == 0 { return URL(fileURLWithPath: path) }
        let files = FileManager.default
        try files.createDirectory(atPath: ItemPath.directory(of: path), withIntermediateDirectories: true)
        let link = "\(directory(of: version.itemURL, in: root))/item"
        guard symlink(version.itemURL.standardizedFileURL.path, link) == 0 || errno == EEXIST else {
            throw CocoaFailure.error(FileError(FailedCall("symlink")), .writing, URL(fileURLWithPath: link))
        }
        let temporary = "\(path).\(UUID().uuidString)"
        do throws(ControlError) {
            let item = ItemVersions(version.itemURL)
            try item.client().send(VersionContentRequest(path: item.path, id: version.id), into: temporary)
        } catch {
            unlink(temporary)
            throw CocoaFailure.error(error, .reading, version.itemURL)
        }
        if let date = version.modificationDate {
            try files.setAttributes([.modificationDate: date], ofItemAtPath: temporary)
        }
        // Two threads may fetch one version: the bytes are the same.
        guard chmod(temporary, 0o400) == 0, rename(temporary, path) == 0 else {
            throw CocoaFailure.error(FileError(FailedCall("rename")), .writing, URL(fileURLWithPath: path))
        }
        return URL(fileURLWithPath: path)
    }

    func removeBytes(of version: NSFileVersion) {
        guard let root = root.withLock({ $0 }) else { return }
        unlink(place(of: version, in: root))
    }

    // MARK: The directory

    private func openRoot() throws -> String {
        if let root = root.withLock({ $0 }) { return root }
        let parent = Self.parent()
        try FileManager.default.createDirectory(
            atPath: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        Self.sweep(parent)
        var template = Array("\(parent)/\(getpid())-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CocoaFailure.error(FileError(FailedCall("mkdtemp")), .writing, URL(fileURLWithPath: parent))
        }
        let created = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let used = root.withLock { root in
            root = root ?? created
            return root ?? created
        }
        if used != created { rmdir(created) }  // another thread was first
        return used
    }

    private static func parent() -> String {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first?.path
        return "\(caches ?? NSTemporaryDirectory())/ubiquity-versions"
    }

    /// Removes the directories of processes that have ended. What cannot be removed is left for the next time.
    private static func sweep(_ parent: String) {
        for name in (try? SystemCalls.names(in: parent)) ?? [] {
            guard let process = name.split(separator: "-").first.flatMap({ pid_t($0) }) else { continue }
            guard kill(process, 0) != 0, errno == ESRCH else { continue }
            try? ItemMove.remove("\(parent)/\(name)")
        }
    }
}
