import FileSystem
import Foundation
import Glibc
import Model
import Remote
import Replica
import Linux
import TestStores

/// The contents that a device shows, read without faults and without transfers.
extension SimulatedDevice {
    /// The bytes that a file shows: local ones, or those that the container has for it. For a link, its target.
    ///
    /// - Parameter includingDeleted: Whether bytes count that the container has given up.
    func content(of number: InodeNumber, includingDeleted: Bool = false) throws -> FileContent {
        let replica = try fileSystem.replica
        let inode = try replica.read { try $0.inode(number) }
        if let target = inode.target { return FileContent(linkTarget: target.string) }
        guard inode.attributes.kind == .file else { return .empty }
        if inode.isLocal { return try content(of: try replica.openBytes(of: number)) }
        if let content = try inode.content {
            return try world.content(of: content, includingDeleted: includingDeleted)
        }
        guard let reference = try replica.read({ try $0.entries(of: number).first?.base?.content }) else {
            throw Violation("\(name): the bytes of \(number) are unknown")
        }
        return try world.content(of: reference, includingDeleted: includingDeleted)
    }

    /// What the files show that programs have open.
    func openContents() throws -> [InodeNumber: FileContent] {
        let numbers = Set(programs.openFiles.values)
        return Dictionary(
            uniqueKeysWithValues: try numbers.map { ($0, try content(of: $0, includingDeleted: true)) })
    }

    /// All contents that are removed with a file: the one it shows, incoming bytes, and the losers of conflicts.
    ///
    /// Also those that the container has given up.
    func everything(of number: InodeNumber) throws -> [FileContent] {
        var contents = [try content(of: number, includingDeleted: true)]
        let replica = try fileSystem.replica
        if let incoming = try replica.read({ try $0.inode(number).incoming }) {
            contents.append(try world.content(of: incoming, includingDeleted: true))
        }
        for entry in try replica.read({ try $0.entries(of: number) }) {
            for version in entry.conflicts {
                contents.append(try world.content(of: version.content, includingDeleted: true))
            }
        }
        return contents
    }

    /// The losers of conflicts that the container keeps with an item, and with its contents.
    ///
    /// - Parameter withIncoming: Also bytes that were to replace the local ones, unless those have another name.
    func conflictVersions(
        at name: ItemName, in parent: InodeNumber, withIncoming: Bool = false
    ) throws -> [FileContent] {
        let replica = try fileSystem.replica
        let entry = try replica.read { try $0.existingEntry(name, in: parent) }
        guard entry.item != nil else { return [] }
        var own = try entry.conflicts.map { try world.content(of: $0.content, includingDeleted: true) }
        let inode = try replica.read { try $0.inode(entry.inode) }
        if withIncoming, inode.attributes.linkCount == 1, let incoming = try inode.incoming {
            own.append(try world.content(of: incoming, includingDeleted: true))
        }
        guard inode.attributes.kind == .directory else { return own }
        return try own
            + replica.read { try $0.children(of: entry.inode, after: nil, limit: .max) }.flatMap {
                try conflictVersions(at: $0.name, in: entry.inode, withIncoming: withIncoming)
            }
    }

    private func content(of descriptor: Descriptor) throws -> FileContent {
        var content = FileContent.empty
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = pread(descriptor.rawValue, &buffer, buffer.count, off_t(content.byteCount))
            guard count > 0 else { return content }
            try content.append(Array(buffer[..<count]))
        }
    }
}

extension World {
    /// The bytes that a record refers to, as they are in the store.
    func content(of reference: ItemRecord.Reference, includingDeleted: Bool = false) throws -> FileContent {
        let chunks = try chunks(of: reference, includingDeleted: includingDeleted)
        return try content(of: chunks, includingDeleted: includingDeleted)
    }

    /// The bytes of a chunk list, as they are in the store.
    ///
    /// - Parameter includingDeleted: Whether objects count that garbage collection has deleted.
    /// - Throws: ``Violation`` when the store lacks them or has others.
    func content(of chunks: Content, includingDeleted: Bool = false) throws(Violation) -> FileContent {
        var content = FileContent.empty
        for piece in chunks.pieces {
            guard let stored = piece.stored else {
                content.count += piece.byteCount / FileContent.cellByteCount
                continue
            }
            try content.append(try bytes(of: stored, byteCount: piece.byteCount, includingDeleted))
        }
        return content
    }

    /// The bytes of one chunk, as they are in the store.
    func bytes(
        of stored: Content.Piece.Stored, byteCount: Int, _ includingDeleted: Bool = false
    ) throws(Violation) -> [UInt8] {
        let start = Int(stored.offset)
        guard let pack = try object(at: Pack.key(stored.pack), includingDeleted: includingDeleted),
            start + byteCount <= pack.count
        else {
            throw Violation("the store lacks bytes \(start)..<\(start + byteCount) of pack \(stored.pack)")
        }
        let bytes = Array(pack[start..<start + byteCount])
        guard ChunkHash(hashing: bytes) == stored.hash else {
            throw Violation(
                "bytes \(start)..<\(start + byteCount) of pack \(stored.pack) do not have the hash \(stored.hash)")
        }
        return bytes
    }

    /// The chunk list that a record refers to.
    func chunks(of reference: ItemRecord.Reference, includingDeleted: Bool = false) throws -> Content {
        switch reference {
        case .inline(let content):
            return content
        case .manifest(let hash):
            guard let object = try object(at: ManifestStore.key(hash), includingDeleted: includingDeleted) else {
                throw Violation("the store lacks the manifest \(hash)")
            }
            let text = try Gzip.decompress(object, limit: 1 << 28)
            guard ChunkHash(hashing: text) == hash else { throw Violation("the manifest \(hash) has another hash") }
            return try JSONDecoder().decode(Content.self, from: Data(text))
        }
    }
}

extension SimulatedDevice {
    /// How much a program reads at a time, in bytes.
    static let readUnit = 300_000

    /// Reads a file to its end, like a program.
    func read(
        _ handle: HandleID, of fileSystem: FileSystem, by caller: Caller, limit: Duration? = nil
    ) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let answer = try fileSystem.read(handle, offset: Int64(bytes.count), byteCount: Self.readUnit, by: caller)
            let part = try await value(of: answer, limit: limit).bytes()
            guard !part.isEmpty else { return bytes }
            bytes += part
        }
    }
}
