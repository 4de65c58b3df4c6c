/// The progress of the downloads of an item, or of everything below a directory.
package struct DownloadProgress: Hashable, Sendable, Codable {
    package var bytesDone: Int64
    package var bytesTotal: Int64
    package var filesDone: Int
    package var filesTotal: Int

    package init(bytesDone: Int64, bytesTotal: Int64, filesDone: Int, filesTotal: Int) {
        self.bytesDone = bytesDone
        self.bytesTotal = bytesTotal
        self.filesDone = filesDone
        self.filesTotal = filesTotal
    }
}
