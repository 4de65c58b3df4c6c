import Foundation
import Model
import S3Server
import Testing

extension RealMount {
    /// Files of an encrypted container that are shared by a link.
    @Suite(
        "Encrypted shares", .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"))
    struct EncryptedShares {
        /// A container with the devices A and B, whose requests are written to the file at the second argument.
        private func with(_ body: (MountedContainer, _ log: String) async throws -> Void) async throws {
            try await MountedContainer.with(
                try await S3Server.shared, devices: ["A", "B"], isDisconnectable: true, isEncrypted: true
            ) { container in
                let log = container.directory + "/requests"
                try await #require(container.uplink).connect(writingTo: log)
                try await body(container, log)
            }
        }

        /// Shares a file from a device that does not have its bytes.
        private func share(_ name: String, _ container: MountedContainer) async throws -> SharedFile {
            try await container.a.sync()
            try await container.b.sync()
            let text = try await container.dewpoint(["share", container.b.path(name), "--json"])
            #expect(try await container.b.downloadingStatus(name) == .notDownloaded)
            return try JSONDecoder().decode(SharedFile.self, from: Data(text.utf8))
        }

        private func directory(_ name: String, _ container: MountedContainer) throws -> String {
            let directory = container.directory + "/" + name
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            return directory
        }

        /// Somebody who has the link and nothing else.
        private func open(_ link: String, _ container: MountedContainer, to output: String) async throws -> Command {
            try await Command.run([container.binary, "open-share", link, "--output", output], in: container.directory)
        }

        /// A link without its key, for a look at what the server has.
        private func key(of link: String) throws -> Substring {
            try #require(link.split(separator: "#").last?.split(separator: ".").dropFirst().first)
        }

        @Test(arguments: [1000, 20_000_000])
        func `who has the link opens the file, and the server sees neither name nor key nor byte`(
            byteCount: Int
        ) async throws {
            try await with { container, log in
                let (a, name) = (container.a, "ü secret-name.bin")
                try await a.write(name, byteCount: byteCount)
                let sum = try await a.sha256(name)
                let file = try await share(name, container)
                let link = try #require(file.link)
                let saved = try directory("saved", container)
                let opened = try await open(link, container, to: saved)
                try #require(opened.succeeded, "\(opened.errors)")
                #expect(try await Command.check(["sha256sum", "\(saved)/\(name)"]).hasPrefix(sum))
                #expect(try listing(saved) == [name])

                let again = try await open(link, container, to: saved)
                #expect(again.status == 73)
                #expect(again.errors == "dewpoint: \(saved)/\(name) exists; save it elsewhere with --output\n")
                let line = try await Command.run(
                    [
                        "bash", "-c", #"echo "$1" | "$2" open-share - --output "$3""#, "bash", link, container.binary,
                        "\(saved)/other",
                    ])
                #expect(line.succeeded, "\(line.errors)")

                let key = try String(key(of: link))
                let objects = try await container.objects()
                for mark in ["secret-name", key, sum] {
                    let found = try await Command.run(
                        ["grep", "-r", "-l", "-a", "-F", "-e", mark, objects, log, log + ".heads"])
                    #expect(found.output == "", "\(mark)")
                }
                // Nor does anything that stays on a device have the link.
                let kept = try await Command.run(
                    ["grep", "-r", "-l", "-a", "-F", "-e", key, a.state, container.b.state])
                #expect(kept.output == "")
                let head = try await Command.check(["curl", "-sSf", "-D", "-", "-o", "/dev/null", link])
                #expect(head.lowercased().contains("content-type: text/html; charset=utf-8"))
                #expect(!head.lowercased().contains("content-disposition"))

                try await a.check()
                try await container.dewpoint(["share", "--revoke", file.id, a.point])
                let ended = try await open(link, container, to: "\(saved)/third")
                #expect(ended.status == 66)
                #expect(ended.errors == "dewpoint: this link has ended, or the file is no longer shared\n")
                #expect(try await container.bucket("list", container.prefix + "/shares") == "\n")
                #expect(try listing(saved) == ["other", name])
            }
        }

        @Test func `a copy that was changed, cut or exchanged is not saved`() async throws {
            try await with { container, _ in
                let a = container.a
                for name in ["one", "two"] { try await a.write(name, byteCount: 3_000_000) }
                let (one, two) = (try await share("one", container), try await share("two", container))
                let link = try #require(one.link)
                let saved = try directory("saved", container)
                let wrong = [
                    #"printf XXXXXXXX | dd of="$1" bs=1 seek=2900000 conv=notrunc status=none"#,
                    #"truncate -s -1 "$1""#,
                    #"printf X >> "$1""#, #"printf XXXXXXXX | dd of="$1" bs=1 seek=50 conv=notrunc status=none"#,
                ]
                for script in wrong {
                    try await container.change(
                        "shares/\(one.id)",
                        #"cp -n "$1" "\#(container.directory)/good"; cp "\#(container.directory)/good" "$1"; \#(script)"#
                    )
                    let refused = try await open(link, container, to: saved)
                    #expect(refused.status == 1, "\(script)")
                    #expect(refused.errors.contains("is damaged or incomplete"))
                }
                let other = container.directory + "/other"
                try await container.bucket("get", container.prefix + "/shares/\(two.id)", other)
                try await container.put(other, as: "shares/\(one.id)")
                #expect(try await open(link, container, to: saved).status == 1)
                #expect(try listing(saved) == [])
                // The share with these bytes has no link any more, and does not stop the others from being listed.
                let text = try await container.dewpoint(["share", "--list", "--json", container.b.point])
                let files = try JSONDecoder().decode([SharedFile].self, from: Data(text.utf8))
                #expect(files.map { $0.link == nil } == [true, false])
                #expect(
                    files.last?.link?.split(separator: "#").last?.hasPrefix("2.\(try key(of: two.link ?? ""))") == true)
            }
        }

        @Test(.enabled(if: Requirement.browser, "chromium or python3-websocket is not installed"))
        func `the page opens files of any length in a browser, and saves nothing that is broken`() async throws {
            try await with { container, log in
                let a = container.a
                func page(_ kind: String, _ link: String, _ name: String, _ expected: String) async throws -> String {
                    let place = try directory(name, container)
                    try await Driver.run("shared_page.py", kind, link, place, expected)
                    return place
                }
                for (name, byteCount) in [("ü &amp; short.txt", 1024), ("long.bin", 100 << 20), ("empty", 0)] {
                    try await a.write(name, byteCount: byteCount)
                    let file = try await share(name, container)
                    let place = try await page("saved", try #require(file.link), "saved-\(byteCount)", name)
                    let sum = try await a.sha256(name)
                    #expect(try await Command.check(["sha256sum", "\(place)/\(name)"]).hasPrefix(sum))
                    let key = try String(key(of: try #require(file.link)))
                    let seen = try await Command.run(["grep", "-a", "-c", "-F", "-e", key, log + ".heads"])
                    #expect(seen.output == "0\n")
                }
                try await a.write("f", byteCount: 1_000_000)
                let file = try await share("f", container)
                let link = try #require(file.link)
                let broken = "The file is damaged or incomplete on the server. Nothing was saved."
                _ = try await page("insecure", link, "insecure", "dewpoint open-share LINK")
                _ = try await page(
                    "useless", String(link.prefix { $0 != "#" }), "no-key", "A part of the link is missing")
                try await container.change(
                    "shares/\(file.id)", #"printf XXXXXXXX | dd of="$1" bs=1 seek=900000 conv=notrunc status=none"#)
                _ = try await page("refused", link, "changed", broken)
                try await container.change("shares/\(file.id)", #"truncate -s 500000 "$1""#)
                _ = try await page("refused", link, "cut", broken)
                try await container.change(
                    "shares/\(file.id)", #"printf XXXXXXXX | dd of="$1" bs=1 seek=50 conv=notrunc status=none"#)
                _ = try await page("useless", link, "other-key", broken)
                try await container.bucket("delete", container.prefix + "/shares/\(file.id)")
                _ = try await page("useless", link, "ended", "This link has ended, or the file is no longer shared.")
            }
        }
    }
}
