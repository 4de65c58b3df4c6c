import Model

/// Rows of text with their columns aligned.
enum TextTable {
    /// - Parameter rows: All of the same length, the headings first.
    static func text(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map(\.printable) }
        let columns = rows.first?.count ?? 0
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths).enumerated().map { index, cell in
                index == columns - 1 ? cell.0 : cell.0.padding(to: cell.1)
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// A time without fractions of a second.
    static func seconds(_ time: String) -> String {
        guard let dot = time.firstIndex(of: ".") else { return time }
        return time[..<dot] + "Z"
    }
}
