import Model
import Subprocess

/// Reads the output of `rclone lsjson`, one item in a line, as it arrives.
///
/// What is no list, or ends before its bracket, is refused: what it lacks would count as gone from the remote.
struct RcloneListing: Sendable {
    /// How many items one import takes. All of them are in memory, with some 600 bytes each.
    static let itemLimit = 5_000_000
    /// The longest line: 1 MiB.
    static let lineByteLimit = 1 << 20
    /// How much of what is no list is shown, in bytes.
    private static let shownByteCount = 80

    private enum Place {
        case before, within, behind
    }

    private(set) var items: [RcloneItem] = []
    private var line: [UInt8] = []
    private var place = Place.before

    init() {}

    /// Reads a whole output.
    init(reading output: SubprocessOutputSequence) async throws {
        for try await buffer in output { try buffer.withUnsafeBytes { try take($0) } }
    }

    /// Whether it was read to its end.
    var isWhole: Bool { place == .behind && line.isEmpty }

    mutating func take(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            line.append(contentsOf: rest[..<end])
            rest = rest[(end + 1)...]
            try finishLine()
        }
        line.append(contentsOf: rest)
        guard line.count <= Self.lineByteLimit else {
            throw FileError(.tooLarge, "rclone printed a line of more than \(Self.lineByteLimit) bytes")
        }
    }

    /// The list's own brackets are in lines of their own.
    private mutating func finishLine() throws(FileError) {
        defer { line.removeAll(keepingCapacity: true) }
        switch (place, line.first) {
        case (_, nil): return
        case (.before, UInt8(ascii: "[")) where line.count == 1:
            place = .within
            return
        case (.within, UInt8(ascii: "]")) where line.count == 1:
            place = .behind
            return
        case (.within, UInt8(ascii: "{")): break
        case (.before, _), (.within, _), (.behind, _):
            let start = String(decoding: line.prefix(Self.shownByteCount), as: UTF8.self).printable
            throw FileError(.inputOutput, "rclone printed a listing that is not one of rclone lsjson: \(start)")
        }
        if line.last == UInt8(ascii: ",") { line.removeLast() }
        guard items.count < Self.itemLimit else {
            throw FileError(
                .tooLarge, "the remote has more than \(Self.itemLimit) items; import its directories one by one")
        }
        items.append(try RcloneItem(line))
    }

    /// The items in an order in which a directory precedes what is in it.
    ///
    /// Of several with one path, as Google Drive allows, `repeated` is called with the path; none of the files is
    /// among the result, since it would depend on chance which one arrives.
    func sorted(repeated: (ItemPath) -> Void) -> [RcloneItem] {
        let sorted = items.sorted {
            $0.path.string.utf8.lexicographicallyPrecedes($1.path.string.utf8) { Self.rank($0) < Self.rank($1) }
        }
        var kept: [RcloneItem] = []
        var rest = sorted[...]
        while let first = rest.first {
            let same = rest.prefix { $0.path == first.path }
            rest = rest[same.endIndex...]
            if same.count > 1 { repeated(first.path) }
            if let item = same.count > 1 ? same.first(where: \.isDirectory) : first { kept.append(item) }
        }
        return kept
    }

    /// A slash ends a name, so it is before all bytes of a name.
    private static func rank(_ byte: UInt8) -> Int { byte == ItemPath.separator ? -1 : Int(byte) }
}
