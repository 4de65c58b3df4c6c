/// A length of time as people write it: `7d`, `12h`, `30m`, `0s`.
struct TimePeriod: Hashable, Sendable {
    let seconds: Int64

    /// - Returns: `nil` for anything else, and for what does not fit into 64 bits.
    init?(_ text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units: [Substring: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let count = Int64(digits), let unit = units[text.dropFirst(digits.count)] else { return nil }
        let (product, isTooLong) = count.multipliedReportingOverflow(by: unit)
        guard !isTooLong else { return nil }
        seconds = product
    }
}
