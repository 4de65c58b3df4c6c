import Model

/// The status of items for people, one per line.
///
///     STATUS         LOCAL      SIZE  FLAGS                PATH
///     NotDownloaded    12%   9.5 MiB  downloading, pinned  Photos/one.jpg
///     Photos/one.jpg: the store does not answer
enum ItemTable {
    static func text(_ items: [(given: String, status: ItemStatus)], width: Int? = Terminal.width()) -> String {
        let rows =
            [["STATUS", "LOCAL", "SIZE", "FLAGS", "PATH"]]
            + items.map { given, status in
                [
                    status.kind == .file ? status.downloadingStatus.rawValue : status.kind.rawValue,
                    status.kind == .file ? "\(Int(status.percentDownloaded))%" : "-",
                    status.kind == .directory ? "-" : "\(ByteCount(status.logicalSize))", flags(status), given,
                ]
            }
        let table = TextTable.text(rows, numbers: [1, 2], width: width)
        // A sentence in a column would make every line as long.
        let errors = items.compactMap { given, status in
            (status.downloadingError ?? status.uploadingError).map { "\(given): \($0.text)".printable }
        }
        return ([table] + errors).joined(separator: "\n")
    }

    private static func flags(_ status: ItemStatus) -> String {
        var flags: [String] = []
        if status.isDownloading {
            flags.append("downloading")
        } else if status.downloadRequested {
            flags.append("requested")
        }
        if status.isUploading { flags.append("uploading \(Int(status.percentUploaded))%") }
        if status.isUbiquitousItem, !status.isUploaded, !status.isUploading { flags.append("not uploaded") }
        if !status.isUbiquitousItem { flags.append(status.isExcludedFromSync ? "excluded" : "not synced") }
        if status.isSyncPaused { flags.append("paused") }
        if status.conflictCount > 0 { flags.append("\(status.conflictCount) in conflict") }
        if status.pinned { flags.append("pinned") }
        if status.downloadingError != nil || status.uploadingError != nil { flags.append("error") }
        return flags.isEmpty ? "-" : flags.joined(separator: ", ")
    }
}
