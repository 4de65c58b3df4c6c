import Model
import Testing

extension RealMount {
    @Suite("Who may download") struct DownloadRules {
        @Test func `a command that may not download reads what is here and is refused the rest`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                _ = try await a.placeholder("d/away", byteCount: 3 << 20)
                try await Command.script(#"echo needle > "$1/d/here""#, a.point)
                try await a.sync()
                // grep finds what is here, and says of the other that it cannot be had now.
                let found = try await Command.run(
                    [container.binary, "no-download", "--", "grep", "-r", "needle", a.path("d")],
                    environment: container.environment)
                #expect(found.output == "\(a.path("d/here")):needle\n")
                #expect(found.errors.contains("Resource temporarily unavailable"))
                #expect(try await a.downloadingStatus("d/away") == .notDownloaded)
                // Also what the command starts.
                let deep = try await Command.run(
                    [
                        container.binary, "no-download", "--", "sh", "-c", #"sh -c 'cat "$0" > /dev/null'; exit 7"#,
                        a.path("d/away"),
                    ],
                    environment: container.environment)
                #expect(deep.status == 7)
                #expect(try await a.downloadingStatus("d/away") == .notDownloaded)
                // Everybody else may, at once.
                try await Command.check(["cat", a.path("d/away")])
                #expect(try await a.downloadingStatus("d/away") == .current)
            }
        }

        @Test func `a program that the mount names may not, and walkers cost nothing anywhere`() async throws {
            try await MountedContainer.with(options: "no_download=md5sum:updatedb") { container in
                let a = container.a
                _ = try await a.placeholder("d/away", byteCount: 3 << 20)
                let refused = try await Command.run(["md5sum", a.path("d/away")])
                #expect(refused.errors.contains("Resource temporarily unavailable"))
                try await Command.script(
                    #"find "$1" -type f -size +1M | grep -q away; ls -lR "$1"; du -s "$1"; stat "$1/d/away"; test "$(stat -c %s "$1/d/away")" = 3145728"#,
                    a.point)
                try await Command.script(#"rsync -an "$1/" "$2/""#, a.path("d"), container.directory + "/copy")
                #expect(try await a.downloadingStatus("d/away") == .notDownloaded)
                let told = try await container.dewpoint(["download", "--dry-run", a.point])
                #expect(told == "\(a.point): 1 file, 3.0 MiB\n")
                #expect(try await a.downloadingStatus("d/away") == .notDownloaded)
                try await Command.check(["sha256sum", a.path("d/away")])
                #expect(
                    try await container.dewpoint(["download", "--dry-run", a.point]) == "\(a.point): 0 files, 0 B\n")
            }
        }
    }
}
