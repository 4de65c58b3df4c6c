import Coordination
import DocumentationTables
import FileSystem
import Logging
import Model
import Mount
import Testing

@testable import Daemon

@Suite struct DaemonOptionsTests {
    @Test func `an empty option string gives the defaults`() throws {
        #expect(try DaemonOptions("") == DaemonOptions())
    }

    @Test func `every option sets its value`() throws {
        let options = try DaemonOptions(
            "turn_quiet=1s,turn_limit=2m,network_timeout=1h,link_delay=30ms,link_down=512,link_up=64,off=splice:readdirplus,off=passthrough,"
                + "log_level=debug,noallow_other,nonempty,ro,nosuid,noexec,presenter_timeout=5s,presenter_patience=skip,deadlock=fail"
        )
        var expected = DaemonOptions()
        expected.fileSystem.locks.quiet = .seconds(1)
        expected.fileSystem.locks.turn = .seconds(120)
        expected.fileSystem.networkTimeout = .seconds(3600)
        expected.fileSystem.locks.claims.presenterTimeout = .seconds(5)
        expected.fileSystem.locks.claims.patience = .skip
        expected.fileSystem.locks.claims.refusesDeadlocks = true
        expected.link.delay = .milliseconds(30)
        expected.link.downKiBPerSecond = 512
        expected.link.upKiBPerSecond = 64
        expected.off = [.splice, .readdirplus, .passthrough]
        expected.logLevel = .debug
        expected.mount.allowsOtherUsers = false
        expected.mount.allowsNonEmpty = true
        expected.isReadOnly = true
        expected.mount.systemOptions = ["nosuid", "noexec"]
        #expect(options == expected)
    }

    @Test func `all fast paths can be turned off at once`() throws {
        #expect(try DaemonOptions("off=all").off == Set(FastPath.allCases))
    }

