/// To which length an object is padded, so that its size tells less.
enum Padding {
    /// Lengths whose binary digits end in zeros, the more the longer they are: at most 12 % more, and far less for long
    /// ones. Padmé, from "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs" (PETS 2019).
    case padme
    /// Multiples of so many bytes.
    case multiples(Int64)

    /// Commits tell by their length how long the names in them are: they are padded to 4 KiB.
    static func of(key: String) -> Padding { key.utf8.starts(with: "log/".utf8) ? .multiples(4 << 10) : .padme }

    /// - Parameter byteCount: 0 stays 0.
    func paddedByteCount(_ byteCount: Int64) -> Int64 {
        switch self {
        case .padme:
            guard byteCount > 1 else { return byteCount }
            let exponent = Int64.bitWidth - 1 - byteCount.leadingZeroBitCount
            let digits = Int.bitWidth - exponent.leadingZeroBitCount
            let mask = Int64(1) << (exponent - digits) - 1
            return exponent > digits ? (byteCount + mask) & ~mask : byteCount
        case .multiples(let unit): return (byteCount + unit - 1) / unit * unit
        }
    }
}
