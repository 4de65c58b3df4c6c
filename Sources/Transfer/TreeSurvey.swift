import CLinux
import Foundation
import Glibc
import Linux
package import Model
import Replica

/// Looks at a directory that is to be taken over: what is in it, what keeps it from being taken over, and what of it would not
/// be synced or kept. Changes nothing.
package struct TreeSurvey: Sendable {
    package private(set) var itemCount = 0
    package private(set) var fileCount = 0
    /// The length of the files, each once.
    package private(set) var byteCount: Int64 = 0
    /// While there is one, nothing is taken over.
    package private(set) var obstacles = SurveyFindings()
    package private(set) var unsynced = SurveyFindings()
    /// What a mount does not have of them; see ``UnkeptAccess``.
    package private(set) var access = SurveyFindings()
    private var linked: Set<UInt64> = []
    private let patterns: IgnorePatterns
    private let device: UInt64
    private let user = geteuid()

    private struct Place {
        let directory: SourceDirectory
        let components: [ItemName]
        let isSynced: Bool
    }

    /// - Parameters:
    ///   - ignored: Patterns of what stays on this device, after the usual ones.
    /// - Throws: The error of opening the directory.
    package init(of path: String, ignoring ignored: [String]) throws(FileError) {
        patterns = LocalOnlyNames.patterns.followed(by: ignored)
        let root = try SourceDirectory(path)
        device = try root.descriptor.status().device
        if let reason = UnkeptAccess.reason(in: root.descriptor.extendedAttributeNames) { access.note(".", reason) }
        var rest = [Place(directory: root, components: [], isSynced: true)]
        while let place = rest.popLast() {
            for bytes in try place.directory.names() {
                guard let inner = try look(at: bytes, in: place) else { continue }
                rest.append(inner)
            }
        }
    }

    /// - Returns: A directory whose contents are to be looked at.
    private mutating func look(at bytes: [UInt8], in place: Place) throws(FileError) -> Place? {
        let object = try place.directory.object(bytes)
        let status = SourceDirectory.Status(object)
        itemCount += 1
        if status.kind == .file {
            fileCount += 1
            if linked.insert(status.inode).inserted { byteCount += status.size }
        }
        let path = place.directory.path(of: bytes)
        let name: ItemName
        do throws(FileError) {
            name = try bytes.withUnsafeBufferPointer { buffer throws(FileError) in try ItemName(bytes: buffer) }
        } catch {
            obstacles.note(path, error.code == .notUTF8 ? "its name is not UTF-8" : "no item can have its name")
            return nil
        }
        if let reason = try obstacle(bytes, object, in: place.directory) {
            obstacles.note(path, reason)
            return nil
        }
        guard place.components.count < Self.depthLimit else {
            obstacles.note(path, "it is deeper than \(Self.depthLimit) directories")
            return nil
        }
        if let reason = UnkeptAccess.reason(in: place.directory.attributeNames(of: bytes)) { access.note(path, reason) }
        let components = place.components + [name]
        let reason = place.isSynced ? unsyncedReason(bytes, components, status, in: place.directory) : nil
        if let reason { unsynced.note(path, reason) }
        guard status.kind == .directory else { return nil }
        return Place(
            directory: try place.directory.directory(bytes), components: components,
            isSynced: place.isSynced && reason == nil)
    }

    /// How deep directories may nest, as in a mount.
    private static let depthLimit = 4096

    // MARK: Judging

    private func obstacle(
        _ name: [UInt8], _ object: ObjectStatus, in directory: SourceDirectory
    ) throws(FileError) -> String? {
        if object.device != device { return "another file system is mounted there; unmount it first" }
        if user != 0, object.owner != user {
            return "it belongs to another user; run this as root, or change its owner"
        }
        let kind = ItemKind(object)
        switch kind {
        case .symbolicLink:
            let target = try directory.target(of: name)
            return String(validating: target, as: UTF8.self) == nil ? "its target is not UTF-8" : nil
        case .directory, .file:
            if user != 0, object.mode & 0o400 == 0 || (kind == .directory && object.mode & 0o100 == 0) {
                return "it cannot be read by its owner; chmod u+rX it"
            }
            return try directory.isFixed(name)
                ? "it is immutable or append-only (lsattr shows i or a); chattr -i -a it" : nil
        case .fifo, .socket, .characterDevice, .blockDevice: return nil
        }
    }

    private func unsyncedReason(
        _ name: [UInt8], _ components: [ItemName], _ status: SourceDirectory.Status, in directory: SourceDirectory
    ) -> String? {
        guard status.kind.isSynced else { return "items of its kind are not synced" }
        let age = max(0, Int64(Date().timeIntervalSince1970 * 1_000_000_000) - status.changed.rawValue)
        let sample = ItemSample(kind: status.kind, byteCount: status.size, age: .nanoseconds(age)) {
            guard status.kind == .file else { return nil }
            return try directory.file(name).descriptor.read(byteCount: ItemSample.headByteCount, at: 0)
        }
        // What cannot be read is judged when it is taken over.
        let isIgnored = try? patterns.ignores(name: name, sample) {
            Array(components.map { $0.string.utf8 }.joined(separator: [UInt8(ascii: "/")]))
        }
        return isIgnored == true ? "files with such names are not synced" : nil
    }
}
