import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Reading") struct Reading {
        /// A link on which a download of a few MiB takes seconds.
        private static let slowLink = "link_down=2048"

        @Test func `a placeholder has the size of its file, and reading it downloads the bytes`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let size = 3 << 20 + 17
                let hash = try await a.placeholder("Photos/a b.jpg", byteCount: size)
                #expect(try await a.downloadingStatus("Photos/a b.jpg") == .notDownloaded)
                #expect(try await a.call("stat", "Photos/a%20b.jpg") == "OK \(size)")
                #expect(try listing(a.backing + "/Photos") == [".a b.jpg.icloud"])
                #expect(try await a.sha256("Photos/a b.jpg") == hash)
                try await eventually("the file is Current once it was read") {
                    try await a.downloadingStatus("Photos/a b.jpg") == .current
                }
                #expect(try listing(a.backing + "/Photos") == ["a b.jpg"])
            }
        }

        @Test(arguments: [0, 1, 4096, 1 << 20, 1 << 20 + 1, 70 << 20])
        func `files of every size are downloaded unchanged`(byteCount: Int) async throws {
            try await MountedContainer.with { container in
                let hash = try await container.a.placeholder("f", byteCount: byteCount)
                #expect(try await container.a.call("stat", "f") == "OK \(byteCount)")
                #expect(try await container.a.sha256("f") == hash)
            }
        }

        @Test func `a placeholder contains Apple's three property list keys`() async throws {
            try await MountedContainer.with { container in
                _ = try await container.a.placeholder("lesson1.pdf", byteCount: 206_739)
                let printed = try await Command.check([
                    Requirement.python, "-c",
                    """
                    import plistlib, sys
                    keys = plistlib.load(open(sys.argv[1], "rb"))
                    print(keys["NSURLNameKey"], keys["NSURLFileSizeKey"], keys["NSURLFileResourceTypeKey"])
                    """, container.a.backing + "/.lesson1.pdf.icloud",
                ])
                #expect(printed == "lesson1.pdf 206739 NSURLFileResourceTypeRegular\n")
            }
        }

        @Test func `a hundred readers of one file cause one download`() async throws {
            try await MountedContainer.with(options: Self.slowLink) { container in
                let a = container.a
                let hash = try await a.placeholder("f", byteCount: 6 << 20)
                // A hundred downloads over this link would take five minutes.
                let printed = try await Command.script(
                    #"for n in $(seq 100); do sha256sum "$1" & done | sort | uniq -c; wait"#, a.path("f"),
                    limit: .seconds(25))
                #expect(printed.contains("100 \(hash)"), "\(printed)")
            }
        }

        @Test func `percentDownloaded takes intermediate values during a download`() async throws {
            try await MountedContainer.with(options: Self.slowLink) { container in
                let a = container.a
                _ = try await a.placeholder("f", byteCount: 8 << 20)
                try await a.set("download", "1", on: "f")
                var seen: Set<Double> = []
                try await eventually("the download ends") {
                    let status = try await a.status("f")
                    if status.percentDownloaded > 0, status.percentDownloaded < 100 {
                        seen.insert(status.percentDownloaded)
                        #expect(status.downloadingStatus == .notDownloaded)
                        #expect(status.isDownloading)
                    }
                    return status.downloadingStatus == .current
                }
                #expect(seen.count >= 3, "only \(seen.sorted())")
                #expect(try await a.attribute("percentDownloaded", of: "f") == "100")
            }
        }

        @Test func `a read returns as soon as its range is downloaded`() async throws {
            try await MountedContainer.with(options: Self.slowLink) { container in
                let a = container.a
                _ = try await a.placeholder("f", byteCount: 40 << 20)
                let start = ContinuousClock.now
                let answer = try await a.call("read", "f", "\(39 << 20)", "1")
                #expect(answer.hasPrefix("OK"))
                // The whole file takes twenty seconds.
                #expect(ContinuousClock.now - start < .seconds(6))
                #expect(try await a.downloadingStatus("f") == .notDownloaded)
                try await a.set("download", "0", on: "f")
            }
        }

        @Test func `a download can be cancelled`() async throws {
            try await MountedContainer.with(options: Self.slowLink) { container in
                let a = container.a
                _ = try await a.placeholder("f", byteCount: 20 << 20)
                try await a.set("download", "1", on: "f")
                try await eventually("the download starts") {
                    try await a.status("f").isDownloading
                }
                try await a.set("download", "0", on: "f")
                try await eventually("the download stops") {
                    let status = try await a.status("f")
                    return !status.isDownloading && !status.downloadRequested
                }
                #expect(try await a.downloadingStatus("f") == .notDownloaded)
            }
        }

        /// The kernel blocks a second setxattr on an item while the first one waits, so the test cancels with the
        /// command.
        @Test func `cancelling ends a wait with ECANCELED`() async throws {
            try await MountedContainer.with(options: Self.slowLink) { container in
                let a = container.a
                _ = try await a.placeholder("f", byteCount: 20 << 20)
                async let waiting = a.call("setxattr", "f", "user.dewpoint.download", "wait")
                try await eventually("the download starts") {
                    try await a.status("f").isDownloading
                }
                try await container.dewpoint(["download", "--cancel", a.path("f")])
                #expect(try await waiting == "ECANCELED")
                #expect(try await a.downloadingStatus("f") == .notDownloaded)
            }
        }

        @Test(arguments: [false, true])
        func `a download resumes after a restart`(afterCrash: Bool) async throws {
            try await MountedContainer.with(options: Self.slowLink) { container in
                let a = container.a
                let hash = try await a.placeholder("f", byteCount: 16 << 20)
                try await a.set("download", "1", on: "f")
                try await eventually("half of it is here") {
                    try await a.status("f").percentDownloaded >= 50
                }
                if afterCrash { try a.crash() } else { try await a.unmount() }
                try await a.mount(options: Self.slowLink)
                // Chunks that were in transit are downloaded again.
                let resumed = try await a.status("f")
                #expect(resumed.percentDownloaded >= (afterCrash ? 10 : 30), "what was here is here no more")
                try await eventually("it goes on without being asked") {
                    try await a.downloadingStatus("f") == .current
                }
                #expect(try await a.sha256("f") == hash)
            }
        }

        @Test func `SIGKILL ends a waiting reader at once`() async throws {
            try await MountedContainer.with(options: "link_down=64") { container in
                _ = try await container.a.placeholder("f", byteCount: 8 << 20)
                let result = try await Command.run(
                    ["bash", "-c", #"timeout -s KILL 1 cat "$1" > /dev/null"#, "script", container.a.path("f")])
                #expect(result.status == 137)
                #expect(result.seconds < 2.5)
            }
        }

        @Test func `renaming, chmod, unlinking and opening for truncation never download`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                for name in ["renamed", "moved", "chmod", "touched", "linked", "unlinked", "opened", "truncated"] {
                    try await a.write(name, byteCount: 5000)
                }
                try await a.sync()
                try await a.evict("")
                // Without the packs every download fails, and so would any of these that needed one.
                try await container.takePacksAway()
                try await Command.script(
                    #"""
                    cd "$1"; mkdir folder
                    mv renamed new-name; mv moved folder/; chmod 600 chmod; touch -d 2020-01-01 touched; ln linked link
                    rm unlinked; : > opened; truncate -s 0 truncated; setfattr -n user.colour -v green chmod
                    ls -l . > /dev/null; stat * > /dev/null; find . > /dev/null; du -s . > /dev/null
                    """#, a.point)
                for name in ["new-name", "folder/moved", "chmod", "touched", "linked", "link"] {
                    #expect(try await a.downloadingStatus(name) == .notDownloaded, "\(name)")
                    #expect(try await a.call("stat", name) == "OK 5000", "\(name)")
                }
                #expect(try await a.call("stat", "opened") == "OK 0")
                #expect(try await a.call("stat", "truncated") == "OK 0")
                try await container.bringPacksBack()
                try await a.sync()
                try await a.check()
            }
        }

        @Test func `copying a placeholder inside the container does not download it`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let hash = try await a.placeholder("f", byteCount: 3 << 20)
                try await container.takePacksAway()
                // Without this option, cp takes a file with few blocks for a sparse one and reads it.
                try await Command.check(["cp", "--sparse=never", a.path("f"), a.path("g")])
                #expect(try await a.downloadingStatus("f") == .notDownloaded)
                try await container.bringPacksBack()
                #expect(try await a.sha256("g") == hash)
            }
        }

        @Test func `a partial change of a placeholder keeps the other bytes`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                for (name, edit) in [
                    ("middle", "dd if=/dev/zero of=F bs=1 seek=1500000 count=100 conv=notrunc status=none"),
                    ("appended", "echo tail >> F"), ("shortened", "truncate -s 1500000 F"),
                    ("lengthened", "truncate -s 4M F"), ("punched", "fallocate -p -o 1M -l 8K F"),
                ] {
                    let local = container.directory + "/local-" + name
                    try await a.write(name, byteCount: 3_000_000)
                    try await Command.check(["cp", a.path(name), local])
                    try await a.sync()
                    try await a.evict(name)
                    for file in [local, a.path(name)] {
                        try await Command.script(
                            edit.replacing(" F", with: #" "$1""#).replacing("of=F", with: #"of="$1""#), file)
                    }
                    try await Command.check(["cmp", local, a.path(name)])
                    try await a.sync()
                    try await a.evict(name)
                    try await Command.check(["cmp", local, a.path(name)])
                }
            }
        }

        @Test func `a mapping of a placeholder contains the file's bytes`() async throws {
            try await MountedContainer.with { container in
                let hash = try await container.a.placeholder("f", byteCount: 5 << 20)
                let printed = try await Command.check([
                    Requirement.python, "-c",
                    """
                    import hashlib, mmap, os, sys
                    file = os.open(sys.argv[1], os.O_RDONLY)
                    print(hashlib.sha256(mmap.mmap(file, 0, prot=mmap.PROT_READ)).hexdigest())
                    """, container.a.path("f"),
                ])
                #expect(printed == hash + "\n")
            }
        }

        @Test func `evicting a file does not disturb a reader that has it open`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let hash = try await a.placeholder("f", byteCount: 8 << 20)
                _ = try await a.sha256("f")
                let printed = try await Command.script(
                    #"""
                    exec 3< "$1"; head -c 1000 <&3 > "$3"
                    "$2" evict "$1" || true
                    cat <&3 >> "$3"; sha256sum < "$3"
                    """#, a.path("f"), container.binary, container.directory + "/copy")
                #expect(printed.hasPrefix(hash))
            }
        }
    }
}

/// The names in a directory, sorted by their bytes.
func listing(_ directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}
