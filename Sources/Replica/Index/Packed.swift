import Foundation
package import Model

/// Concatenates values in the format in which the index stores contents and records: integers little-endian, texts and
/// lists prefixed with their count (32 bits).
struct PackedWriter {
    private(set) var data = Data()

    mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0) }
    }

    mutating func append(_ bytes: some Collection<UInt8>) {
        append(UInt32(bytes.count))
        data.append(contentsOf: bytes)
    }

    mutating func append(_ text: String) { append(text.utf8) }

    mutating func append(_ uuid: UUID) {
        withUnsafeBytes(of: uuid.uuid) { data.append(contentsOf: $0) }
    }

    /// 32 bytes, without a count.
    mutating func append(_ hash: ChunkHash) { data.append(contentsOf: hash.bytes) }
}

/// Reads the output of ``PackedWriter``.
struct PackedReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ data: Data) { bytes = Array(data) }

    var isAtEnd: Bool { position == bytes.count }

    mutating func read<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(FileError) -> Value {
        let place = try take(MemoryLayout<Value>.size).startIndex
        return bytes.withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: Value.self)) }
    }

    mutating func readBytes() throws(FileError) -> ArraySlice<UInt8> { try take(Int(try read(UInt32.self))) }

    mutating func readText() throws(FileError) -> String {
        guard let text = String(validating: try readBytes(), as: UTF8.self) else { throw Self.damaged }
        return text
    }

    mutating func readUUID() throws(FileError) -> UUID {
        // Not UUID(), which asks the kernel for random bytes.
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        let slice = try take(16)
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: slice) }
        return UUID(uuid: uuid)
    }

    mutating func readHash() throws(FileError) -> ChunkHash {
        guard let hash = ChunkHash(bytes: try take(ChunkHash.byteCount)) else { throw Self.damaged }
        return hash
    }

    mutating func skip(_ count: Int) throws(FileError) { _ = try take(count) }

    private mutating func take(_ count: Int) throws(FileError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - position else { throw Self.damaged }
        defer { position += count }
        return bytes[position..<position + count]
    }

    static let damaged = FileError(.inputOutput, "the index holds a damaged value; run dewpoint check")
}

extension FileError {
    /// Whether it says that a value of the index cannot be decoded.
    package var isDamagedValue: Bool { self == PackedReader.damaged }
}
