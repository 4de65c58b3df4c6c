/// Finds the values of a JSON text (RFC 8259) without decoding them, in memory that does not depend on the text.
///
/// Verifies that the text is JSON; whether strings are UTF-8 and numbers are in range is found when they are decoded.
struct JSONScan {
    /// Not JSON, nested deeper than ``depthLimit``, or not of the requested shape.
    struct Failure: Error {
        let offset: Int
    }

    /// The maximum nesting depth.
    static let depthLimit = 512

    let bytes: [UInt8]
    var offset: Int
    let end: Int
    /// The closing characters of the open objects and lists.
    private var closers: [UInt8] = []
    /// How many values of a list, or members of an object, were read.
    private var elementCount = 0

    /// - Parameter range: The part of the bytes to scan; all of them when it is `nil`.
    init(_ bytes: [UInt8], in range: Range<Int>? = nil) {
        self.bytes = bytes
        offset = range?.lowerBound ?? 0
        end = range?.upperBound ?? bytes.count
    }

    /// A value in the text.
    struct Value {
        let range: Range<Int>
        /// The number of values in it, itself included.
        let valueCount: Int
    }

    // MARK: Shapes

    /// Reads an object to its end, after which there must be nothing.
    ///
    /// - Parameter names: The requested members; none of them may occur twice.
    mutating func object(_ names: Set<String>) throws(Failure) -> [String: Value] {
        var found: [String: Value] = [:]
        try expect("{")
        if take("}") { return try atEnd(found) }
        repeat {
            skipSpace()
            let start = offset
            try string()
            let quoted = start..<offset
            try expect(":")
            let value = try value()
            if let name = name(quoted), names.contains(name), found.updateValue(value, forKey: name) != nil {
                throw failure
            }
        } while take(",")
        try expect("}")
        return try atEnd(found)
    }

    /// The next member of an object: its quoted name and its value; `nil` after the last one, after which it must not be
    /// called again.
    mutating func nextMember() throws(Failure) -> (name: Range<Int>, value: Value)? {
        if elementCount == 0 {
            try expect("{")
            if take("}") { return nil }
        } else if !take(",") {
            try expect("}")
            return nil
        }
        elementCount += 1
        skipSpace()
        let start = offset
        try string()
        let name = start..<offset
        try expect(":")
        return (name, try value())
    }

    /// The next value of a list; `nil` after the last one, after which it must not be called again.
    mutating func nextElement() throws(Failure) -> Value? {
        if elementCount == 0 {
            try expect("[")
            if take("]") { return nil }
        } else if !take(",") {
            try expect("]")
            return nil
        }
        elementCount += 1
        return try value()
    }

    private mutating func atEnd<Found>(_ found: Found) throws(Failure) -> Found {
        skipSpace()
        guard offset == end else { throw failure }
        return found
    }

    /// The unescaped form of a name: it may be written with escapes.
    func name(_ quoted: Range<Int>) -> String? {
        let name = bytes[quoted.dropFirst().dropLast()]
        if !name.contains(UInt8(ascii: "\\")) { return String(validating: name, as: UTF8.self) }
        return try? ContainerCoding.decode(String.self, from: Array(bytes[quoted]), key: "")
    }

    // MARK: Values

    /// Skips one value.
    mutating func value() throws(Failure) -> Value {
        skipSpace()
        let start = offset
        var valueCount = 0
        closers.removeAll(keepingCapacity: true)
        repeat { valueCount += 1 } while try passOne()
        return Value(range: start..<offset, valueCount: valueCount)
    }

    /// Skips a scalar value, or opens a nested one; then skips to the next value.
    ///
    /// - Returns: Whether there is a next one before all opened values are closed.
    private mutating func passOne() throws(Failure) -> Bool {
        if take("{") {
            if !take("}") {
                try open("}")
                try key()
                return true
            }
        } else if take("[") {
            if !take("]") {
                try open("]")
                return true
            }
        } else {
            try scalar()
        }
        while let closer = closers.last {
            if take(",") {
                if closer == UInt8(ascii: "}") { try key() }
                return true
            }
            try expect(Unicode.Scalar(closer))
            closers.removeLast()
        }
        return false
    }

    private mutating func open(_ closer: Unicode.Scalar) throws(Failure) {
        guard closers.count < Self.depthLimit else { throw failure }
        closers.append(UInt8(ascii: closer))
    }

    private mutating func key() throws(Failure) {
        skipSpace()
        try string()
        try expect(":")
    }

    private mutating func scalar() throws(Failure) {
        guard offset < end else { throw failure }
        switch bytes[offset] {
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        default: try number()
        }
    }

    mutating func string() throws(Failure) {
        guard offset < end, bytes[offset] == UInt8(ascii: "\"") else { throw failure }
        offset += 1
        while offset < end {
            let byte = bytes[offset]
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw failure
            default: break
            }
        }
        throw failure
    }

    private mutating func escape() throws(Failure) {
        guard offset < end else { throw failure }
        let byte = bytes[offset]
        offset += 1
        if Self.escapes.contains(byte) { return }
        guard byte == UInt8(ascii: "u"), end - offset >= 4, bytes[offset..<offset + 4].allSatisfy(Self.isHex) else {
            throw failure
        }
        offset += 4
    }

    private static let escapes = Array("\"\\/bfnrt".utf8)

    private static func isHex(_ byte: UInt8) -> Bool { Unicode.Scalar(byte).properties.isASCIIHexDigit }

    mutating func literal(_ text: StaticString) throws(Failure) {
        let isThere = text.withUTF8Buffer { bytes[offset..<min(end, offset + $0.count)].elementsEqual($0) }
        guard isThere else { throw failure }
        offset += text.utf8CodeUnitCount
    }

    private mutating func number() throws(Failure) {
        if offset < end, bytes[offset] == UInt8(ascii: "-") { offset += 1 }
        let isZero = offset < end && bytes[offset] == UInt8(ascii: "0")
        let digitCount = digits()
        guard digitCount == 1 || digitCount > 1 && !isZero else { throw failure }
        if offset < end, bytes[offset] == UInt8(ascii: ".") {
            offset += 1
            guard digits() > 0 else { throw failure }
        }
        if offset < end, bytes[offset] | 0x20 == UInt8(ascii: "e") {
            offset += 1
            if offset < end, [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(bytes[offset]) { offset += 1 }
            guard digits() > 0 else { throw failure }
        }
    }

    private mutating func digits() -> Int {
        let start = offset
        while offset < end, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[offset]) { offset += 1 }
        return offset - start
    }

    // MARK: Bytes

    var failure: Failure { Failure(offset: offset) }

    mutating func skipSpace() {
        while offset < end {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0a, 0x0d: offset += 1
            default: return
            }
        }
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard offset < end, bytes[offset] == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    mutating func expect(_ character: Unicode.Scalar) throws(Failure) {
        guard take(character) else { throw failure }
    }
}
