/// Durations and sizes as options and rules have them: a whole number and a unit.
package enum Quantity {
    private static let durations: [(unit: String, count: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    private static let sizes: [(unit: String, count: Int64)] = [
        ("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10),
    ]

    /// - Parameter text: A whole number with `ms`, `s`, `m`, `h` or `d`.
    /// - Returns: `nil` for another text.
    package static func milliseconds(_ text: String) -> Int64? { number(text, durations) }

    /// - Parameter text: A whole number with `K`, `M`, `G` or `T`, powers of 1024.
    /// - Returns: `nil` for another text.
    package static func byteCount(_ text: String) -> Int64? { number(text, sizes) }

    /// In the largest unit that gives a whole number.
    package static func text(milliseconds: Int64) -> String { self.text(milliseconds, durations, rest: "ms") }

    /// In the largest unit that gives a whole number; bytes without a unit.
    package static func text(byteCount: Int64) -> String { text(byteCount, sizes, rest: "") }

    private static func number(_ text: String, _ units: [(unit: String, count: Int64)]) -> Int64? {
        let digits = text.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        let unit = text.utf8.dropFirst(digits.count)
        guard let count = Int64(Substring(digits)), let found = units.first(where: { unit.elementsEqual($0.unit.utf8) })
        else { return nil }
        let (product, overflows) = count.multipliedReportingOverflow(by: found.count)
        return overflows ? nil : product
    }

    private static func text(_ number: Int64, _ units: [(unit: String, count: Int64)], rest: String) -> String {
        let found = units.first { number > 0 && number % $0.count == 0 }
        return found.map { "\(number / $0.count)\($0.unit)" } ?? "\(number)\(rest)"
    }
}
