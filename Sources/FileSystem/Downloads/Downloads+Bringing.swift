import Model
import Replica

/// Files that somebody wants whole.
extension Downloads {
    /// Remembers that a file is wanted whole, until it is here, and has it brought; nothing when it is here.
    func want(_ number: InodeNumber) throws(FileError) {
        let inode = try replica.inode(number)
        guard !inode.isLocal || inode.incoming != nil else { return }
        try replica.setError(nil, of: number)
        try replica.setDownloadRequested(true, of: number)
        request(number)
    }

    /// The download of a file whose bytes are not here, joined or begun; `nil` when they are.
    ///
    func begin(_ number: InodeNumber) throws(FileError) -> Download? {
        if let download = active(number) { return download }
        return try begin(number, try replica.inode(number))
    }

    /// - Parameters:
    ///   - inode: What the index has of it.
    ///   - wanted: What of the file is wanted first.
    func begin(_ number: InodeNumber, _ inode: Inode, wanted: Range<Int64> = 0..<0) throws(FileError) -> Download? {
        guard !inode.isLocal || inode.incoming != nil else { return nil }
        if inode.isContentUnknown {
            throw FileError(.corrupt, "the chunk list of \(try replica.path(of: number)) cannot be read")
        }
        do throws(FileError) {
            return try join(number, wanted: wanted)
        } catch {
            // It came between the question and the answer.
            if try replica.inode(number).isLocal { return nil }
            throw error
        }
    }

    /// Waits until the whole file is here.
    func makeLocal(_ number: InodeNumber) async throws(FileError) {
        if try isContentUnknown(number) { try await learnContent(of: number) }
        var attempts = 0
        while let download = try begin(number) {
            do throws(FileError) {
                return try await download.waitUntilSettled()
            } catch {
                // Newer bytes came in between: they are what is wanted now.
                attempts += 1
                guard error.code == .superseded, attempts < Self.supersededAttempts else { throw error }
            }
        }
    }

    /// How often a download may be overtaken by newer bytes before it is given up.
    private static let supersededAttempts = 10
}
