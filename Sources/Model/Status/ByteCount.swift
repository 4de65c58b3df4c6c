/// A number of bytes for people: `812 B`, `9.5 MiB`.
package struct ByteCount: CustomStringConvertible {
    private let count: Double

    package init(_ count: Int64) { self.count = Double(count) }
    package init(_ count: Double) { self.count = count }

    package var description: String {
        guard count >= 1024 else { return "\(Int(count)) B" }
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        var value = count / 1024
        var unit = 0
        // 1023.95 would be printed as 1024.0.
        while value >= 1023.95, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
