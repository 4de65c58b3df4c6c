import Coordination
import FileSystem
import Logging
import Model
import Mount

/// The table of all options.
///
/// In a sentence, `RANGE` stands for the valid values and `DEFAULT` for the value unless given.
extension MountOption {
    package static let all =
        [
            duration(
                "turn_quiet", \.fileSystem.locks.quiet, .milliseconds(10)...(.seconds(60)),
                "How long it may do so without a write: RANGE, DEFAULT unless given."),
            duration(
                "turn_limit", \.fileSystem.locks.turn, .seconds(1)...(.seconds(3600)),
                "How long a program may rewrite a file that another one waits to rewrite: RANGE, DEFAULT unless given."),
            duration(
                "network_timeout", \.fileSystem.networkTimeout, .seconds(1)...(.seconds(3600)),
                "How long reads and commands keep trying while the store does not answer: RANGE, DEFAULT unless given."),
            duration(
                "busy_upload", \.fileSystem.busyUploadInterval, .seconds(10)...(.seconds(86_400)),
                "How long a file may be written without a pause before a copy of it is uploaded, and how often from then "
                    + "on: RANGE, DEFAULT unless given."),
            duration(
                "heartbeat", \.fileSystem.heartbeat,
                .seconds(Commit.heartbeatRange.lowerBound)...(.seconds(Commit.heartbeatRange.upperBound)),
                "How long this device never goes without a commit, an empty one if need be, RANGE: the other devices report "
                    + "when it has kept silent for twice as long. None unless given."),
            value(
                "ignore", \.fileSystem.ignoredPatterns, "PATTERN:…",
                "Keeps new names that match a pattern of gitignore(5) on this machine; more of these options add to it. "
                    + #"`\:`, `\,` and `\\` stand for a colon, a comma and a backslash."#,
                add: { $0 += $1 }, parse: IgnoreOption.patterns),
            duration(
                "presenter_timeout", \.fileSystem.locks.claims.presenterTimeout, .seconds(1)...(.seconds(3600)),
                "The time that a presenter has to answer: RANGE, DEFAULT unless given."),
            choice(
                "presenter_patience", \.fileSystem.locks.claims.patience,
                ClaimLimits.Patience.allCases.map { ($0.rawValue, $0) },
                "What happens to a claim whose presenter does not answer in time: it waits on, which is the default, "
                    + "fails, or goes ahead."),
            choice(
                "deadlock", \.fileSystem.locks.claims.refusesDeadlocks, [("wait", false), ("fail", true)],
                "Whether the last request of a deadlock among claims waits, which is the default, or is refused with "
                    + "`EDEADLK`."),
            value(
                "no_download", \.fileSystem.nonDownloadingPrograms, "PROGRAM:…", usage: "[+]PROGRAM:…",
                "Programs, as `PROGRAM`, `PROGRAM/ARGUMENT` or `PROGRAM#THREAD`, with their child processes, whose reads "
                    + "never download anything: they fail with `EDEADLK`. Unless given, known thumbnailers and indexers; "
                    + "`+PROGRAM:…` adds to these, an empty value allows all.", parse: programs),
            number(
                "storm_files", \.fileSystem.stormFileLimit, "N", a: "number of files", 1...1_000_000_000,
                "The same, in files: RANGE."),
            size(
                "storm_bytes", \.fileSystem.stormByteLimit,
                "The bytes that a process group may download by reading within a minute, before its reads are held. No "
                    + "limit unless given."),
            size(
                "download_small", \.fileSystem.smallFileLimit, floor: .kibibyte,
                "Files of other devices up to this size are downloaded by themselves, in the background, the newest first, into "
                    + "room that is there: nothing is evicted for them, and what was evicted comes again only once it is "
                    + "changed elsewhere. None unless given."),
            size(
                "cache_limit", \.fileSystem.cacheLimits.byteLimit,
                "The most disk space that local files may take, before the least recently used ones are evicted. No limit "
                    + "unless given."),
            value(
                "free_space", \.fileSystem.cacheLimits.freeSpace, "SIZE|PERCENT",
                "The disk space that evictions try to keep free, or a share of the disk, \(text(percents)). None unless "
                    + "given.", parse: freeSpace),
            duration(
                "evict_after", \.fileSystem.cacheLimits.evictAfter, unused,
                "How long a local file goes without being opened before it is evicted, RANGE; pinned and changed files stay. "
                    + "Counted from when it was last opened, closed or downloaded, and from the first mount with this or "
                    + "another limit. None unless given."),
            duration(
                "keep_recent", \.fileSystem.cacheLimits.keepRecent, unused,
                "Files that were opened within this time, RANGE, are not evicted by `cache_limit` and `free_space`; a full "
                    + "disk evicts them all the same, after the others. None unless given."),
            value(
                "rules", \.fileSystem.directoryRules, "DIRECTORY:RULE=VALUE:…",
                "Rules for a directory of the mount and what is in it: `evict_after`, `keep_recent`, `download_small`, each as "
                    + "above or `off`; more of these options add to them. `\\:`, `\\,` and `\\\\` stand for a colon, a comma and a "
                    + "backslash. See <doc:#Rules-for-directories>.",
                add: { $0 = RulesOption.joining($0, $1) }, parse: RulesOption.rules),
            duration(
                "link_delay", \.link.delay, .zero...(.seconds(60)),
                "Link conditioner: the time from a request to the first byte of its answer, RANGE. DEFAULT unless given."
            ),
            number(
                "link_down", \.link.downKiBPerSecond, "RATE", usage: "KIB_PER_S", a: "number of KiB per second", rates,
                "The most that all downloads or uploads may take together, in KiB per second, RANGE. No limit unless given."
            ),
            number("link_up", \.link.upKiBPerSecond, "RATE", usage: "KIB_PER_S", a: "number of KiB per second", rates),
            number(
                "metrics_port", \.metricsPort, "PORT", a: "port", 1...65535,
                "Serves metrics and health at this port of 127.0.0.1, RANGE, to every user of this machine: 64 connections "
                    + "at a time, each for 10 s at most. None unless given."),
            value(
                "hint_peer", \.hints.peers, "HOST[:PORT]",
                "A device in another network, with its `hint_port`, that is told of this one's commits; more of these options "
                    + "add to it, 64 at most. Devices in the same network hear each other without it.",
                add: { $0 += $1 }, parse: hintPeer),
            number(
                "hint_port", \.hints.port, "PORT", a: "port", 1...65535,
                "The UDP port, RANGE, at which this device hears others that name it with `hint_peer`. None unless given."
            ),
            value(
                "notify", \.hints.notifications, "ADDRESS:PORT",
                "Where the store may report new objects with a POST, like S3's bucket notifications. Nowhere unless given.",
                parse: notifications),
            value(
                "off", \.off, "FAST_PATH:…",
                "Turns fast paths off, or `all` of them, to look for the cause of a problem; more of these options add to "
                    + "it.", add: { $0.formUnion($1) }, parse: fastPaths),
            level(
                "log_level", \.logLevel,
                "What is logged: RANGE. `DEFAULT` unless given; `debug` and `trace` name files."),
            flag(
                "allow_other", \.mount.allowsOtherUsers, true, usage: "allow_other or noallow_other",
                "Whether other users of this machine may use the mount, as the permissions of the items allow. Only "
                    + "root's mounts do unless told to."),
            flag("noallow_other", \.mount.allowsOtherUsers, false, usage: nil),
            flag(
                "nonempty", \.mount.allowsNonEmpty, true, usage: "nonempty",
                "Mounts over a directory that is not empty."),
            flag(
                "ro", \.isReadOnly, true, usage: "ro",
                "Whether the mount refuses changes. It takes them unless told otherwise, or unless the store refuses them."
            ),
            flag("rw", \.isReadOnly, false, usage: nil),
            flag(
                "survive", \.survives, true, usage: "survive",
                "Starts the daemon anew when it is killed, so that programs on the mount do not notice. Needs Linux 6.9. Not "
                    + "unless given."),
        ] + systemOptions

    private static let unused = DirectoryRule.durations
    private static let rates: ClosedRange<Int64> = 1...1_000_000_000

    /// Those of mount(8).
    private static let systemOptions = [
        "suid", "nosuid", "dev", "nodev", "exec", "noexec", "atime", "noatime", "diratime", "nodiratime", "sync",
        "async",
        "dirsync",
    ].map { name in
        MountOption(
            name, form: nil, usage: ["nosuid", "nodev", "noexec", "noatime"].contains(name) ? name : nil,
            name == "suid" ? "As in mount(8)." : nil, isSystemOption: true
        ) { options, _ in options.mount.systemOptions.append(name) }
    }
}
