import Model

/// Reading a text from its beginning to its end, for lists of millions of values: each byte is looked at once.
extension JSONScan {
    /// Begins an object or a list.
    ///
    /// - Returns: Whether there is something in it; otherwise it was read to its end.
    mutating func enter(_ opener: Unicode.Scalar, _ closer: Unicode.Scalar) throws(Failure) -> Bool {
        try expect(opener)
        return !take(closer)
    }

    /// - Returns: Whether another member or element follows; otherwise the object or list was read to its end.
    mutating func continues(before closer: Unicode.Scalar) throws(Failure) -> Bool {
        if take(",") { return true }
        try expect(closer)
        return false
    }

    /// Reads the name of the next member.
    ///
    /// - Returns: Which of `names` it is; `nil` for another.
    mutating func memberName(of names: [StaticString]) throws(Failure) -> Int? {
        skipSpace()
        let start = offset
        try string()
        let quoted = start..<offset
        try expect(":")
        let plain = names.firstIndex { isText(quoted, $0) }
        // It may be written with escapes.
        guard plain == nil, bytes[quoted].contains(UInt8(ascii: "\\")), let name = name(quoted) else { return plain }
        return names.firstIndex { name.utf8.elementsEqual($0.description.utf8) }
    }

    private func isText(_ quoted: Range<Int>, _ text: StaticString) -> Bool {
        guard text.utf8CodeUnitCount == quoted.count - 2 else { return false }
        for index in 0..<text.utf8CodeUnitCount where bytes[quoted.lowerBound + 1 + index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    mutating func skipValue() throws(Failure) { _ = try value() }

    mutating func expectEnd() throws(Failure) {
        skipSpace()
        guard offset == end else { throw failure }
    }

    /// Where the next value begins.
    var nextOffset: Int {
        mutating get {
            skipSpace()
            return offset
        }
    }

    mutating func takeNull() throws(Failure) -> Bool {
        skipSpace()
        guard offset < end, bytes[offset] == UInt8(ascii: "n") else { return false }
        try literal("null")
        return true
    }

    /// Reads a value that is written like an earlier one.
    mutating func take(equalTo earlier: Range<Int>) -> Bool {
        skipSpace()
        guard end - offset >= earlier.count, bytes[offset..<offset + earlier.count].elementsEqual(bytes[earlier]) else {
            return false
        }
        offset += earlier.count
        return true
    }

    mutating func integer() throws(Failure) -> Int64 {
        skipSpace()
        let start = offset
        var value: Int64 = 0
        while offset < end, offset - start < Self.plainDigitLimit, let digit = Self.digit(bytes[offset]) {
            value = value * 10 + Int64(digit)
            offset += 1
        }
        let isZero = offset > start + 1 && bytes[start] == UInt8(ascii: "0")
        if offset > start, !isZero, offset < end, Self.ends(number: bytes[offset]) { return value }
        offset = start
        return try decoded(Int64.self)
    }

    /// Fewer digits than those of `Int64.max`.
    private static let plainDigitLimit = 18

    private static func digit(_ byte: UInt8) -> UInt8? {
        let digit = byte &- UInt8(ascii: "0")
        return digit < 10 ? digit : nil
    }

    private static func ends(number byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
    }

    /// Reads a hash that is written without escapes; nothing if the value is anything else.
    mutating func takeHash() -> ChunkHash? {
        skipSpace()
        let digits = offset + 1..<offset + 1 + 2 * ChunkHash.byteCount
        guard digits.upperBound < end, bytes[offset] == UInt8(ascii: "\""),
            bytes[digits.upperBound] == UInt8(ascii: "\"")
        else { return nil }
        var isHash = true
        let hash = [UInt8](unsafeUninitializedCapacity: ChunkHash.byteCount) { hash, count in
            for index in 0..<ChunkHash.byteCount {
                let high = Self.hexValue(bytes[digits.lowerBound + 2 * index])
                let low = Self.hexValue(bytes[digits.lowerBound + 2 * index + 1])
                isHash = isHash && high < 16 && low < 16
                hash[index] = high << 4 | low
            }
            count = ChunkHash.byteCount
        }
        guard isHash else { return nil }
        offset = digits.upperBound + 1
        return ChunkHash(bytes: hash)
    }

    /// 16 or more for what is no lower-case hex digit.
    private static func hexValue(_ byte: UInt8) -> UInt8 {
        if let digit = digit(byte) { return digit }
        let letter = byte &- UInt8(ascii: "a")
        return letter < 6 ? letter + 10 : 16
    }

    /// Reads a value in whatever way it is written.
    mutating func decoded<Value: Decodable>(_ type: Value.Type) throws(Failure) -> Value {
        let value = try value()
        let decoded = try? ContainerCoding.decode(type, from: Array(bytes[value.range]), key: "")
        guard let decoded else { throw Failure(offset: value.range.lowerBound) }
        return decoded
    }
}
