/// A copy of an item for an accessor that uploads it: a file under its own name, a directory as a zip archive.
struct UploadSnapshot {
    let url: URL
    private let directory: URL

    /// - Throws: `CocoaError` of the copy: 260 when there is no such item, 640 when the disk is full.
    init(of item: URL) throws {
        let manager = FileManager.default
        directory = manager.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)", isDirectory: true)
        try manager.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        do {
            var isDirectory: ObjCBool = false
            guard manager.fileExists(atPath: item.path, isDirectory: &isDirectory) else {
                throw CocoaError(.fileReadNoSuchFile, userInfo: [NSURLErrorKey: item, NSFilePathErrorKey: item.path])
            }
            if isDirectory.boolValue {
                url = directory.appendingPathComponent(item.fileName + ".zip")
                try ZipArchive.write(contentsOf: item, to: url)
            } else {
                url = directory.appendingPathComponent(item.fileName)
                try manager.copyItem(at: item, to: url)
            }
        } catch {
            // What was copied is of no use; what cannot be removed is left to the system's clean-up.
            try? manager.removeItem(at: directory)
            throw error
        }
    }

    func remove() {
        // As above; the accessor may have moved the snapshot away.
        try? FileManager.default.removeItem(at: directory)
    }
}
