/// Where the tables and keys of a TOML document are. The parser reports only values; this is for the positions of
/// mistakes, and for editing a document without losing its comments.
///
/// Reads documents that the parser has accepted. For others, positions are a best guess.
struct TOMLOutline {
    /// A place in the document, for people: the first line and the first column are 1. Columns count Unicode scalars.
    struct Position: Hashable, Comparable {
        var line: Int
        var column: Int

        static func < (one: Position, other: Position) -> Bool {
            (one.line, one.column) < (other.line, other.column)
        }
    }

    /// A header such as `[mounts.notes]`, or a key with its value.
    struct Statement: Equatable {
        var isHeader: Bool
        /// The keys from the root, decoded: a key below a header begins with the keys of the header.
        var path: [String]
        var position: Position
        /// Of a value's first character.
        var value: Position?
        /// Of the texts directly in an array.
        var elements: [Position] = []
        /// The lines that it takes.
        var lines: ClosedRange<Int>
    }

    /// What the parser must not be given, since it would end the process instead of refusing it.
    struct Obstacle: Equatable {
        var position: Position
        var sentence: String
    }

    private(set) var statements: [Statement] = []
    /// The first one of the document.
    private(set) var obstacle: Obstacle?

    /// The most dots of one statement outside of quotes and comments. The parser makes a table for each of a key's
    /// parts, and frees them by recursion: some 100,000 of them exhaust the stack.
    static let dotLimit = 1000

    init(_ text: String) {
        var scanner = TOMLScanner(text)
        var header: [String] = []
        while let statement = scanner.next(below: header) {
            if statement.isHeader { header = statement.path }
            statements.append(statement)
        }
        obstacle = scanner.obstacle
    }

    /// The statement that defines a value, or the innermost one around it.
    func statement(of path: [String]) -> Statement? {
        statements.filter { path.starts(with: $0.path) }.max { $0.path.count < $1.path.count }
    }

    /// The statement that mentions a table first.
    func first(in path: [String]) -> Statement? { statements.first { $0.path.starts(with: path) } }
}

/// Reads the statements of a TOML document one after the other.
private struct TOMLScanner {
    private let scalars: [Unicode.Scalar]
    private(set) var obstacle: TOMLOutline.Obstacle?
    private var index = 0
    private var line = 1
    private var lineStart = 0

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    private var position: TOMLOutline.Position { .init(line: line, column: index - lineStart + 1) }
    private var current: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    private mutating func advance() {
        if current == "\n" {
            line += 1
            lineStart = index + 1
        }
        index += 1
    }

    private mutating func skip(while condition: (Unicode.Scalar) -> Bool) {
        while let scalar = current, condition(scalar) { advance() }
    }

    /// Skips the rest of the line, without its end.
    private mutating func skipLine() { skip { $0 != "\n" } }

    mutating func next(below header: [String]) -> TOMLOutline.Statement? {
        while let scalar = current {
            switch scalar {
            case "#": skipLine()
            case " ", "\t", "\r", "\n", "\u{FEFF}": advance()
            case "[": return tableHeader()
            default: return assignment(below: header)
            }
        }
        return nil
    }

    private mutating func tableHeader() -> TOMLOutline.Statement {
        let start = position
        let first = index
        skip { $0 == "[" }
        noteBlankHeader(brackets: index - first)
        let path = keys(until: "]")
        skipLine()
        return .init(isHeader: true, path: path, position: start, lines: start.line...line)
    }

    /// The parser (toml++, `parse_key`) asserts that a header begins with a key, where it does not begin with `]`.
    private mutating func noteBlankHeader(brackets: Int) {
        skip { $0 == " " || $0 == "\t" }
        guard let scalar = current else { return }
        if brackets <= 2, scalar == "]" || scalar == "\"" || scalar == "'" || Self.isBare(scalar) { return }
        note("a table's name must follow the bracket, as in [mounts.NAME]")
    }

