import FileSystem
import Logging
import Model

/// The kinds of options by their values: what they take, and with which sentence they refuse the rest.
extension MountOption {
    typealias Property<Value> = any WritableKeyPath<DaemonOptions, Value> & Sendable

    static func flag(
        _ name: String, _ property: Property<Bool>, _ value: Bool, usage: String?, _ meaning: String? = nil
    ) -> MountOption {
        MountOption(name, form: nil, usage: usage, meaning) { options, _ in options[keyPath: property] = value }
    }

    /// - Parameter add: How a value joins that of an earlier option; by default it replaces it.
    static func value<Value>(
        _ name: String, _ property: Property<Value>, _ form: String, usage: String? = nil, _ meaning: String?,
        add: @escaping @Sendable (inout Value, Value) -> Void = { $0 = $1 },
        parse: @escaping @Sendable (String) throws(Problem) -> Value
    ) -> MountOption {
        MountOption(name, form: form, usage: "\(name)=\(usage ?? form)", meaning) { options, text throws(Problem) in
            add(&options[keyPath: property], try parse(text ?? ""))
        }
    }

    static func duration(
        _ name: String, _ property: Property<Duration>, _ range: ClosedRange<Duration>, _ meaning: String
    ) -> MountOption {
        let usual = documented(DaemonOptions()[keyPath: property])
        return value(name, property, "DURATION", usage: usual, filled(meaning, documented(range), usual: usual)) {
            text throws(Problem) in try duration(name, text, range)
        }
    }

    static func duration(
        _ name: String, _ property: Property<Duration?>, _ range: ClosedRange<Duration>, _ meaning: String
    ) -> MountOption {
        value(name, property, "DURATION", filled(meaning, documented(range))) {
            text throws(Problem) in try duration(name, text, range)
        }
    }

    /// - Parameter noun: What the value is, as in "a port".
    static func number<Number: FixedWidthInteger & Sendable>(
        _ name: String, _ property: Property<Number?>, _ form: String, usage: String? = nil, a noun: String,
        _ range: ClosedRange<Number>, _ meaning: String? = nil
    ) -> MountOption {
        value(name, property, form, usage: usage, meaning.map { filled($0, documented(range)) }) {
            text throws(Problem) in
            if let number = Number(text), range ~= number { return number }
            throw Problem(description: "\(name) is a \(noun), \(range.lowerBound) to \(range.upperBound), not \(text)")
        }
    }

    static func size(
        _ name: String, _ property: Property<Int64?>, floor: SizeFloor = .mebibyte, _ meaning: String
    ) -> MountOption {
        value(name, property, "SIZE", meaning) { text throws(Problem) in try size(name, text, floor: floor) }
    }

    static func choice<Choice: Sendable>(
        _ name: String, _ property: Property<Choice>, _ choices: [(name: String, choice: Choice)], _ meaning: String
    ) -> MountOption {
        value(name, property, choices.map(\.name).joined(separator: "|"), meaning) { text throws(Problem) in
            if let (_, choice) = choices.first(where: { $0.name == text }) { return choice }
            throw Problem(description: "\(name) is \(listed(choices.map(\.name).sorted())), not \(text)")
        }
    }

    static func level(_ name: String, _ property: Property<Logger.Level>, _ meaning: String) -> MountOption {
        let levels = Logger.Level.allCases.map(\.rawValue)
        let usual = DaemonOptions()[keyPath: property].rawValue
        let meaning = filled(meaning, listed(levels.map { "`\($0)`" }), usual: usual)
        return value(name, property, "LEVEL", usage: usual, meaning) { text throws(Problem) in
            if let level = Logger.Level(rawValue: text) { return level }
            throw Problem(description: "\(name) is one of \(levels.joined(separator: ", ")), not \(text)")
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
        let isInHours = count > 0 && count % 3_600_000 == 0 && count <= 86_400_000
        return count == 0 ? "0ms" : isInHours ? "\(count / 3_600_000)h" : text(duration)
    }

    private static func documented(_ range: ClosedRange<Duration>) -> String {
        let most = documented(range.upperBound)
        return range.lowerBound == .zero ? "at most \(most)" : "\(documented(range.lowerBound)) to \(most)"
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
