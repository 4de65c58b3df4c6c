package import Foundation
package import Model

/// Splits a stream of bytes, which arrives in pieces of any size, into lines.
package struct LineReader: Sendable {
    private var bytes: [UInt8] = []
    /// Where the next line begins.
    private var start = 0
    /// From `start` up to here there is no line end.
    private var searched = 0
    private let byteLimit: Int

    /// - Parameter byteLimit: The longest line accepted, in bytes.
    package init(byteLimit: Int) { self.byteLimit = byteLimit }

    package mutating func append(_ piece: some Sequence<UInt8>) {
        bytes.removeSubrange(..<start)
        searched -= start
        start = 0
        bytes += piece
    }

    /// - Returns: The next line without its end; `nil` until more has arrived. Empty lines are skipped.
    /// - Throws: `tooLarge` for a line beyond the limit, whether its end has arrived or not.
    package mutating func next() throws(FileError) -> Data? {
        while let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = bytes[start..<end]
            start = end + 1
            searched = start
            try check(line)
            if !line.isEmpty { return Data(line) }
        }
        searched = bytes.count
        try check(bytes[start...])
        return nil
    }

    /// The last line, if it had no line end.
    package mutating func last() -> Data? {
        defer { self = LineReader(byteLimit: byteLimit) }
        return start < bytes.count ? Data(bytes[start...]) : nil
    }

    private func check(_ line: ArraySlice<UInt8>) throws(FileError) {
        guard line.count <= byteLimit else {
            throw FileError(.tooLarge, "a line is longer than \(byteLimit >> 10) KiB")
        }
    }
}
