/// Splits a predicate format into tokens.
struct PredicateScanner {
    private let scalars: [Unicode.Scalar]
    private(set) var offset = 0

    init(_ format: String) { scalars = Array(format.unicodeScalars) }

    private var current: Unicode.Scalar? { offset < scalars.count ? scalars[offset] : nil }

    private func scalar(after distance: Int) -> Unicode.Scalar? {
        offset + distance < scalars.count ? scalars[offset + distance] : nil
    }

    mutating func next() throws(PredicateFormatError) -> PredicateToken {
        while let scalar = current, scalar.properties.isWhitespace { offset += 1 }
        let start = offset
        return PredicateToken(kind: try kind(), offset: start)
    }

    private mutating func kind() throws(PredicateFormatError) -> PredicateToken.Kind {
        guard let scalar = current else { return .end }
        switch scalar {
        case "\"", "'": return .string(try quoted(by: scalar))
        case "%": return try placeholder()
        case "0"..."9": return try number()
        case "#":
            offset += 1
            guard let first = current, Self.isStart(first) else {
                throw PredicateFormatError(at: offset - 1, "after # write the name of an attribute")
            }
            return .escapedIdentifier(identifier())
        case "@":
            offset += 1
            return .identifier("@\(identifier())")
        case "$":
            throw PredicateFormatError(
                at: offset, "variables are not supported: pass the value as an argument, with the placeholder %@")
        case _ where Self.isStart(scalar): return .identifier(identifier())
        default: return .symbol(try symbol(scalar))
        }
    }

    private static func isStart(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isXIDStart || scalar == "_" }

    private mutating func identifier() -> String {
        var text = String.UnicodeScalarView()
        while let scalar = current, scalar.properties.isXIDContinue || scalar == "_" { take(into: &text) }
        guard String(text).lowercased() == "uti", current == "-" else { return String(text) }
        while let scalar = current, scalar.properties.isAlphabetic || scalar == "-" { take(into: &text) }
        return String(text)
    }

    private mutating func take(into text: inout String.UnicodeScalarView) {
        text.append(scalars[offset])
        offset += 1
    }

    private mutating func symbol(_ first: Unicode.Scalar) throws(PredicateFormatError) -> String {
        if let second = scalar(after: 1) {
            let pair = "\(first)\(second)"
            if ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", ":=", "**"].contains(pair) {
                offset += 2
                return pair
            }
        }
        guard "(){}[],.=<>!+-*/".unicodeScalars.contains(first) else {
            throw PredicateFormatError(at: offset, "\(quotable(first)) has no meaning here: write texts in quotes")
        }
        offset += 1
        return String(first)
    }

    private func quotable(_ scalar: Unicode.Scalar) -> String { scalar.escaped(asASCII: false) }

    // MARK: Texts

    private mutating func quoted(by quote: Unicode.Scalar) throws(PredicateFormatError) -> String {
        let start = offset
        offset += 1
        var text = String.UnicodeScalarView()
        while let scalar = current {
            switch scalar {
            case quote:
                offset += 1
                return String(text)
            case "\\": text.append(try escape())
            case "%" where self.scalar(after: 1) == "%":
                text.append(scalar)
                offset += 2
            default: take(into: &text)
            }
        }
        throw PredicateFormatError(at: start, "a text that begins here has no end: close it with \(quote)")
    }

    private mutating func escape() throws(PredicateFormatError) -> Unicode.Scalar {
        let start = offset
        offset += 1
        let letter = current
        offset += 1
        switch letter {
        case "\\", "\"", "'": return letter ?? "\\"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u": return try hexadecimal(digits: 4, start)
        case "x": return try hexadecimal(digits: 2, start)
        default: throw PredicateFormatError(at: start, #"unknown escape: write \\ for a backslash"#)
        }
    }

    private mutating func hexadecimal(digits: Int, _ start: Int) throws(PredicateFormatError) -> Unicode.Scalar {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let scalar = current, let digit = Character(scalar).hexDigitValue else {
                throw PredicateFormatError(at: start, "write \(digits) hexadecimal digits after this escape")
            }
            value = value << 4 | UInt32(digit)
            offset += 1
        }
        guard let scalar = Unicode.Scalar(value) else {
            throw PredicateFormatError(at: start, "this escape is not a character: write the character itself")
        }
        return scalar
    }

    // MARK: Numbers

    private mutating func number() throws(PredicateFormatError) -> PredicateToken.Kind {
        let start = offset
        var text = ""
        if current == "0", scalar(after: 1) == "x" || scalar(after: 1) == "X" {
            offset += 2
            while let scalar = current, scalar.properties.isASCIIHexDigit { append(to: &text) }
            guard let number = Int64(text, radix: 16) else {
                throw PredicateFormatError(at: start, "not a hexadecimal number of at most 64 bits")
            }
            return .integer(number)
        }
        digits(into: &text)
        var isReal = false
        if current == ".", let next = scalar(after: 1), ("0"..."9").contains(next) {
            isReal = true
            append(to: &text)
            digits(into: &text)
        }
        if current == "e" || current == "E" {
            isReal = true
            append(to: &text)
            if current == "+" || current == "-" { append(to: &text) }
            digits(into: &text)
        }
        if !isReal, let number = Int64(text) { return .integer(number) }
        guard let number = Double(text) else {
            throw PredicateFormatError(at: start, "not a number: write one as in 1.5e3")
        }
        return .real(number)
    }

    private mutating func digits(into text: inout String) {
        while let scalar = current, ("0"..."9").contains(scalar) { append(to: &text) }
    }

    private mutating func append(to text: inout String) {
        text.unicodeScalars.append(scalars[offset])
        offset += 1
    }

    // MARK: Placeholders

    private mutating func placeholder() throws(PredicateFormatError) -> PredicateToken.Kind {
        let start = offset
        var text = ""
        append(to: &text)
        while let scalar = current, "lhqzjt".unicodeScalars.contains(scalar) { append(to: &text) }
        let isPlain = text == "%"
        switch current {
        case "@" where isPlain:
            offset += 1
            return .object
        case "K" where isPlain:
            offset += 1
            return .key
        case "d", "D", "i", "u", "U", "x", "X", "o":
            append(to: &text)
            return .integerPlaceholder(text)
        case "f", "F", "e", "E", "g", "G", "a", "A":
            append(to: &text)
            return .realPlaceholder(text)
        case "%" where isPlain:
            throw PredicateFormatError(at: start, "write a percent sign in quotes: \"%\"")
        default:
            throw PredicateFormatError(at: start, "unknown placeholder: write %@, %K, %d or %f")
        }
    }
}