    /// Whether a scalar may stand in a key without quotes. Source: TOML 1.0, unquoted-key.
    private static func isBare(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
        default: false
        }
    }

    private mutating func note(_ sentence: String) {
        if obstacle == nil { obstacle = .init(position: position, sentence: sentence) }
    }

    /// Goes over a dot of a key or a value.
    private mutating func countDot(_ dots: inout Int) {
        dots += 1
        if dots > TOMLOutline.dotLimit { note("a key must not have more than \(TOMLOutline.dotLimit) parts") }
        advance()
    }

    private mutating func assignment(below header: [String]) -> TOMLOutline.Statement {
        let start = position
        let path = header + keys(until: "=")
        if current == "=" { advance() }
        skip { $0 == " " || $0 == "\t" }
        let value = position
        let elements = skipValue()
        return .init(
            isHeader: false, path: path, position: start, value: value, elements: elements, lines: start.line...line)
    }

    /// Reads `a."b c".'d'` up to an end, or the end of the line.
    private mutating func keys(until end: Unicode.Scalar) -> [String] {
        var keys: [String] = []
        var dots = 0
        while let scalar = current, scalar != end, scalar != "\n" {
            switch scalar {
            case "\"", "'": keys.append(quotedText())
            case ".": countDot(&dots)
            case " ", "\t", "\r": advance()
            default:
                let first = index
                skip { $0 != end && $0 != "." && $0 != " " && $0 != "\t" && $0 != "\n" && $0 != "\r" }
                keys.append(String(String.UnicodeScalarView(scalars[first..<index])))
            }
        }
        return keys
    }

    /// Skips a value, which may take several lines.
    ///
    /// - Returns: The positions of the texts directly in an array.
    private mutating func skipValue() -> [TOMLOutline.Position] {
        var depth = 0
        var dots = 0
        var elements: [TOMLOutline.Position] = []
        while let scalar = current {
            switch scalar {
            case "\n" where depth == 0: return elements
            case "#": skipLine()
            case "\"", "'":
                if depth == 1 { elements.append(position) }
                _ = quotedText()
            case ".": countDot(&dots)
            case "[", "{":
                depth += 1
                advance()
            case "]", "}":
                depth -= 1
                advance()
            default: advance()
            }
        }
        return elements
    }

    /// Reads a text in quotes: `"…"`, `'…'`, or one of several lines in three quotes.
    private mutating func quotedText() -> String {
        guard let quote = current else { return "" }
        let isLong = scalars[index...].prefix(3).elementsEqual([quote, quote, quote])
        let end = Array(repeating: quote, count: isLong ? 3 : 1)
        for _ in end { advance() }
        var text = String.UnicodeScalarView()
        while let scalar = current {
            if scalar == "\n", !isLong { break }
            if scalars[index...].prefix(end.count).elementsEqual(end) {
                for _ in end { advance() }
                // A text of several lines may end with quotes of its own.
                while isLong, current == quote { advance() }
                break
            }
            if scalar == "\\", quote == "\"" {
                advance()
                text.append(contentsOf: escaped().unicodeScalars)
            } else {
                text.append(scalar)
                advance()
            }
        }
        return String(text)
    }

    /// Reads what follows a backslash.
    private mutating func escaped() -> String {
        guard let scalar = current else { return "" }
        advance()
        let digits = scalar == "u" ? 4 : scalar == "U" ? 8 : 0
        guard digits > 0 else {
            let plain: [Unicode.Scalar: String] = ["n": "\n", "t": "\t", "r": "\r", "b": "\u{8}", "f": "\u{c}"]
            return plain[scalar] ?? String(scalar)
        }
        let hex = String(String.UnicodeScalarView(scalars[index...].prefix(digits)))
        for _ in hex.unicodeScalars { advance() }
        return UInt32(hex, radix: 16).flatMap(Unicode.Scalar.init).map(String.init) ?? ""
    }
}
