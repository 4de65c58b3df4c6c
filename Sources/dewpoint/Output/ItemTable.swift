import Model

/// The status of items for people, one per line.
///
///     STATUS         LOCAL      SIZE  FLAGS                PATH
///     NotDownloaded   12%   9.5 MiB  downloading, pinned  Photos/one.jpg
enum ItemTable {
    static func text(_ items: [(given: String, status: ItemStatus)]) -> String {
        let rows =
            [["STATUS", "LOCAL", "SIZE", "FLAGS", "PATH"]]
            + items.map { given, status in
                [
                    status.kind == .file ? status.downloadingStatus.rawValue : status.kind.rawValue,
                    status.kind == .file ? "\(Int(status.percentDownloaded))%" : "-",
                    status.kind == .directory ? "-" : "\(ByteCount(status.logicalSize))", flags(status).printable,
                    given.printable,
                ]
            }
        let widths = (0..<5).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            [
                row[0].padding(to: widths[0]), row[1].leadingPadding(to: widths[1]),
                row[2].leadingPadding(to: widths[2]),
                row[3].padding(to: widths[3]), row[4],
            ].joined(separator: "  ")
        }.joined(separator: "\n")
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
        if let fault = status.downloadingError ?? status.uploadingError { flags.append("error: \(fault.text)") }
        return flags.isEmpty ? "-" : flags.joined(separator: ", ")
    }
}

extension String {
    func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    func leadingPadding(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
