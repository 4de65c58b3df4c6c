import Foundation
import Model
import Testing

@testable import dewpoint

/// What commands print for people.
@Suite struct OutputTests {
    @Test func `a long path is shortened in the middle, on a terminal only`() {
        let path = "Documents/" + String(repeating: "deep/", count: 40) + "summary.pdf"
        let rows = [["SIZE", "PATH"], ["9.5 MiB", path], ["1 B", "a"]]
        let lines = TextTable.text(rows, numbers: [0], width: 60).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 60 })
        #expect(
            lines[1].hasPrefix("9.5 MiB  Documents/") && lines[1].hasSuffix("/summary.pdf") && lines[1].contains("…"))
        #expect(lines[2] == "    1 B  a")
        #expect(TextTable.text(rows, width: nil).contains(path))
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdefghij", 7, "ab…ghij"), ("abc", 1, "a"), ("abc", 0, ""), ("", 5, ""),
    ])
    func `shortening leaves the end`(text: String, width: Int, short: String) {
        #expect(text.shortened(to: width) == short)
        #expect(text.shortened(to: width).count <= width)
    }

    @Test func `times are printed in the local time zone, without fractions`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 5400))
        #expect(LocalTime.text("2026-01-31T23:00:05.123456789Z", in: zone) == "2026-02-01 00:30:05")
        #expect(LocalTime.text("2026-01-31T23:00:05Z", in: zone) == "2026-02-01 00:30:05")
        #expect(LocalTime.text("soon", in: zone) == "soon")
    }

    @Test(arguments: [(0.2, "1 s"), (59.5, "60 s"), (121, "3 min"), (7200, "2 h"), (200_000, "3 days")])
    func `a time left is rounded up`(seconds: Double, text: String) {
        #expect(LocalTime.text(seconds: seconds) == text)
    }

    @Test(
        arguments: [
            ("0s", 0), ("90s", 90), ("30m", 1800), ("12h", 43_200), ("7d", 604_800),
            ("106751991167300d", 9_223_372_036_854_720_000),
            ("106751991167301d", nil), ("7", nil), ("d", nil), ("", nil), ("-1d", nil), ("1.5h", nil), ("1w", nil),
            ("7 d", nil),
        ] as [(String, Int64?)])
    func `a length of time is a whole number with a unit`(text: String, seconds: Int64?) {
        #expect(TimePeriod(text)?.seconds == seconds)
    }

    @Test func `the notice of a link says when it ends, and why if that is early`() {
        var file = SharedFile(
            id: "5b0e", path: "a\u{1b}[2J", size: 1_300_000, created: Timestamp(seconds: 0, nanoseconds: 0),
            expires: Timestamp(seconds: 86_400, nanoseconds: 7), device: "desk", link: "https://x",
            linkExpires: Timestamp(seconds: 86_400, nanoseconds: 0))
        let end = LocalTime.text("1970-01-02T00:00:00Z")
        #expect(
            ShareText.notice(file, given: "/m/a\u{1b}[2J") == """
                anyone with this link can download /m/a\\u{1B}[2J (1.2 MiB) until \(end)
                to end it sooner: dewpoint share --revoke 5b0e
                """)
        file.linkExpires = "1970-01-01T01:00:00Z"
        #expect(
            ShareText.notice(file, given: "a").contains(
                "until \(LocalTime.text("1970-01-01T01:00:00Z")), when the credentials end that signed it"))
        file.link = "https://x#2.k.n"
        #expect(ShareText.notice(file, given: "a").contains("\nits key is in the link: pass on all of it\nto end it"))
        file.link = nil
        #expect(ShareText.table([file], width: nil).contains("ended"))
    }

    @Test func `an error of an item is a line of its own, and no column is as long as it`() {
        var status = ItemStatus(path: "a", kind: .file)
        status.logicalSize = 3
        status.downloadingStatus = .notDownloaded
        status.percentDownloaded = 0
        status.downloadRequested = true
        status.downloadingError = ItemFault(code: 4355, text: "the store does not answer")
        #expect(
            ItemTable.text([("a", status)], width: nil) == """
                STATUS         LOCAL  SIZE  FLAGS             PATH
                NotDownloaded     0%   3 B  requested, error  a
                a: the store does not answer
                """)
    }

    // MARK: Totals

    private var totals: ItemTotals {
        var totals = ItemTotals()
        totals.itemCount = 10
        totals.localItemCount = 8
        totals.fileCount = 6
        totals.byteCount = 3 << 20
        totals.localFileCount = 4
        totals.localByteCount = 1 << 20
        return totals
    }

    @Test func `totals end with whether it is safe to shut down`() {
        var totals = totals
        #expect(TotalsText.verdict(totals) == "safe to shut down: everything is uploaded")
        // The problem may be that the store has lost what was uploaded.
        #expect(
            TotalsText.verdict(totals, problem: "the store has lost its log")
                == "not known to be safe: everything was uploaded, but there is a problem: the store has lost its log")
        totals.uploads.pendingCount = 2
        totals.uploads.pendingByteCount = 2048
        #expect(!TotalsText.verdict(totals, problem: "the store has lost its log").contains("safe"))
        #expect(TotalsText.verdict(totals).hasPrefix("not uploaded yet: 2 changes (2.0 KiB), on this device only"))
        #expect(!TotalsText.verdict(totals).contains("safe"))
        #expect(TotalsText.verdict(totals).hasSuffix("a shutdown keeps them, and the next mount uploads them"))
        #expect(
            TotalsText.verdict(totals, isStuck: true).hasSuffix(
                "a shutdown keeps them, and a mount that may write uploads them"))
        totals.uploads = TransferTotals()
        totals.isPartial = true
        #expect(!TotalsText.verdict(totals).contains("safe"))
    }

    @Test func `transfers are described with their speed and the time left`() {
        var totals = totals
        totals.downloads.pendingCount = 2
        totals.downloads.pendingByteCount = 4 << 20
        totals.downloads.activeCount = 1
        totals.downloads.activeByteCount = 3 << 20
        totals.downloads.activeDoneByteCount = 1 << 20
        totals.downloads.bytesPerSecond = Double(1 << 20)
        totals.downloads.estimate()
        #expect(totals.downloads.secondsLeft == 3)
        #expect(
            TotalsText.lines(TotalsText.rows(totals, path: "/mnt")) == [
                "  items      10, 8 of them local", "  files      6 with 3.0 MiB, 4 with 1.0 MiB local",
                "  downloads  2 files (4.0 MiB), 1 under way: 1.0 MiB of 3.0 MiB, 1.0 MiB/s, 3 s left",
            ])
    }

    // MARK: Progress

    private func progress(_ done: Int64, of total: Int64, files: Int = 0, of count: Int = 1) -> DownloadProgress {
        DownloadProgress(bytesDone: done, bytesTotal: total, filesDone: files, filesTotal: count)
    }

    @Test(arguments: [30, 40, 60, 80, 200])
    func `a progress bar fits the terminal`(width: Int) {
        let display = ProgressDisplay(name: String(repeating: "long name ", count: 20), noun: "file")
        let now = progress(3 << 30, of: 9 << 30, files: 100, of: 20_000)
        let line = display.line(now, speed: 1_234_567, width: width)
        #expect(line.count < width && line.contains("33%"), "\(line)")
    }

    @Test func `a progress bar shows bytes, items, speed and time left`() {
        let display = ProgressDisplay(name: "Photos", noun: "file")
        #expect(
            display.line(progress(1 << 20, of: 4 << 20, files: 2, of: 5), speed: Double(1 << 20), width: 120)
                == "Photos  [#######·······················]   25%  1.0 MiB of 4.0 MiB  2 of 5 files  1.0 MiB/s  3 s left"
        )
        #expect(display.line(progress(4, of: 4), speed: nil, width: 80).contains("  99%"), "not complete yet")
        #expect(display.line(progress(4, of: 4, files: 1), speed: nil, width: 80).contains(" 100%"))
        #expect(display.line(progress(0, of: 0, files: 0, of: 0), speed: nil, width: 80).contains(" 100%"))
    }

    @Test func `nothing is shown where there is no terminal`() throws {
        let pipe = Pipe()
        var display = ProgressDisplay(name: "a", noun: "file", output: pipe.fileHandleForWriting) { nil }
        display.show(progress(1, of: 2), isLast: true)
        display = ProgressDisplay(name: "a", noun: "file", output: pipe.fileHandleForWriting) { 80 }
        display.show(progress(2, of: 2, files: 1), isLast: true)
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: try #require(try pipe.fileHandleForReading.readToEnd()), as: UTF8.self)
        #expect(text.hasPrefix("\ra  [") && text.hasSuffix("\u{1b}[K\n"), "only the second")
        #expect(text.split(separator: "\r").count == 1)
    }

    @Test func `what is added during a wait for uploads counts, and progress never goes back`() {
        var state = UploadWait.State()
        func add(_ count: Int, _ bytes: Int64, active: Int64 = 0) -> DownloadProgress {
            var uploads = TransferTotals()
            uploads.pendingCount = count
            uploads.pendingByteCount = bytes
            uploads.activeDoneByteCount = active
            return state.add(uploads)
        }
        #expect(add(2, 100) == progress(0, of: 100, files: 0, of: 2))
        #expect(add(2, 100, active: 30) == progress(30, of: 100, files: 0, of: 2))
        #expect(add(1, 60) == progress(40, of: 100, files: 1, of: 2))
        #expect(add(3, 80) == progress(40, of: 120, files: 1, of: 4), "two more")
        #expect(add(0, 0) == progress(120, of: 120, files: 4, of: 4))
    }

    // MARK: Evictions

    @Test func `an eviction says what was freed, what stayed and why`() throws {
        var report = EvictionReport(path: "d")
        report.evictedCount = 1
        report.freedByteCount = 4096
        report.evicted = ["d/a"]
        #expect(EvictionText.text(report, given: "d") == "d: freed 4.0 KiB in 1 file: d/a")
        #expect(EvictionText.failure(report, path: { $0 }) == nil)
        report.stayedCount = 2
        report.stayed = [.init(path: "d/b", reason: "b is pinned"), .init(path: "d/c", reason: "c is open")]
        let failure = try #require(EvictionText.failure(report, path: { "/mnt/\($0)" }))
        #expect(failure.status == .busy && failure.sentence == "2 files stayed")
        #expect(failure.log == ["/mnt/d/b: b is pinned", "/mnt/d/c: c is open"])
        #expect(
            EvictionText.text(EvictionReport(path: "d"), given: "d") == "d: nothing freed: nothing of it is downloaded")
    }

    @Test func `conflicts are those below the path, in bytes`() {
        #expect(ConflictsCommand.isInside("a/b", "a") && ConflictsCommand.isInside("a", "a"))
        #expect(ConflictsCommand.isInside("a", "") && !ConflictsCommand.isInside("ab", "a"))
    }

    @Test func `the reasons of an item are printed one a line`() {
        var reasons = ItemReasons(
            path: "a", kind: .file, isLocal: true,
            download: DownloadOrigin(
                cause: "read by tumblerd(812)", requested: "2026-01-31T12:00:00Z", arrived: "2026-01-31T12:00:03Z"))
        reasons.localBecause = ["downloaded: read by tumblerd(812)"]
        reasons.staysBecause = ["it is pinned", "it is open"]
        reasons.rules = [
            AppliedRule(rule: .evictAfter, value: "7d", source: "attribute", directory: "Photos/\u{1B}raw"),
            AppliedRule(rule: .keepRecent, value: "off", source: "path", directory: "Photos"),
            AppliedRule(rule: .downloadSmall, value: "1M", source: "mount", directory: ""),
        ]
        let (start, end) = (LocalTime.text("2026-01-31T12:00:00Z"), LocalTime.text("2026-01-31T12:00:03Z"))
        #expect(
            WhyCommand.text(reasons, given: "Photos/a") == """
                Photos/a
                  local      yes: downloaded: read by tumblerd(812)
                  download   read by tumblerd(812), requested \(start), complete \(end)
                  evictable  no: it is pinned
                             no: it is open
                  rules      evict_after=7d, set on Photos/\\u{1B}raw
                             keep_recent=off, for Photos by the mount's rules
                             download_small=1M, a mount option
                  held by    nobody
                  waits for  nothing
                """)
    }
}
