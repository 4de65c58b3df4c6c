import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Names") struct Names {
        @Test func `a name of 255 bytes is allowed, and one of 256 bytes is too long`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let longest = String(repeating: "n", count: 255)
                #expect(try await a.call("open", longest, "O_CREAT,O_WRONLY") == "OK")
                #expect(try await a.call("mkdir", String(repeating: "d", count: 255)) == "OK")
                #expect(try await a.call("open", longest + "n", "O_CREAT,O_WRONLY") == "ENAMETOOLONG")
                #expect(try await a.call("mkdir", longest + "n") == "ENAMETOOLONG")
                #expect(try await a.call("stat", longest + "n") == "ENAMETOOLONG")
                // 85 characters of three bytes each.
                #expect(try await a.call("open", String(repeating: "字", count: 85), "O_CREAT,O_WRONLY") == "OK")
                #expect(
                    try await a.call("open", String(repeating: "字", count: 86), "O_CREAT,O_WRONLY") == "ENAMETOOLONG")
                try await a.sync()
                try await a.check()
            }
        }

        @Test
        func `files whose names are too long for a placeholder's name can be evicted and downloaded`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                for count in [247, 248, 251, 255] {
                    let name = String(repeating: "x", count: count)
                    let hash = try await a.placeholder(name, byteCount: 3000 + count)
                    #expect(try await a.downloadingStatus(name) == .notDownloaded, "\(count) bytes")
                    #expect(try await a.sha256(name) == hash, "\(count) bytes")
                }
                try await a.check()
            }
        }

        @Test func `names that look like placeholders are ordinary names`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let names = [".x.icloud", "x", ".icloud", "..icloud", ".dewpoint-00.icloud"]
                for name in names { try await a.write(name, byteCount: 2000 + name.utf8.count) }
                try await a.sync()
                let hashes = try await Command.script(#"cd "$1"; find . -type f | sort | xargs sha256sum"#, a.point)
                for name in names { try await a.evict(name) }
                for name in names { #expect(try await a.downloadingStatus(name) == .notDownloaded, "\(name)") }
                try await a.unmount()
                try await a.mount()
                #expect(
                    try await Command.script(#"cd "$1"; find . -type f | sort | xargs sha256sum"#, a.point) == hashes)
                #expect(try listing(a.point) == names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
                try await a.check()
            }
        }

        @Test func `names that are not UTF-8 are refused`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 1)
                #expect(try await a.call("open", "bad%FFname", "O_CREAT,O_WRONLY") == "EILSEQ")
                #expect(try await a.call("mkdir", "%C3") == "EILSEQ")
                #expect(try await a.call("mkfifo", "%ED%A0%80") == "EILSEQ")
                #expect(try await a.call("rename", "f", a.path("%80")) == "EILSEQ")
                #expect(try await a.call("stat", "bad%FFname") == "ENOENT")
                #expect(try listing(a.point) == ["f"])
            }
        }

        @Test func `unusual names are synced unchanged`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let names = [
                    "new%0Aline", "tab%09", "%20lead", "trail%20", "-rf", "*?[", "%22quoted%22", "%5Cback", "👩‍👩‍👧", "%01",
                    "%7F", "a:b",
                ]
                for name in names {
                    #expect(try await container.a.call("open", name, "O_CREAT,O_WRONLY") == "OK", "\(name)")
                }
                try await container.a.sync()
                try await container.b.sync()
                #expect(try listing(container.b.point) == listing(container.a.point))
                #expect(try listing(container.b.point).count == names.count)
            }
        }

        @Test func `a large directory is listed completely, and its deletion is held until confirmed`() async throws {
            let count = Requirement.long ? 50_000 : 5_000
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"mkdir "$1/many"; cd "$1/many"; seq -f 'file-%06.0f' "$2" | xargs touch"#, a.point, "\(count)",
                    limit: .seconds(300))
                #expect(try await Command.script(#"ls -U "$1" | wc -l"#, a.path("many")) == "\(count)\n")
                #expect(try await Command.script(#"ls -l "$1" | tail -n 1"#, a.path("many")).contains("file-"))
                try await a.sync(limit: .seconds(300))
                try await a.check()
                try await Command.check(["mv", a.path("many"), a.path("moved")])
                try await Command.check(["rm", "-r", a.path("moved")], limit: .seconds(300))
                #expect(try listing(a.point).isEmpty)
                // A deletion of this size is held until it is confirmed.
                let held = try await Command.run(
                    [container.binary, "sync", a.point, "--wait"], environment: container.environment)
                #expect(held.status == 75)
                try await container.dewpoint(["confirm", a.point])
                try await a.sync(limit: .seconds(300))
                try await a.check()
            }
        }

        @Test(arguments: ["none", "one", "any"])
        func `folders below Documents nest as deep as the container allows`(levels: String) async throws {
            try await MountedContainer.with(creating: ["--folder-levels", levels]) { container async throws in
                let a = container.a
                #expect(try await a.call("mkdir", "Documents") == "OK")
                #expect(try await a.call("mkdir", "Documents/1") == (levels == "none" ? "EPERM" : "OK"))
                if levels != "none" {
                    #expect(try await a.call("mkdir", "Documents/1/2") == (levels == "one" ? "EPERM" : "OK"))
                }
                #expect(try await a.call("mkdir", "Library") == "OK")
                #expect(try await a.call("mkdir", "Library/1") == "OK")
                #expect(try await a.call("mkdir", "Library/1/2") == "OK")
            }
        }
    }
}
