import Glibc
import Linux
import Model

/// A temporary directory beside an item, on the same file system, in which its next state is written.
///
/// The name contains `.nosync`: in a container it stays on this machine. What a crash leaves is removed by a
/// later save: see ``ScratchPlaces``.
struct DocumentStaging {
    let url: URL

    /// - Throws: A `CocoaError` of writing, when the directory of `item` is missing or cannot be written.
    init(for item: URL) throws(CocoaError) {
        let parent = item.deletingLastPathComponent()
        var template = Array(parent.appendingPathComponent(".ubiquity.nosync.XXXXXX").path.utf8CString)
        let path = template.withUnsafeMutableBufferPointer { buffer -> String? in
            guard let start = buffer.baseAddress, mkdtemp(start) != nil else { return nil }
            return String(cString: start)
        }
        guard let path else { throw FileError(FailedCall("mkdtemp")).whileWriting(item) }
        ScratchPlaces.adopt(path)
        url = URL(fileURLWithPath: path, isDirectory: true)
    }

    /// Ends its use: what is still in it is deleted.
    func remove() { try? FileManager.default.removeItem(at: url) }
}
