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
        var widths: [Int] = []
        return text(rows, numbers: numbers, width: width, widths: &widths)
    }

    /// - Parameter widths: Those of the columns but the last, in rows that were printed before; they may become wider.
    private static func text(
        _ rows: [[String]], numbers: Set<Int>, width: Int?, widths known: inout [Int]
    ) -> String {
        let rows = rows.map { $0.map(\.printable) }
        let last = (rows.first?.count ?? 1) - 1
        let widths = (0..<last).map { column in
            max(rows.map { $0[column].count }.max() ?? 0, column < known.count ? known[column] : 0)
        }
        known = widths
        let start = widths.reduce(0) { $0 + $1 + gap }
        return rows.map { row in
            let end = width.map { row[last].shortened(to: max($0 - start, Terminal.minimumWidth)) } ?? row[last]
            let cells = zip(row, widths).enumerated().map { index, cell in
                numbers.contains(index) ? cell.0.leadingPadding(to: cell.1) : cell.0.padding(to: cell.1)
            }
            return (cells + [end]).joined(separator: String(repeating: " ", count: gap))
        }.joined(separator: "\n")
    }

    /// A table that is printed while its rows arrive, so many at a time that the columns are mostly aligned.
    struct Growing {
        /// How many rows are kept until they are printed.
        private static let rowsPerStep = 1000

        private var rows: [[String]]
        private var widths: [Int] = []
        private var isEmpty = true

        init(headings: [String]) { rows = [headings] }

        mutating func add(_ row: [String]) {
            rows.append(row)
            isEmpty = false
            if rows.count >= Self.rowsPerStep { flush() }
        }

        /// Prints the rest.
        ///
        /// - Returns: Whether there was any row; otherwise nothing is printed.
        mutating func end() -> Bool {
            if !isEmpty, !rows.isEmpty { flush() }
            return !isEmpty
        }

        private mutating func flush() {
            print(TextTable.text(rows, numbers: [], width: Terminal.width(), widths: &widths))
            rows = []
        }
    }
}

extension String {
    func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    func leadingPadding(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
