package import FileSystem
package import Logging
package import Model
package import Mount

/// The values of the options of `dewpoint mount -o`, separated by commas; of two with the same name the later one
/// applies. ``MountOption/all`` declares them.
package struct DaemonOptions: Hashable, Sendable {
    package var fileSystem = FileSystemOptions()
    package var mount = MountOptions()
    package var link = Link()
    package var hints = Hints()
    package var logLevel = Logger.Level.info
    /// `nil` for none: then only the control socket has the metrics.
    package var metricsPort: Int?
    /// Whether a daemon that is killed is replaced, so that programs on the mount do not notice.
    package var survives = false

    /// The link conditioner; `nil` and zero leave the link unchanged.
    package struct Link: Hashable, Sendable {
        package var delay = Duration.zero
        package var downKiBPerSecond: Int64?
        package var upKiBPerSecond: Int64?
    }

    /// How this device hears of commits besides the store; see ``HintService``.
    package struct Hints: Hashable, Sendable {
        /// The most devices that are told by name: 64.
        package static let peerLimit = 64

        package var peers: [HintAddress] = []
        /// Where it hears devices that have its name; `nil` for nowhere.
        package var port: Int?
        /// Where the store may call; `nil` for nowhere.
        package var notifications: HintAddress?
    }

    /// Why an option is invalid, as a sentence.
    package struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package init() { fileSystem.nonDownloadingPrograms = FileSystemOptions.indexersAndThumbnailers }

    /// - Parameter text: The value of `-o`, for example `turn_quiet=1s,link_down=512`.
    package init(_ text: String) throws(Problem) {
        self.init()
        for text in OptionList.parts(of: text, at: ",") where !text.isEmpty {
            let parts = text.splitBytes(at: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map(String.init)
            guard let option = MountOption.named(parts[0]) else { throw Self.unknown(parts[0]) }
            try option.set(&self, to: parts.count == 2 ? parts[1] : nil)
        }
        guard fileSystem.directoryRules.count <= PathRules.countLimit else {
            throw Problem(
                description: "there are rules for at most \(PathRules.countLimit) directories, not "
                    + "\(fileSystem.directoryRules.count)")
        }
        guard hints.peers.count <= Hints.peerLimit else {
            throw Problem(description: "there are at most \(Hints.peerLimit) of hint_peer, not \(hints.peers.count)")
        }
    }

    private static func unknown(_ name: String) -> Problem {
        if let nearest = Spelling.nearest(to: name, among: MountOption.all.map(\.name)) {
            return Problem(description: "there is no mount option \(name); did you mean \(nearest)?")
        }
        return Problem(description: "there is no mount option \(name); the options are \(MountOption.list)")
    }
}

extension DaemonOptions {
    /// Both the kernel and the file system refuse changes.
    package var isReadOnly: Bool {
        get { fileSystem.isReadOnly }
        set { (fileSystem.isReadOnly, mount.isReadOnly) = (newValue, newValue) }
    }

    /// Patterns of new items that stay on this machine, after the usual ones.
    package var ignoredPatterns: [String] { fileSystem.ignoredPatterns }

    /// Fast paths of the kernel and of the file system that are turned off.
    package var off: Set<FastPath> {
        get { fileSystem.off }
        set { (fileSystem.off, mount.off) = (newValue, newValue) }
    }
}

extension DaemonOptions.Link {
    var settings: LinkSettings {
        LinkSettings(
            delayMilliseconds: Int64(delay / .milliseconds(1)), downKiBPerSecond: downKiBPerSecond,
            upKiBPerSecond: upKiBPerSecond)
    }
}