    @Test func `no_download replaces, extends or clears the default list of programs`() throws {
        let usual = FileSystemOptions.indexersAndThumbnailers
        #expect(usual.contains("updatedb") && usual.contains("tumblerd"))
        #expect(try DaemonOptions("").fileSystem.nonDownloadingPrograms == usual)
        #expect(try DaemonOptions("no_download=restic:borg").fileSystem.nonDownloadingPrograms == ["restic", "borg"])
        #expect(
            try DaemonOptions("no_download=+restic:borg").fileSystem.nonDownloadingPrograms == usual + [
                "restic", "borg",
            ])
        #expect(try DaemonOptions("no_download=").fileSystem.nonDownloadingPrograms == [])
    }

    @Test func `patterns to ignore add up, and may contain colons, commas and backslashes`() throws {
        #expect(
            try DaemonOptions("ignore=node_modules/:*.o,ro,ignore=!a.o").fileSystem.ignoredPatterns
                == ["node_modules/", "*.o", "!a.o"])
        #expect(try DaemonOptions("ignore=a").fileSystem.ignoredPatterns == ["a"])
        #expect(try DaemonOptions("ignore=\u{301}").fileSystem.ignoredPatterns == ["\u{301}"])
        // A separator before a combining mark is one, too.
        let patterns = [
            "a:b", "c,d", "\\#e", "f\\:g", "h\\", "[[:alpha:]]", "i=j", "\\\\,k", "\u{301}l", "m:\u{301}", "\\\u{301}n",
        ]
        #expect(try DaemonOptions("ro,\(IgnoreOption.text(patterns)),nosuid").fileSystem.ignoredPatterns == patterns)
        #expect(try DaemonOptions("ignore=\\#a").fileSystem.ignoredPatterns == ["\\#a"])
    }

    @Test(arguments: [
        "ignore=", "ignore=a:", "ignore=a::b", "ignore= ", "ignore=a\u{1}", "ignore", "ignore=**/a/**/**/**/**/**/**/b",
        "ignore=**\u{301}/**\u{301}/**\u{301}/**\u{301}/**\u{301}/**\u{301}/**\u{301}/b",
    ])
    func `a pattern that cannot be one is refused`(_ option: String) {
        #expect(throws: DaemonOptions.Problem.self) { try DaemonOptions(option) }
    }

    @Test func `rules of directories add up, and their paths may contain colons, commas and backslashes`() throws {
        let rules = try DaemonOptions(
            #"rules=a\:b\,c\\d/e:evict_after=7d:download_small=off,ro,rules=f:keep_recent=90s"#
        )
        .fileSystem.directoryRules
        #expect(rules.map(\.path) == [#"a:b,c\d/e"#, "f"])
        #expect(rules[0].limits == [.evictAfter: .init(.seconds(7 * 86_400)), .downloadSmall: .off])
        #expect(rules[1].limits == [.keepRecent: .init(.seconds(90))])
        #expect(
            try DaemonOptions(rules.map(RulesOption.text).joined(separator: ",")).fileSystem.directoryRules == rules)
        // Of two for one directory, the later one applies.
        let joined = try DaemonOptions("rules=a/:evict_after=7d:keep_recent=7d,rules=a:evict_after=off")
            .fileSystem.directoryRules
        #expect(
            joined == [try PathRules(path: "a", limits: [.evictAfter: .off, .keepRecent: .init(.seconds(604_800))])])
        // A composed and a decomposed name are two.
        #expect(
            try DaemonOptions("rules=\u{e9}:evict_after=7d,rules=e\u{301}:evict_after=7d").fileSystem.directoryRules
                .count
                == 2)
    }

    @Test(arguments: [
        ("rules=", "rules is a directory and its rules, as in rules=Pictures/raw:evict_after=7d, not "),
        ("rules=a", "rules is a directory and its rules, as in rules=Pictures/raw:evict_after=7d, not a"),
        (
            "rules=a:evict_after",
            "evict_after is off, or a whole number with s, m, h or d, 60s to 3650d, as in 30d, not "
        ),
        ("rules=a:evict_afer=7d", "there is no rule evict_afer for a directory; did you mean evict_after?"),
        (
            "rules=a:pinned=1",
            "there is no rule pinned for a directory; the rules are evict_after, keep_recent, download_small"
        ),
        (
            "rules=/a:evict_after=7d",
            "the path of a directory with rules is relative to the mount, as in Pictures/raw, not /a"
        ),
        (
            "rules=:evict_after=7d",
            "the path of a directory with rules is relative to the mount, as in Pictures/raw, not "
        ),
        ("rules=a/../b:evict_after=7d", "the path a/../b has a part that is no name of a directory"),
    ])
    func `a rule that cannot be one is refused`(_ option: String, _ sentence: String) {
        #expect(throws: DaemonOptions.Problem(description: sentence)) { try DaemonOptions(option) }
    }

    @Test func `there are rules for a thousand directories at most`() {
        let options = (0...1000).map { "rules=\($0):evict_after=7d" }
        #expect(throws: Never.self) { try DaemonOptions(options.dropLast().joined(separator: ",")) }
        #expect(throws: DaemonOptions.Problem(description: "there are rules for at most 1000 directories, not 1001")) {
            try DaemonOptions(options.joined(separator: ","))
        }
    }

    @Test func `cache limits and download throttle limits are parsed`() throws {
        let options = try DaemonOptions("cache_limit=20G,free_space=512M,storm_files=500,storm_bytes=2T")
            .fileSystem
        #expect(options.cacheLimits == CacheLimits(byteLimit: 20 << 30, freeSpace: .bytes(512 << 20)))
        #expect(options.stormFileLimit == 500 && options.stormByteLimit == 2 << 40)
        #expect(try DaemonOptions("download_small=1K").fileSystem.smallFileLimit == 1024)
        #expect(
            try DaemonOptions("free_space=5%,cache_limit=1024K").fileSystem.cacheLimits
                == CacheLimits(byteLimit: 1 << 20, freeSpace: .percent(5)))
        let usual = try DaemonOptions("").fileSystem
        #expect(usual.cacheLimits == CacheLimits() && usual.stormFileLimit == nil && usual.stormByteLimit == nil)
    }

    @Test func `how long files are kept is given in days`() throws {
        let limits = try DaemonOptions("evict_after=30d,keep_recent=7d").fileSystem.cacheLimits
        #expect(limits == CacheLimits(evictAfter: .seconds(30 * 86_400), keepRecent: .seconds(7 * 86_400)))
    }

    @Test func `the last of several conflicting options wins`() throws {
        #expect(try DaemonOptions("ro,rw,link_up=1,link_up=2").link.upKiBPerSecond == 2)
        #expect(try DaemonOptions("ro,rw").isReadOnly == false)
    }

    @Test(arguments: [
        ("turn_quiet=9ms", "turn_quiet is 10ms to 60s, not 9ms"),
        ("turn_quiet=61s", "turn_quiet is 10ms to 60s, not 61s"),
        ("turn_quiet=5", "turn_quiet is a whole number with ms, s, m, h or d, as in 500ms, not 5"),
        ("turn_limit=-1s", "turn_limit is a whole number with ms, s, m, h or d, as in 500ms, not -1s"),
        (
            "turn_limit=9223372036854775807h",
            "turn_limit is a whole number with ms, s, m, h or d, as in 500ms, not 9223372036854775807h"
        ),
        ("link_down=0", "link_down is a number of KiB per second, 1 to 1000000000, not 0"),
        (
            "off=splice:fast",
            "off is all, or names of fast paths (passthrough, kernel_cache, metadata_cache, readdirplus, killpriv, "
                + "parallel_requests, splice, read_ahead, parallel_downloads, pack_windows, file_heads, watch_events, hints), as in "
                + "splice:readdirplus, not splice:fast"
        ),
        (
            "off=",
            "off is all, or names of fast paths (passthrough, kernel_cache, metadata_cache, readdirplus, killpriv, "
                + "parallel_requests, splice, read_ahead, parallel_downloads, pack_windows, file_heads, watch_events, hints), as in "
                + "splice:readdirplus, not "
        ),
        ("evict_after=59s", "evict_after is 60s to 3650d, not 59s"),
        ("keep_recent=3651d", "keep_recent is 60s to 3650d, not 3651d"),
        ("keep_recent=1w", "keep_recent is a whole number with ms, s, m, h or d, as in 500ms, not 1w"),
        ("presenter_timeout=0s", "presenter_timeout is 1s to 3600s, not 0s"),
        ("presenter_patience=never", "presenter_patience is fail, skip or wait, not never"),
        ("deadlock=maybe", "deadlock is fail or wait, not maybe"),
        ("turn_quiet", "turn_quiet needs a value, as in turn_quiet=…"),
        ("cache_limit=20", "cache_limit is a whole number with K, M, G or T, 1M or more, as in 20G, not 20"),
        ("cache_limit=1023K", "cache_limit is a whole number with K, M, G or T, 1M or more, as in 20G, not 1023K"),
        ("download_small=5", "download_small is a whole number with K, M, G or T, 1K or more, as in 500K, not 5"),
        ("cache_limit=-1G", "cache_limit is a whole number with K, M, G or T, 1M or more, as in 20G, not -1G"),
        (
            "storm_bytes=9223372036854775807T",
            "storm_bytes is a whole number with K, M, G or T, 1M or more, as in 20G, not 9223372036854775807T"
        ),
        ("free_space=0%", "free_space is 1% to 90%, not 0%"),
        ("free_space=91%", "free_space is 1% to 90%, not 91%"),
        ("free_space=5", "free_space is a whole number with K, M, G or T, 1M or more, as in 20G, not 5"),
        ("storm_files=0", "storm_files is a number of files, 1 to 1000000000, not 0"),
        ("no_download", "no_download needs a value, as in no_download=…"),
        ("no_download=+", "no_download takes names of programs, as in updatedb:tumblerd or +restic:borg, not +"),
        ("no_download=a::b", "no_download takes names of programs, as in updatedb:tumblerd or +restic:borg, not a::b"),
        ("no_download=a:+b", "no_download takes names of programs, as in updatedb:tumblerd or +restic:borg, not a:+b"),
    ])
    func `an invalid value is rejected with the accepted range or format`(text: String, sentence: String) {
        #expect(throws: DaemonOptions.Problem(description: sentence)) { try DaemonOptions(text) }
    }

    @Test(arguments: [
        ("cachelimit=1G", "there is no mount option cachelimit; did you mean cache_limit?"),
        ("alow_other", "there is no mount option alow_other; did you mean allow_other?"),
        ("allow_other=1", "allow_other takes no value"),
        ("nosuid=", "nosuid takes no value"),
    ])
    func `what was probably meant is suggested`(text: String, sentence: String) {
        #expect(throws: DaemonOptions.Problem(description: sentence)) { try DaemonOptions(text) }
    }

    @Test(arguments: ["bogus", "bogus=1", "Session_quiet=1s"])
    func `an unknown option is rejected with a list of the known ones`(text: String) throws {
        let problem = try #require(throws: DaemonOptions.Problem.self) { try DaemonOptions(text) }
        #expect(problem.description.contains("turn_quiet=…"))
        #expect(problem.description.contains("allow_other"))
    }

    @Test func `the Operations page explains every option as it is declared`() throws {
        let declared = MountOption.documentation.map(DocumentationTable.line)
        #expect(
            try DocumentationTable(page: "Operations", columns: ["option", "meaning"]).lines(declared: declared)
                == declared)
    }
}
