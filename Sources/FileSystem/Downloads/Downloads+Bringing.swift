import Model
import Replica

/// Downloads of whole files.
extension Downloads {
    /// Records that a file is wanted whole and queues its download; does nothing if the file is local.
    func want(_ number: InodeNumber) throws(FileError) {
        let inode = try replica.inode(number)
        guard !inode.isLocal || inode.incoming != nil else { return }
        try replica.setError(nil, of: number)
        try replica.setDownloadRequested(true, of: number)
        request(number)
    }

    /// The download of a file that is not local, joined or begun; `nil` if it is local.
    func begin(_ number: InodeNumber) throws(FileError) -> Download? {
        if let download = active(number) { return download }
        return try begin(number, try replica.inode(number))
    }

    /// - Parameters:
    ///   - inode: Its row in the index.
    ///   - wanted: The range wanted first.
    func begin(_ number: InodeNumber, _ inode: Inode, wanted: Range<Int64> = 0..<0) throws(FileError) -> Download? {
        guard !inode.isLocal || inode.incoming != nil else { return nil }
        if inode.isContentUnknown {
            throw FileError(.corrupt, "the chunk list of \(try replica.path(of: number)) cannot be read")
        }
        do throws(FileError) {
            return try join(number, wanted: wanted)
        } catch {
            // Its download ended in between.
            if try replica.inode(number).isLocal { return nil }
            throw error
        }
    }

    /// Waits until the whole file is local.
    func makeLocal(_ number: InodeNumber) async throws(FileError) {
        if try isContentUnknown(number) { try await learnContent(of: number) }
        var attempts = 0
        while let download = try begin(number) {
            do throws(FileError) {
                return try await download.waitUntilSettled()
            } catch {
                // Newer bytes were published in between: download those.
                attempts += 1
                guard error.code == .superseded, attempts < Self.supersededAttempts else { throw error }
            }
        }
    }

    /// How often a download may be superseded by newer bytes before it is given up.
    private static let supersededAttempts = 10
}
