import Foundation
import Model

/// Rows of text with their columns aligned.
enum TextTable {
    private static let gap = 2

    /// - Parameters:
    ///   - rows: All of the same length, the headings first.
    ///   - numbers: The columns that are aligned to the right.
    ///   - width: The columns of the terminal: the last cell of a row, a path, is shortened to fit. `nil` elsewhere.
    static func text(_ rows: [[String]], numbers: Set<Int> = [], width: Int? = Terminal.width()) -> String {
        let rows = rows.map { $0.map(\.printable) }
        let last = (rows.first?.count ?? 1) - 1
        let widths = (0..<last).map { column in rows.map { $0[column].count }.max() ?? 0 }
        let start = widths.reduce(0) { $0 + $1 + gap }
        return rows.map { row in
            let end = width.map { row[last].shortened(to: max($0 - start, Terminal.minimumWidth)) } ?? row[last]
            let cells = zip(row, widths).enumerated().map { index, cell in
                numbers.contains(index) ? cell.0.leadingPadding(to: cell.1) : cell.0.padding(to: cell.1)
            }
            return (cells + [end]).joined(separator: String(repeating: " ", count: gap))
        }.joined(separator: "\n")
    }
}

extension String {
    func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    func leadingPadding(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
