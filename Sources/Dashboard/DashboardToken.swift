/// The secret of one run of the dashboard, which every request must have.
package struct DashboardToken: Sendable {
    /// 64 hexadecimal digits: 256 bits.
    package let text: String

    /// Takes bits from the system's generator.
    package init() {
        var generator = SystemRandomNumberGenerator()
        text = (0..<4).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Whether a request has the secret; takes the same time wherever the two differ.
    package func matches(_ given: some StringProtocol) -> Bool {
        let own = Array(text.utf8)
        let other = Array(given.utf8)
        var difference: UInt8 = own.count == other.count ? 0 : 1
        for index in own.indices { difference |= own[index] ^ (index < other.count ? other[index] : 0) }
        return difference == 0
    }
}
