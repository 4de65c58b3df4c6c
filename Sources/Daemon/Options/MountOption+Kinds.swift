import FileSystem
import Logging
import Model

/// The kinds of options by their values: what they take, and with which sentence they refuse the rest.
extension MountOption {
    typealias Property<Value> = any WritableKeyPath<DaemonOptions, Value> & Sendable

    /// An option with a value that is read by `setter`.
    static func value(
        _ name: String, _ form: String, usage: String? = nil, _ meaning: String?,
        setter: @escaping @Sendable (inout DaemonOptions, String) throws(DaemonOptions.Problem) -> Void
    ) -> MountOption {
        MountOption(name, form: form, usage: "\(name)=\(usage ?? form)", meaning) {
            options, value throws(DaemonOptions.Problem) in
            try setter(&options, value ?? "")
        }
    }

    static func flag(
        _ name: String, _ property: Property<Bool>, _ value: Bool, usage: String?, _ meaning: String? = nil
    ) -> MountOption {
        MountOption(name, form: nil, usage: usage, meaning) { options, _ in options[keyPath: property] = value }
    }

    static func duration(
        _ name: String, _ property: Property<Duration>, _ range: ClosedRange<Duration>, _ meaning: String
    ) -> MountOption {
        let usual = documented(DaemonOptions()[keyPath: property])
        let most = documented(range.upperBound)
        let limits = range.lowerBound == .zero ? "at most \(most)" : "\(documented(range.lowerBound)) to \(most)"
        return value(name, "DURATION", usage: usual, filled(meaning, limits, usual: usual)) {
            options, value throws(DaemonOptions.Problem) in
            options[keyPath: property] = try duration(name, value, range)
        }
    }

    /// - Parameter noun: What the value is, as in "a port".
    static func number<Number: FixedWidthInteger & Sendable>(
        _ name: String, _ property: Property<Number?>, _ form: String, usage: String? = nil, a noun: String,
        _ range: ClosedRange<Number>, _ meaning: String? = nil
    ) -> MountOption {
        value(name, form, usage: usage, meaning.map { filled($0, documented(range)) }) {
            options, value throws(DaemonOptions.Problem) in
            guard let number = Number(value), range ~= number else {
                throw DaemonOptions.Problem(
                    description: "\(name) is a \(noun), \(range.lowerBound) to \(range.upperBound), not \(value)")
            }
            options[keyPath: property] = number
        }
    }

    static func size(_ name: String, _ property: Property<Int64?>, _ meaning: String) -> MountOption {
        value(name, "SIZE", meaning) { options, value throws(DaemonOptions.Problem) in
            options[keyPath: property] = try size(name, value)
        }
    }

    static func choice<Choice: Sendable>(
        _ name: String, _ property: Property<Choice>, _ choices: [(name: String, choice: Choice)], _ meaning: String
    ) -> MountOption {
        value(name, choices.map(\.name).joined(separator: "|"), meaning) {
            options, value throws(DaemonOptions.Problem) in
            guard let (_, choice) = choices.first(where: { $0.name == value }) else {
                let list = listed(choices.map(\.name).sorted())
                throw DaemonOptions.Problem(description: "\(name) is \(list), not \(value)")
            }
            options[keyPath: property] = choice
        }
    }

    static func level(_ name: String, _ property: Property<Logger.Level>, _ meaning: String) -> MountOption {
        let levels = Logger.Level.allCases.map(\.rawValue)
        let usual = DaemonOptions()[keyPath: property].rawValue
        return value(name, "LEVEL", usage: usual, filled(meaning, listed(levels.map { "`\($0)`" }), usual: usual)) {
            options, value throws(DaemonOptions.Problem) in
            guard let level = Logger.Level(rawValue: value) else {
                throw DaemonOptions.Problem(
                    description: "\(name) is one of \(levels.joined(separator: ", ")), not \(value)")
            }
            options[keyPath: property] = level
        }
    }
}

/// Texts of the documentation.
extension MountOption {
    private static func filled(_ meaning: String, _ limits: String, usual: String = "") -> String {
        meaning.replacing("RANGE", with: limits).replacing("DEFAULT", with: usual)
    }

    private static func listed(_ names: [String]) -> String {
        names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }

    private static func documented(_ duration: Duration) -> String {
        let count = Int64(duration / .milliseconds(1))
        if count == 0 { return "0ms" }
        return count % 3_600_000 == 0 ? "\(count / 3_600_000)h" : text(duration)
    }

    /// Numbers as long as those of ports have no separators.
    private static func documented<Number: FixedWidthInteger>(_ range: ClosedRange<Number>) -> String {
        var (groups, rest) = ([String](), String(range.upperBound))
        while rest.count > 3, range.upperBound > 99_999 {
            groups.insert(String(rest.suffix(3)), at: 0)
            rest.removeLast(3)
        }
        return "\(range.lowerBound) to \(([rest] + groups).joined(separator: ","))"
    }
}
