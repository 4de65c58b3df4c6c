import Model

/// Totals and transfers for people.
enum TotalsText {
    /// Rows of a name and its value, for a container or a directory.
    ///
    ///     items      10, 8 of them local
    ///     files      6 with 9.5 MiB, 4 with 3.5 MiB local
    ///     uploads    2 changes (11 B), 1 under way: 3 B of 11 B, 1.2 MiB/s, 3 s left
    ///     conflicts  1; see: dewpoint conflicts PATH
    static func rows(_ totals: ItemTotals, path: String) -> [(String, String)] {
        let least = totals.isPartial ? "at least " : ""
        var rows = [
            ("items", "\(least)\(totals.itemCount), \(totals.localItemCount) of them local"),
            (
                "files",
                "\(least)\(totals.fileCount) with \(ByteCount(totals.byteCount)), \(totals.localFileCount) with "
                    + "\(ByteCount(totals.localByteCount)) local"
            ),
        ]
        if let uploads = text(totals.uploads, noun: "change") { rows.append(("uploads", uploads)) }
        if let downloads = text(totals.downloads, noun: "file") { rows.append(("downloads", downloads)) }
        if totals.conflictCount > 0 {
            rows.append(("conflicts", "\(totals.conflictCount); see: dewpoint conflicts \(path)"))
        }
        if totals.errorCount > 0 {
            rows.append(("errors", "\(count(totals.errorCount, "item")); for the reason of one: dewpoint why FILE"))
        }
        return rows
    }

    /// `2 changes (11 B), 1 under way: 3 B of 11 B, 1.2 MiB/s, 3 s left`; `nil` without any.
    static func text(_ totals: TransferTotals, noun: String) -> String? {
        guard totals.pendingCount > 0 || totals.activeCount > 0 else { return nil }
        var text = count(max(totals.pendingCount, totals.activeCount), noun)
        if totals.pendingByteCount > 0 { text += " (\(ByteCount(totals.pendingByteCount)))" }
        guard totals.activeCount > 0 else { return text }
        text +=
            ", \(totals.activeCount) under way: \(ByteCount(totals.activeDoneByteCount)) of "
            + "\(ByteCount(totals.activeByteCount))"
        if let speed = totals.bytesPerSecond, speed >= 1 { text += ", \(ByteCount(speed))/s" }
        if let seconds = totals.secondsLeft { text += ", \(LocalTime.text(seconds: seconds)) left" }
        return text
    }

    /// The last line of a status: `safe to shut down`, or what has not left.
    ///
    /// - Parameters:
    ///   - problem: What stops sync: then nothing says that the container still has what was uploaded.
    ///   - isStuck: Whether nothing can leave, since the store refuses writing.
    static func verdict(_ totals: ItemTotals, problem: String? = nil, isStuck: Bool = false) -> String {
        if totals.isUploaded, let problem {
            return "not known to be safe: everything was uploaded, but there is a problem: \(problem.printable)"
        }
        if totals.isUploaded { return "safe to shut down: everything is uploaded" }
        guard totals.uploads.pendingCount > 0 else {
            return "not everything was examined in time; ask for a part of it"
        }
        let bytes = totals.uploads.pendingByteCount
        return "not uploaded yet: \(count(totals.uploads.pendingCount, "change"))"
            + (bytes > 0 ? " (\(ByteCount(bytes)))" : "")
            + ", on this device only; a shutdown keeps them, and \(isStuck ? "a mount that may write" : "the next mount") "
            + "uploads them"
    }

    /// Aligned lines.
    static func lines(_ rows: [(String, String)]) -> [String] {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in "  \(name.padding(to: width))  \(value.printable)" }
    }

    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
