extension Timestamp {
    /// Reads the form of ``rfc3339``, with or without a fraction of a second, in UTC.
    ///
    /// - Returns: `nil` for anything else.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z") else { return nil }
        for (position, mark) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")] as [(Int, Unicode.Scalar)]
        where bytes[position] != UInt8(ascii: mark) { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            range.reduce(0) { sum, index in
                guard let sum, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) else { return nil }
                return sum * 10 + Int64(bytes[index] - UInt8(ascii: "0"))
            }
        }
        guard let year = number(0..<4), let month = number(5..<7), (1...12).contains(month),
            let day = number(8..<10), (1...31).contains(day), let hour = number(11..<13), hour < 24,
            let minute = number(14..<16), minute < 60, let second = number(17..<19), second <= 60
        else { return nil }
        var nanoseconds: Int64 = 0
        if bytes.count > 20 {
            let digitCount = bytes.count - 21
            guard bytes[19] == UInt8(ascii: "."), (1...9).contains(digitCount),
                let fraction = number(20..<(bytes.count - 1))
            else { return nil }
            nanoseconds = (digitCount..<9).reduce(fraction) { value, _ in value * 10 }
        }
        let days = Self.days(year: year, month: month, day: day)
        self.init(seconds: ((days * 24 + hour) * 60 + minute) * 60 + second, nanoseconds: nanoseconds)
    }

    /// Days since 1970-01-01 in the Gregorian calendar. Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        // The year begins in March, so that the leap day is its last one.
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
