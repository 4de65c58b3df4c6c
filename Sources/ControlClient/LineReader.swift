import Foundation
import NIOCore

/// Splits a stream of bytes into lines of JSON.
struct LineReader {
    private var rest = ByteBuffer()
    /// How many bytes of `rest` are known to contain no line end.
    private var searched = 0
    private let decoder = JSONDecoder()

    /// The longest line accepted, in bytes: 32 MiB. 1024 paths of 4 KiB, with every byte escaped, take 24 MiB.
    static let lineByteLimit = 32 << 20

    mutating func append(_ bytes: ByteBuffer) {
        if rest.readableBytes == 0 {
            rest = bytes
            searched = 0
        } else {
            rest.writeImmutableBuffer(bytes)
        }
    }

    /// - Returns: `nil` when no complete line is left.
    /// - Throws: ``ControlError/notUnderstood(_:)`` for a line that is not a value of that type, or too long.
    mutating func next<Value: Decodable>(_ type: Value.Type) throws(ControlError) -> Value? {
        while let line = try nextLine() {
            guard line.readableBytes > 0 else { continue }
            do {
                return try decoder.decode(type, from: Data(line.readableBytesView))
            } catch {
                throw .notUnderstood("\(error)")
            }
        }
        return nil
    }

    private mutating func nextLine() throws(ControlError) -> ByteBuffer? {
        let view = rest.readableBytesView
        guard let end = view.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) else {
            searched = view.count
            guard searched <= Self.lineByteLimit else {
                throw .notUnderstood("a line is longer than \(Self.lineByteLimit >> 20) MiB")
            }
            return nil
        }
        searched = 0
        let line = rest.readSlice(length: end - view.startIndex)
        rest.moveReaderIndex(forwardBy: 1)
        return line
    }
}
