package import FileSystem
import Glibc
package import Logging
package import Model
import Mount

/// The options of `dewpoint mount -o`, separated by commas; of two with the same name the later one applies.
///
/// Their meanings, ranges and defaults are in the table of the page Operations, "Mount options". The default of
/// `no_download` is ``FileSystemOptions/indexersAndThumbnailers``.
package struct DaemonOptions: Hashable, Sendable {
    package var turnQuiet = Duration.milliseconds(500)
    package var turnLimit = Duration.seconds(30)
    package var presenterTimeout = Duration.seconds(60)
    package var presenterPatience = FileSystemOptions.PresenterPatience.wait
    package var refusesDeadlocks = false
    package var nonDownloadingPrograms = FileSystemOptions.indexersAndThumbnailers
    package var ignoredPatterns: [String] = []
    package var stormFileLimit: Int?
    package var stormByteLimit: Int64?
    package var cacheLimits = CacheLimits()
    package var networkTimeout = Duration.seconds(20)
    package var busyUploadInterval = Duration.seconds(300)
    package var link = Link()
    package var off: Set<FastPath> = []
    package var logLevel = Logger.Level.info
    /// `nil` for none: then only the control socket has the metrics.
    package var metricsPort: Int?
    /// `nil` for the default, which depends on the user.
    package var allowsOtherUsers: Bool?
    package var allowsNonEmpty = false
    package var isReadOnly = false
    package var systemOptions: [String] = []

    /// The link conditioner; `nil` and zero leave the link unchanged.
    package struct Link: Hashable, Sendable {
        package var delay = Duration.zero
        package var downKiBPerSecond: Int64?
        package var upKiBPerSecond: Int64?
    }

    /// Why an option is invalid, as a sentence.
    package struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package init() {}

    /// - Parameter text: The value of `-o`, for example `turn_quiet=1s,link_down=512`.
    package init(_ text: String) throws(Problem) {
        for option in IgnoreOption.parts(of: text, at: ",") where !option.isEmpty {
            let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            try set(parts[0], to: parts.count == 2 ? parts[1] : nil)
        }
    }

    private mutating func set(_ name: String, to value: String?) throws(Problem) {
        if let value { try setValue(name, value) } else { try setFlag(name) }
    }

    private mutating func setValue(_ name: String, _ value: String) throws(Problem) {
        switch name {
        case "turn_quiet": turnQuiet = try Self.duration(name, value, .milliseconds(10)...(.seconds(60)))
        case "turn_limit": turnLimit = try Self.duration(name, value, .seconds(1)...(.seconds(3600)))
        case "presenter_timeout": presenterTimeout = try Self.duration(name, value, .seconds(1)...(.seconds(3600)))
        case "presenter_patience":
            presenterPatience = try Self.choice(
                name, value,
                Dictionary(uniqueKeysWithValues: FileSystemOptions.PresenterPatience.allCases.map { ($0.rawValue, $0) })
            )
        case "no_download":
            nonDownloadingPrograms = try Self.programs(name, value)
        case "ignore": ignoredPatterns += try IgnoreOption.patterns(value)
        case "storm_files":
            guard let count = Int(value), 1...1_000_000_000 ~= count else {
                throw Problem(description: "storm_files is a number of files, 1 to 1000000000, not \(value)")
            }
            stormFileLimit = count
        case "storm_bytes": stormByteLimit = try Self.size(name, value)
        case "cache_limit": cacheLimits.byteLimit = try Self.size(name, value)
        case "free_space":
            if value.hasSuffix("%") {
                guard let percent = Int(value.dropLast()), 1...90 ~= percent else {
                    throw Problem(description: "free_space is 1% to 90%, not \(value)")
                }
                cacheLimits.freeSpace = .percent(percent)
            } else {
                cacheLimits.freeSpace = .bytes(try Self.size(name, value))
            }
        case "deadlock": refusesDeadlocks = try Self.choice(name, value, ["wait": false, "fail": true])
        case "network_timeout": networkTimeout = try Self.duration(name, value, .seconds(1)...(.seconds(3600)))
        case "busy_upload": busyUploadInterval = try Self.duration(name, value, .seconds(10)...(.seconds(86_400)))
        case "link_delay": link.delay = try Self.duration(name, value, .zero...(.seconds(60)))
        case "link_down": link.downKiBPerSecond = try Self.rate(name, value)
        case "link_up": link.upKiBPerSecond = try Self.rate(name, value)
        case "metrics_port":
            guard let port = Int(value), 1...65535 ~= port else {
                throw Problem(description: "metrics_port is a port, 1 to 65535, not \(value)")
            }
            metricsPort = port
        case "off": off.formUnion(try Self.fastPaths(value))
        case "log_level":
            guard let level = Logger.Level(rawValue: value) else {
                let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(description: "log_level is one of \(levels), not \(value)")
            }
            logLevel = level
        case _ where (Self.flagNames + Self.systemNames).contains(name):
            throw Problem(description: "\(name) takes no value")
        default: throw Self.unknown(name)
        }
    }

    private mutating func setFlag(_ name: String) throws(Problem) {
        switch name {
        case "allow_other": allowsOtherUsers = true
        case "noallow_other": allowsOtherUsers = false
        case "nonempty": allowsNonEmpty = true
        case "ro": isReadOnly = true
        case "rw": isReadOnly = false
        case _ where Self.systemNames.contains(name): systemOptions.append(name)
        case _ where Self.valueNames.contains(name):
            throw Problem(description: "\(name) needs a value, as in \(name)=…")
        default: throw Self.unknown(name)
        }
    }
}

