import Linux
import Model

/// What a document's file is, found out without reading it, so that a change by somebody else can be told from the
/// document's own.
struct DocumentSignature: Equatable, Sendable {
    let modificationDate: Date
    private let files: [ItemPath: File]
    /// In a container: newer bytes are known and were not local.
    private let isOlder: Bool

    /// Whatever an edit changes; modes, owners and pins do not count.
    private struct File: Equatable, Sendable {
        let kind: ItemSignature.Kind
        let inode: UInt64
        let byteCount: Int64
        let seconds: Int
        let nanoseconds: Int
    }

    /// - Parameter url: A file, or a package, which is looked through.
    init(_ url: URL) throws(CocoaError) {
        do {
            let signature = try ItemSignature(url)
            modificationDate = signature.modificationDate
            isOlder =
                signature.kind == .file
                && DocumentAttributes(path: url.path)?.status("downloadingStatus") == "Downloaded"
            var files: [ItemPath: File] = [:]
            try Self.collect(url.path, "", signature, into: &files)
            self.files = files
        } catch {
            throw error.whileReading(url)
        }
    }

    private static func collect(
        _ root: String, _ path: ItemPath, _ signature: ItemSignature, into files: inout [ItemPath: File]
    ) throws(FileError) {
        guard signature.kind == .directory else {
            files[path] = File(
                kind: signature.kind, inode: signature.inode, byteCount: signature.byteCount,
                seconds: signature.seconds, nanoseconds: signature.nanoseconds)
            return
        }
        // The times of a directory tell nothing that its names do not.
        files[path] = File(kind: .directory, inode: 0, byteCount: 0, seconds: 0, nanoseconds: 0)
        for name in try SystemCalls.names(in: root + path.string) {
            let child = ItemPath("\(path)/\(name)")
            try collect(root, child, try ItemSignature(path: root + child.string), into: &files)
        }
    }
}
