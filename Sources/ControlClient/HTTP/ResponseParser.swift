/// Splits the bytes of one HTTP/1.1 response into its status, the parts of its body and its end: a pure value.
///
///     head ─status→ body: of a known length, in chunks, or up to the end of the connection ─→ over
///       └─1xx→ head
///
/// It follows nothing: a redirect is a status like any other. Only the two headers that say where the body ends are
/// read. Source: RFC 9112, sections 4 to 8.
struct ResponseParser {
    enum Part: Equatable {
        case status(Int)
        /// Never empty.
        case body([UInt8])
        case end
    }

    private enum State: Equatable {
        case head
        case counted(rest: Int)
        case chunkSize
        case chunk(rest: Int)
        case chunkEnd
        case trailer
        case untilClose
        case over
    }

    /// The longest head, with all responses 1xx before it, and the longest trailer: 32 KiB.
    static let headByteLimit = 32 << 10
    /// The longest line before a chunk, in bytes.
    static let chunkLineByteLimit = 256

    private var state = State.head
    private var bytes: [UInt8] = []
    /// Where the bytes begin that are not parsed yet.
    private var start = 0
    /// How many of these bytes were searched for the end of a line, and where the line begins among them: each byte is
    /// searched once, however few arrive at a time.
    private var searchedByteCount = 0
    private var lineStart = 0
    /// How many bytes of the head, or of the trailer, were parsed.
    private var headByteCount = 0

    init() {}

    mutating func append(_ piece: some Collection<UInt8>) {
        bytes.removeSubrange(..<start)
        start = 0
        bytes += piece
    }

    /// - Returns: `nil` until more has arrived, and after the end.
    /// - Throws: ``ControlError/notUnderstood(_:)``.
    mutating func next() throws(ControlError) -> Part? {
        while true {
            switch state {
            case .head:
                guard let status = try head() else { return nil }
                if status >= 200 { return .status(status) }
            case .counted(rest: 0):
                state = .over
                return .end
            case .counted(let rest):
                guard let part = take(atMost: rest) else { return nil }
                state = .counted(rest: rest - part.count)
                return .body(part)
            case .chunkSize:
                guard let size = try chunkSize() else { return nil }
                state = size == 0 ? .trailer : .chunk(rest: size)
            case .chunk(rest: 0): state = .chunkEnd
            case .chunk(let rest):
                guard let part = take(atMost: rest) else { return nil }
                state = .chunk(rest: rest - part.count)
                return .body(part)
            case .chunkEnd:
                guard let line = try line(byteLimit: 0) else { return nil }
                guard line.isEmpty else { throw Self.flaw("a chunk is longer than announced") }
                state = .chunkSize
            case .trailer:
                guard let line = try headLine() else { return nil }
                guard line.isEmpty else { continue }
                state = .over
                return .end
            case .untilClose: return take(atMost: .max).map { .body($0) }
            case .over: return nil
            }
        }
    }

    /// The connection has ended.
    ///
    /// - Throws: ``ControlError/daemonUnreachable(_:)`` if a part of the response is missing.
    mutating func finish() throws(ControlError) {
        switch state {
        case .over: return
        case .untilClose: state = .over
        case .head where bytes.isEmpty && headByteCount == 0:
            throw .daemonUnreachable("it disconnected before answering")
        default: throw .daemonUnreachable("the connection ended")
        }
    }

    // MARK: Head

    /// - Returns: The status, once the head is complete.
    private mutating func head() throws(ControlError) -> Int? {
        // Parsed only when it is complete, so that no half of it has to be kept.
        guard let end = endOfHead() else {
            guard bytes.count - start + headByteCount <= Self.headByteLimit else { throw Self.tooLong }
            return nil
        }
        guard end - start + headByteCount <= Self.headByteLimit else { throw Self.tooLong }
        var lines: [ArraySlice<UInt8>] = []
        while start < end, let line = try headLine() { lines.append(line) }
        guard let status = lines.first.flatMap(Self.status) else { throw Self.flaw("it is not HTTP/1.1") }
        // An upgrade is never asked for.
        guard status != 101 else { throw Self.flaw("HTTP status 101") }
        guard status >= 200 else { return status }
        state = try Self.framing(status, lines.dropFirst())
        headByteCount = 0
        return status
    }

