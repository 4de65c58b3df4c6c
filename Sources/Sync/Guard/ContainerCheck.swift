import Model
import Remote
import Replica

/// Checks the replica for consistency, and compares it with the container.
struct ContainerCheck {
    let replica: Replica
    let store: PackStore

    /// - Parameter readingBytes: Whether every byte that the files need is fetched from the container and verified;
    ///   otherwise only the packs' lengths are compared.
    func run(readingBytes: Bool) async throws(FileError) -> [String] {
        var problems = try replica.check()
        var packs: [PackID: Int64] = [:]
        var verified: Set<Content.Piece.Stored> = []
        for number in try replica.read({ try $0.filesBelow(.root) }) {
            guard let (inode, content) = try content(of: number) else { continue }
            // The container need not have the bytes of a local file that is not synced.
            if inode.isLocal, try replica.read({ try $0.entries(of: number) }).allSatisfy({ $0.item == nil }) {
                continue
            }
            var problem = try await lack(of: content, &packs, noting: &problems)
            if problem == nil, readingBytes { problem = try await damage(of: content, &verified) }
            if let problem { problems.append("\(try replica.read { try $0.path(of: number) }): \(problem)") }
        }
        return problems
    }

    /// - Returns: `nil` for a file whose content is not known, for one that was removed while the check runs, and for one whose damage the index's own
    ///   check has found.
    private func content(of number: InodeNumber) throws(FileError) -> (Inode, Content)? {
        do throws(FileError) {
            let inode = try replica.read { try $0.inode(number) }
            return try inode.newest.map { (inode, $0) }
        } catch {
            guard error.code == .notFound || error.isDamagedValue else { throw error }
            return nil
        }
    }

    /// The part of a content that is missing from the container, judged by the lengths of its packs.
    private func lack(
        of content: Content, _ packs: inout [PackID: Int64], noting problems: inout [String]
    ) async throws(FileError) -> String? {
        for run in content.runs {
            guard case .stored(let pack, let offset, _) = run else { continue }
            if packs[pack] == nil { packs[pack] = try await byteCount(of: pack, noting: &problems) }
            if let byteCount = packs[pack], byteCount < offset + run.byteCount {
                return "the container lacks bytes \(offset)..<\(offset + run.byteCount) of pack \(pack)"
            }
        }
        return nil
    }

    /// The length of a pack; 0 when it is missing or has been replaced.
    private func byteCount(of pack: PackID, noting problems: inout [String]) async throws(FileError) -> Int64 {
        do throws(StoreError) {
            return try await store.byteCount(of: pack)
        } catch {
            switch error.code {
            case .notFound: return 0
            case .corrupt:
                problems.append(error.detail)
                return 0
            case .preconditionFailed, .throttled, .unavailable, .denied, .full, .invalid, .cancelled:
                throw error.fileError
            }
        }
    }

    /// The part of a content that does not match its hashes.
    ///
    /// - Parameter verified: The chunks that were verified: chunks that files share are fetched once.
    private func damage(
        of content: Content, _ verified: inout Set<Content.Piece.Stored>
    ) async throws(FileError) -> String? {
        let pieces = content.pieces.filter { piece in piece.stored.map { !verified.contains($0) } ?? false }
        let reader = ChunkReader(packs: store)
        do {
            for batch in ChunkReader.batches(of: pieces) {
                try await reader.fetch(pieces: pieces[batch]) { piece, _ in
                    if let stored = piece.stored { verified.insert(stored) }
                }
            }
            return nil
        } catch let error as StoreError {
            guard [.corrupt, .notFound].contains(error.code) else { throw error.fileError }
            return "its bytes in the container are damaged: \(error.sentence)"
        } catch is CancellationError {
            throw FileError(.cancelled, "the check was cancelled")
        } catch {
            throw FileError(.inputOutput, "\(error)", cause: error)
        }
    }
}
