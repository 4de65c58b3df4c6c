import Foundation

/// A table in a page of the documentation, whose rows are declared in the code.
///
/// A test compares both. With `DEWPOINT_WRITE_TABLES=1` in its environment, it writes the declared rows into the page.
package struct DocumentationTable {
    private let page: URL
    private let heading: String

    /// - Parameters:
    ///   - page: The name of the page, such as `Operations`.
    ///   - columns: The titles of the table's columns; no other table of the page has the same ones.
    package init(page: String, columns: [String]) {
        self.page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/Model/Documentation.docc/\(page).md")
        heading = Self.line(columns)
    }

    /// A row as it is written in the page.
    package static func line(_ cells: [String]) -> String {
        cells.map { $0.isEmpty ? "| " : "| \($0.replacing("|", with: "\\|")) " }.joined() + "|"
    }

    /// The rows as they are written in the page, with the declared ones instead where the test is to write them.
    ///
    /// - Throws: `CocoaError` for a page that cannot be read, or has no such table.
    package func lines(declared: [String]) throws -> [String] {
        var lines = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
        guard let start = lines.firstIndex(of: heading) else { throw CocoaError(.fileReadCorruptFile) }
        let rows = start + 2..<(lines[start...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex)
        guard ProcessInfo.processInfo.environment["DEWPOINT_WRITE_TABLES"] == "1" else { return Array(lines[rows]) }
        lines.replaceSubrange(rows, with: declared)
        try lines.joined(separator: "\n").write(to: page, atomically: true, encoding: .utf8)
        return declared
    }
}