    /// Where the empty line that ends a head ends.
    private mutating func endOfHead() -> Int? {
        while let end = lineEnd() {
            let line = start + lineStart
            if end == line || (end == line + 1 && bytes[line] == UInt8(ascii: "\r")) {
                (searchedByteCount, lineStart) = (0, 0)
                return end + 1
            }
            lineStart = end + 1 - start
            searchedByteCount = lineStart
        }
        return nil
    }

    /// `HTTP/1.1 200 OK`
    private static func status(_ line: ArraySlice<UInt8>) -> Int? {
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0].elementsEqual("HTTP/1.1".utf8) || words[0].elementsEqual("HTTP/1.0".utf8),
            words[1].count == 3, let status = number(words[1], radix: 10), (100...599).contains(status)
        else { return nil }
        return status
    }

    private static func framing(_ status: Int, _ lines: ArraySlice<ArraySlice<UInt8>>) throws(ControlError) -> State {
        var length: Int?
        var isChunked = false
        for line in lines where !line.isEmpty {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw flaw("a header has no colon") }
            let value = trimmed(line[(colon + 1)...])
            switch lowercased(line[..<colon]) {
            case Array("content-length".utf8):
                guard let number = number(value, radix: 10), length ?? number == number else {
                    throw flaw("its length is not a number")
                }
                length = number
            case Array("transfer-encoding".utf8):
                guard lowercased(value) == Array("chunked".utf8), !isChunked else {
                    throw flaw("its encoding is not supported")
                }
                isChunked = true
            default: continue
            }
        }
        if status == 204 || status == 304 { return .counted(rest: 0) }
        guard !isChunked || length == nil else { throw flaw("it has two lengths") }
        return isChunked ? .chunkSize : length.map { .counted(rest: $0) } ?? .untilClose
    }

    // MARK: Chunks

    private mutating func chunkSize() throws(ControlError) -> Int? {
        guard let line = try line(byteLimit: Self.chunkLineByteLimit) else { return nil }
        let size = Self.trimmed(line.prefix { $0 != UInt8(ascii: ";") })
        guard let number = Self.number(size, radix: 16) else { throw Self.flaw("the size of a chunk is not a number") }
        return number
    }

    // MARK: Bytes

    private mutating func take(atMost count: Int) -> [UInt8]? {
        guard start < bytes.count else { return nil }
        let end = start + min(count, bytes.count - start)
        defer { start = end }
        return Array(bytes[start..<end])
    }

    private mutating func headLine() throws(ControlError) -> ArraySlice<UInt8>? {
        let before = start
        guard let line = try line(byteLimit: Self.headByteLimit) else { return nil }
        headByteCount += start - before
        guard headByteCount <= Self.headByteLimit else { throw Self.tooLong }
        return line
    }

    /// - Returns: The next line without its end; `nil` until it has arrived.
    private mutating func line(byteLimit: Int) throws(ControlError) -> ArraySlice<UInt8>? {
        let end = lineEnd()
        // Two bytes may be the line's end.
        guard (end ?? bytes.count) - start <= byteLimit + 1 else { throw Self.tooLong }
        guard let end else { return nil }
        defer {
            start = end + 1
            searchedByteCount = 0
        }
        let line = bytes[start..<end]
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }

    private mutating func lineEnd() -> Int? {
        let end = bytes[(start + searchedByteCount)...].firstIndex(of: UInt8(ascii: "\n"))
        if end == nil { searchedByteCount = bytes.count - start }
        return end
    }

    /// Digits alone: no sign, no spaces. `nil` also for what is too large.
    private static func number(_ digits: ArraySlice<UInt8>, radix: Int) -> Int? {
        guard !digits.isEmpty else { return nil }
        var number = 0
        for digit in digits {
            guard let value = Character(UnicodeScalar(digit)).hexDigitValue, value < radix else { return nil }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: radix)
            guard !isTooLarge, product <= Int.max - value else { return nil }
            number = product + value
        }
        return number
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let spaces = [UInt8(ascii: " "), UInt8(ascii: "\t")]
        let rest = bytes.drop { spaces.contains($0) }
        return rest.prefix((rest.lastIndex { !spaces.contains($0) } ?? rest.startIndex - 1) + 1 - rest.startIndex)
    }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }

    private static var tooLong: ControlError { flaw("its head is too long") }

    private static func flaw(_ reason: String) -> ControlError { .notUnderstood(reason) }
}