extension DaemonOptions {
    private static let valueNames = [
        "turn_quiet", "turn_limit", "presenter_timeout", "presenter_patience", "deadlock", "no_download", "ignore",
        "storm_files", "storm_bytes", "cache_limit", "free_space", "network_timeout", "busy_upload",
        "link_delay", "link_down", "link_up", "metrics_port", "off",
        "log_level",
    ]
    private static let flagNames = ["allow_other", "noallow_other", "nonempty", "ro", "rw"]
    private static let systemNames = [
        "suid", "nosuid", "dev", "nodev", "exec", "noexec", "atime", "noatime", "diratime", "nodiratime", "sync",
        "async",
        "dirsync",
    ]

    /// All names of options.
    static let names = valueNames + flagNames + systemNames

    private static func unknown(_ name: String) -> Problem {
        if let nearest = Spelling.nearest(to: name, among: names) {
            return Problem(description: "there is no mount option \(name); did you mean \(nearest)?")
        }
        let list = (valueNames.map { "\($0)=…" } + flagNames + systemNames).joined(separator: ", ")
        return Problem(description: "there is no mount option \(name); the options are \(list)")
    }

    private static func choice<Choice>(
        _ name: String, _ value: String, _ choices: [String: Choice]
    ) throws(Problem) -> Choice {
        guard let choice = choices[value] else {
            let names = choices.keys.sorted()
            let list = names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
            throw Problem(description: "\(name) is \(list), not \(value)")
        }
        return choice
    }

    private static func fastPaths(_ value: String) throws(Problem) -> [FastPath] {
        if value == "all" { return FastPath.allCases }
        var paths: [FastPath] = []
        for name in value.split(separator: ":", omittingEmptySubsequences: false) {
            guard let path = FastPath(rawValue: String(name)) else {
                let names = FastPath.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(
                    description:
                        "off is all, or names of fast paths (\(names)), as in splice:readdirplus, not \(value)")
            }
            paths.append(path)
        }
        return paths
    }

