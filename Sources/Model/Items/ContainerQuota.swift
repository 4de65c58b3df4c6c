/// How many bytes the files of a container and their conflict versions may have in all.
package struct ContainerQuota: Hashable, Sendable, Codable, CustomStringConvertible {
    /// 1 byte to 2^62 bytes.
    package static let range: ClosedRange<Int64> = 1...(1 << 62)

    package let byteCount: Int64

    /// - Returns: `nil` outside of ``range``.
    package init?(byteCount: Int64) {
        guard Self.range.contains(byteCount) else { return nil }
        self.byteCount = byteCount
    }

    /// A whole number of bytes, or one with K, M, G, T or P, powers of 1024: `50G`.
    ///
    /// - Returns: `nil` for any other text, and outside of ``range``.
    package init?(_ text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units: [Substring: Int64] = ["": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50]
        guard let count = Int64(digits), let unit = units[text.dropFirst(digits.count)] else { return nil }
        let product = count.multipliedReportingOverflow(by: unit)
        guard !product.overflow else { return nil }
        self.init(byteCount: product.partialValue)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let quota = ContainerQuota(byteCount: try container.decode(Int64.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "a quota is 1 to \(Self.range.upperBound) bytes")
        }
        self = quota
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(byteCount)
    }

    package var description: String { "\(ByteCount(byteCount))" }
}
