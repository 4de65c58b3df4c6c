import FileSystem
import Model

/// The values of options.
extension MountOption {
    static func duration(_ name: String, _ value: String, _ range: ClosedRange<Duration>) throws(Problem) -> Duration {
        guard let count = Quantity.milliseconds(value) else {
            throw Problem(description: "\(name) is a whole number with ms, s, m, h or d, as in 500ms, not \(value)")
        }
        let duration = Duration.milliseconds(count)
        guard range.contains(duration) else {
            throw Problem(
                description: "\(name) is \(text(range.lowerBound)) to \(text(range.upperBound)), not \(value)")
        }
        return duration
    }

    /// In the form of the option's value.
    static func text(_ duration: Duration) -> String {
        let count = Int64(duration / .milliseconds(1))
        if count > day, count % day == 0 { return "\(count / day)d" }
        return count % 1000 == 0 ? "\(count / 1000)s" : "\(count)ms"
    }

    /// In milliseconds.
    private static let day: Int64 = 86_400_000

    /// - Parameter floor: The least, `K` or `M` alone.
    static func size(_ name: String, _ value: String, floor: SizeFloor = .mebibyte) throws(Problem) -> Int64 {
        guard let count = Quantity.byteCount(value), floor.rawValue...DirectoryRule.sizes.upperBound ~= count else {
            throw Problem(
                description:
                    "\(name) is a whole number with K, M, G or T, \(floor.text) or more, as in \(floor.example), not \(value)"
            )
        }
        return count
    }

    /// The least value of a size, in bytes.
    enum SizeFloor: Int64 {
        case kibibyte = 1024
        case mebibyte = 1_048_576

        fileprivate var text: String { self == .kibibyte ? "1K" : "1M" }
        fileprivate var example: String { self == .kibibyte ? "500K" : "20G" }
    }

    static let percents = 1...90

    static func text(_ percents: ClosedRange<Int>) -> String { "\(percents.lowerBound)% to \(percents.upperBound)%" }

    static func freeSpace(_ value: String) throws(Problem) -> CacheLimits.FreeSpace? {
        guard value.hasSuffix("%") else { return .bytes(try size("free_space", value)) }
        guard let percent = Int(value.dropLast()), percents ~= percent else {
            throw Problem(description: "free_space is \(text(percents)), not \(value)")
        }
        return .percent(percent)
    }

    /// Replaces the default programs, or with a `+` in front adds to them.
    static func programs(_ value: String) throws(Problem) -> [String] {
        if value.isEmpty { return [] }
        let isAdding = value.hasPrefix("+")
        let programs = value.dropFirst(isAdding ? 1 : 0).split(separator: ":", omittingEmptySubsequences: false)
            .map(String.init)
        guard programs.allSatisfy({ !$0.isEmpty && !$0.hasPrefix("+") && !$0.hasPrefix("/") }) else {
            throw Problem(
                description:
                    "no_download takes names of programs, as in updatedb:tumblerd or +restic:borg, not \(value)")
        }
        return (isAdding ? FileSystemOptions.indexersAndThumbnailers : []) + programs
    }

    static func hintPeer(_ value: String) throws(Problem) -> [HintAddress] {
        if let address = HintAddress(value) { return [address] }
        throw Problem(
            description:
                "hint_peer is a host, with a port if it is not \(HintAddress.port), as in desk.example:28771, not "
                + value)
    }

    static func notifications(_ value: String) throws(Problem) -> HintAddress? {
        if let address = HintAddress(value), value.hasSuffix(":\(address.port)") { return address }
        throw Problem(
            description: "notify is an address of this machine and a port, as in 0.0.0.0:8460, not \(value)")
    }

    static func fastPaths(_ value: String) throws(Problem) -> Set<FastPath> {
        if value == "all" { return Set(FastPath.allCases) }
        var paths: Set<FastPath> = []
        for part in value.split(separator: ":", omittingEmptySubsequences: false) {
            guard let path = FastPath(rawValue: String(part)) else {
                let names = FastPath.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(
                    description:
                        "off is all, or names of fast paths (\(names)), as in splice:readdirplus, not \(value)")
            }
            paths.insert(path)
        }
        return paths
    }
}
