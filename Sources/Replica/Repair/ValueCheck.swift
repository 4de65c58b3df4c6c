import Foundation
import GRDB
import Model

/// Decodes every value of the index that is stored packed, so that a damaged one is found before it is needed.
struct ValueCheck {
    let rows: Rows

    /// A column of packed values.
    private struct Column {
        /// Gives a name for people, the value, and a second value that it must agree with.
        var sql: String
        var what: String
        /// Throws for a damaged value, or says how it disagrees with the second one.
        var decode: (ResultRow) throws -> String?
    }

    private static func packed(_ row: ResultRow) -> Data { row[1] }

    private static var columns: [Column] {
        [
            Column(sql: "SELECT \(fileName), i.kind FROM inodes i", what: "the kind") { row in
                guard UInt8(exactly: row[1] as Int64).flatMap({ ItemKind(number: $0) }) != nil else {
                    throw PackedReader.damaged
                }
                return nil
            },
            Column(sql: "SELECT e.name, e.name FROM entries e", what: "the name") { row in
                _ = try ItemName(row[1] as String)
                return nil
            },
            Column(
                sql: """
                    SELECT \(fileName), i.content, CASE WHEN i.dirty = 0 AND i.incoming IS NULL THEN i.size END
                    FROM inodes i WHERE i.content IS NOT NULL
                    """, what: "the content"
            ) { row in
                let content = try Content(packed: packed(row))
                guard let size = row[2] as Int64?, size != content.byteCount else { return nil }
                return "has \(content.byteCount) bytes, but its file has \(size)"
            },
            Column(
                sql: "SELECT \(fileName), i.incoming FROM inodes i WHERE i.incoming IS NOT NULL",
                what: "the content that is on its way", decode: content),
            Column(
                sql: "SELECT \(fileName), t.content FROM transfers t JOIN inodes i ON i.id = t.inode",
                what: "the content of a download", decode: content),
            Column(
                sql: "SELECT e.name, e.base, e.item FROM entries e WHERE e.base IS NOT NULL",
                what: "the container's state", decode: record),
            Column(
                sql: "SELECT e.name, e.conflicts FROM entries e WHERE e.conflicts IS NOT NULL",
                what: "the list of conflict versions"
            ) { row in
                _ = try ConflictVersion.list(packed: packed(row))
                return nil
            },
            Column(
                sql: "SELECT e.name, e.error FROM entries e WHERE e.error IS NOT NULL",
                what: "the error of the download"
            ) { row in
                do { _ = try JSONDecoder().decode(ItemFault.self, from: Data((row[1] as String).utf8)) } catch {
                    throw PackedReader.damaged
                }
                return nil
            },
            Column(
                sql: "SELECT hex(o.item), o.base, o.item FROM outbox o WHERE o.base IS NOT NULL",
                what: "the record of a deleted item", decode: record),
            Column(
                sql: "SELECT hex(h.item), h.record, h.item FROM history h", what: "an earlier state", decode: record),
        ]
    }

    private static let fileName = "coalesce((SELECT e.name FROM entries e WHERE e.inode = i.id LIMIT 1), i.id)"

    private static func content(_ row: ResultRow) throws -> String? {
        _ = try Content(packed: packed(row))
        return nil
    }

    private static func record(_ row: ResultRow) throws -> String? {
        let record = try ItemRecord(packed: packed(row))
        return record.id.uuid == row[2] as UUID? ? nil : "is that of another item"
    }

    /// One sentence for each damaged value.
    func run() throws -> [String] {
        var differences: [String] = []
        for column in Self.columns {
            differences += try rows.all(column.sql, []) { row -> String? in
                let fault: String?
                do { fault = try column.decode(row) } catch { fault = "is damaged" }
                return fault.map { "index: \(row[0] as String): \(column.what) \($0)" }
            }.compactMap(\.self)
        }
        return differences
    }
}
