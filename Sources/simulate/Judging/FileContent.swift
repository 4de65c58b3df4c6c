import Model

/// The content of one cell, which identifies its write. Never 0.
typealias Token = UInt64

/// A file's bytes as the simulation writes them: cells of 16 bytes, each a token and its check, or nothing but zeros.
struct FileContent: Equatable, Sendable {
    /// In cells.
    var count: Int
    var cells: [Int: Token]

    static let cellByteCount = 16
    static let empty = FileContent(count: 0, cells: [:])
    private static let check: UInt64 = 0x5afe_c0de_0ddb_a115

    var byteCount: Int64 { Int64(count * Self.cellByteCount) }

    /// A symbolic link with such a target counts as a file of one cell.
    init(linkTarget: String) {
        self.init(count: 1, cells: UInt64(linkTarget.drop { !$0.isNumber }).map { [0: $0] } ?? [:])
    }

    init(count: Int, cells: [Int: Token]) {
        self.count = count
        self.cells = cells
    }

    /// - Throws: ``Violation`` for bytes that no write of the simulation produced.
    init(bytes: [UInt8]) throws(Violation) {
        self.init(count: 0, cells: [:])
        try append(bytes)
    }

    /// Appends more bytes of the file.
    mutating func append(_ bytes: [UInt8]) throws(Violation) {
        guard bytes.count % Self.cellByteCount == 0 else {
            throw Violation("a file has \(byteCount + Int64(bytes.count)) bytes, which is not a number of whole cells")
        }
        let torn = bytes.withUnsafeBytes { buffer -> Int? in
            for offset in stride(from: 0, to: buffer.count, by: Self.cellByteCount) {
                let token = buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                let check = buffer.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
                if token == 0, check == 0 { continue }
                guard token != 0, check == token ^ Self.check else { return offset }
                cells[count + offset / Self.cellByteCount] = token
            }
            return nil
        }
        if let torn { throw Violation("a file has a torn cell at byte \(byteCount + Int64(torn))") }
        count += bytes.count / Self.cellByteCount
    }

    static func bytes(of tokens: [Token]) -> [UInt8] {
        var bytes: [UInt8] = []
        for token in tokens {
            withUnsafeBytes(of: token) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: token ^ check) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    mutating func write(_ tokens: [Token], at cell: Int) {
        for (index, token) in tokens.enumerated() { cells[cell + index] = token }
        count = max(count, cell + tokens.count)
    }

    mutating func truncate(to count: Int) {
        cells = cells.filter { $0.key < count }
        self.count = count
    }

    /// Equal for equal contents, and almost certainly different for others.
    var fingerprint: UInt64 {
        var fingerprint = Fingerprint()
        fingerprint.add(UInt64(count))
        for (cell, token) in cells.sorted(by: { $0.key < $1.key }) {
            fingerprint.add(UInt64(cell))
            fingerprint.add(token)
        }
        return fingerprint.value
    }
}

extension FileContent: CustomStringConvertible {
    var description: String {
        "\(count) cells " + cells.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
    }
}
