package import ControlAPI
import FileSystem
package import Model
import Remote
import Replica
import Sync

/// The previews of files: set where the bytes are, read everywhere.
struct ItemPreviews: Sendable {
    private let fileSystem: FileSystem

    init(_ fileSystem: FileSystem) { self.fileSystem = fileSystem }

    private var replica: Replica { fileSystem.replica }

    /// Sets the preview of a file's present bytes; `nil` removes it.
    ///
    /// - Throws: as ``WaitingPreviews/set(_:of:)``; `noAttribute` when there is none to be removed.
    func set(_ preview: [UInt8]?, of number: InodeNumber) throws(FileError) {
        if preview == nil, try facts(of: number)?.hasPreview != true { throw Self.none }
        try fileSystem.admitChange()
        try replica.change { try $0.previews.set(preview, of: number) }
        fileSystem.activity.noteLocalChange()
        fileSystem.events.ubiquityAttributes(UbiquityKeys.preview, of: number)
    }

    /// The preview of a file, from the container if it is not here.
    func bytes(of number: InodeNumber) throws(FileError) -> Answer<[UInt8]> {
        guard let facts = try facts(of: number) else { throw Self.none }
        if let waiting = try waiting(facts) { return .ready(waiting) }
        guard facts.hasPreview, let preview = facts.preview else { throw Self.none }
        return .pending { [self] () async throws(FileError) in
            guard let bytes = try await read([preview])[preview.hash] else {
                throw FileError(.noAttribute, "the preview is no longer in the container")
            }
            return bytes
        }
    }

    /// The previews of the files at some paths; those without one are left out.
    func bytes(at paths: [String]) async throws(FileError) -> [PreviewsAnswer.Preview] {
        var found: [PreviewsAnswer.Preview] = []
        var wanted: [(path: String, preview: ItemPreview)] = []
        for path in paths {
            let facts: ItemFacts?
            do throws(FileError) { facts = try replica.read { try $0.facts(at: path) } } catch {
                // A name that cannot be one.
                guard [.badName, .nameTooLong].contains(error.code) else { throw error }
                continue
            }
            guard let facts, facts.hasPreview else { continue }
            if let waiting = try waiting(facts) {
                found.append(.init(path: path, preview: waiting))
            } else if let preview = facts.preview {
                wanted.append((path, preview))
            }
        }
        let bytes = try await read(wanted.map(\.preview))
        for (path, preview) in wanted {
            if let bytes = bytes[preview.hash] { found.append(.init(path: path, preview: bytes)) }
        }
        return found
    }

    private static var none: FileError { FileError(.noAttribute, "there is no preview") }

    private func facts(of number: InodeNumber) throws(FileError) -> ItemFacts? {
        try replica.read { try $0.facts(of: [number]).first }
    }

    private func waiting(_ facts: ItemFacts) throws(FileError) -> [UInt8]? {
        guard facts.waitingPreview == true,
            let waiting = try replica.read({ try $0.waitingPreview(of: facts.attributes.inode) }),
            case .set(let bytes) = waiting.preview
        else { return nil }
        return bytes
    }

    private func read(_ previews: [ItemPreview]) async throws(FileError) -> [ChunkHash: [UInt8]] {
        do throws(StoreError) {
            return try await PreviewReader(packs: fileSystem.downloads.packs).read(previews)
        } catch {
            throw error.fileError
        }
    }
}

extension PreviewsRequest: PerformedOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> PreviewsAnswer {
        guard paths.count <= Self.pathLimit else {
            throw FileError(.invalid, "\(paths.count) paths: at most \(Self.pathLimit)")
        }
        return PreviewsAnswer(previews: try await ItemPreviews(daemon.fileSystem).bytes(at: paths))
    }
}