    private static func duration(
        _ name: String, _ value: String, _ range: ClosedRange<Duration>
    ) throws(Problem) -> Duration {
        let digits = value.prefix { $0.isASCII && $0.isNumber }
        let units: [Substring: Int64] = ["ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000]
        guard let count = Int64(digits), let unit = units[value.dropFirst(digits.count)], count <= Int64.max / unit
        else {
            throw Problem(description: "\(name) is a whole number with ms, s, m or h, as in 500ms, not \(value)")
        }
        let duration = Duration.milliseconds(count * unit)
        guard range.contains(duration) else {
            throw Problem(
                description: "\(name) is \(text(range.lowerBound)) to \(text(range.upperBound)), not \(value)")
        }
        return duration
    }

    private static func size(_ name: String, _ value: String) throws(Problem) -> Int64 {
        let digits = value.prefix { $0.isASCII && $0.isNumber }
        let units: [Substring: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
        guard let count = Int64(digits), let unit = units[value.dropFirst(digits.count)],
            (1 << 20)...(1 << 60) ~= count.multipliedReportingOverflow(by: unit).partialValue,
            count <= Int64.max / unit
        else {
            throw Problem(
                description: "\(name) is a whole number with K, M, G or T, 1M or more, as in 20G, not \(value)")
        }
        return count * unit
    }

    /// In the form of the option's value.
    private static func text(_ duration: Duration) -> String {
        let count = Int64(duration / .milliseconds(1))
        return count % 1000 == 0 ? "\(count / 1000)s" : "\(count)ms"
    }

    /// Replaces the default programs, or with a `+` in front adds to them.
    private static func programs(_ name: String, _ value: String) throws(Problem) -> [String] {
        if value.isEmpty { return [] }
        let isAdding = value.hasPrefix("+")
        let programs = value.dropFirst(isAdding ? 1 : 0).split(separator: ":", omittingEmptySubsequences: false)
            .map(String.init)
        guard programs.allSatisfy({ !$0.isEmpty && !$0.hasPrefix("+") && !$0.hasPrefix("/") }) else {
            throw Problem(
                description: "\(name) takes names of programs, as in updatedb:tumblerd or +restic:borg, not \(value)")
        }
        return (isAdding ? FileSystemOptions.indexersAndThumbnailers : []) + programs
    }

    private static func rate(_ name: String, _ value: String) throws(Problem) -> Int64 {
        let limit: Int64 = 1_000_000_000
        guard let rate = Int64(value), 1...limit ~= rate else {
            throw Problem(description: "\(name) is a number of KiB per second, 1 to \(limit), not \(value)")
        }
        return rate
    }
}

extension DaemonOptions {
    var fileSystemOptions: FileSystemOptions {
        var options = FileSystemOptions()
        options.turnQuiet = turnQuiet
        options.turnLimit = turnLimit
        options.presenterTimeout = presenterTimeout
        options.presenterPatience = presenterPatience
        options.refusesDeadlocks = refusesDeadlocks
        options.nonDownloadingPrograms = nonDownloadingPrograms
        options.networkTimeout = networkTimeout
        options.busyUploadInterval = busyUploadInterval
        options.off = off
        options.ignoredPatterns = ignoredPatterns
        options.stormFileLimit = stormFileLimit
        options.stormByteLimit = stormByteLimit
        options.cacheLimits = cacheLimits
        options.isReadOnly = isReadOnly
        return options
    }

    var mountOptions: MountOptions {
        var options = MountOptions()
        options.allowsOtherUsers = allowsOtherUsers ?? options.allowsOtherUsers
        options.allowsNonEmpty = allowsNonEmpty
        options.isReadOnly = isReadOnly
        options.off = off
        options.systemOptions = systemOptions
        return options
    }
}

extension DaemonOptions.Link {
    var settings: LinkSettings {
        LinkSettings(
            delayMilliseconds: Int64(delay / .milliseconds(1)), downKiBPerSecond: downKiBPerSecond,
            upKiBPerSecond: upKiBPerSecond)
    }
}
