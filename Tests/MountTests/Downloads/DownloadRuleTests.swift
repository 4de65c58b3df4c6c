import Model
import Testing

extension RealMount {
    @Suite("Download rules") struct DownloadRules {
        @Test func `a command run by no-download reads local files and is refused placeholders`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                _ = try await a.placeholder("d/away", byteCount: 3 << 20)
                try await Command.script(#"echo needle > "$1/d/here""#, a.point)
                try await a.sync()
                // grep finds the local file and reports that the placeholder cannot be read.
                let found = try await Command.run(
                    [container.binary, "no-download", "--", "grep", "-r", "needle", a.path("d")],
                    environment: container.environment)
                #expect(found.output == "\(a.path("d/here")):needle\n")
                #expect(found.errors.contains("Resource deadlock avoided"))
                #expect(try await a.downloadingStatus("d/away") == .notDownloaded)
                // No program mistakes the refusal for the end of the file.
                try await Command.check(
                    [
                        container.binary, "no-download", "--", Requirement.python, Driver.path("refusals.py"),
                        a.path("d/away"), "EDEADLK", container.directory,
                    ], environment: container.environment)
                #expect(try await a.downloadingStatus("d/away") == .notDownloaded)
                // Child processes of the command are refused too.
                let deep = try await Command.run(
                    [
                        container.binary, "no-download", "--", "sh", "-c", #"sh -c 'cat "$0" > /dev/null'; exit 7"#,
                        a.path("d/away"),
                    ],
                    environment: container.environment)
                #expect(deep.status == 7)
                #expect(try await a.downloadingStatus("d/away") == .notDownloaded)
                // Other programs can download at once.
                try await Command.check(["cat", a.path("d/away")])
                #expect(try await a.downloadingStatus("d/away") == .current)
            }
        }

        @Test func `programs named in no_download are refused, and reading metadata downloads nothing`() async throws {
            try await MountedContainer.with(options: "no_download=md5sum:updatedb") { container in
                let a = container.a
                _ = try await a.placeholder("d/away", byteCount: 3 << 20)
                let refused = try await Command.run(["md5sum", a.path("d/away")])
                #expect(refused.errors.contains("Resource deadlock avoided"))
                try await Command.script(
                    #"find "$1" -type f -size +1M | grep -q away; ls -lR "$1"; du -s "$1"; stat "$1/d/away"; test "$(stat -c %s "$1/d/away")" = 3145728"#,
                    a.point)
                try await Command.script(#"rsync -an "$1/" "$2/""#, a.path("d"), container.directory + "/copy")
                #expect(try await a.downloadingStatus("d/away") == .notDownloaded)
                let said = try await container.dewpoint(["download", "--dry-run", a.point])
                #expect(said == "\(a.point): 1 file, 3.0 MiB\n")
                #expect(try await a.downloadingStatus("d/away") == .notDownloaded)
                try await Command.check(["sha256sum", a.path("d/away")])
                #expect(
                    try await container.dewpoint(["download", "--dry-run", a.point]) == "\(a.point): 0 files, 0 B\n")
            }
        }

        @Test func `indexers and thumbnailers download nothing unless the mount allows it`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"mkdir -p "$1/d/e"; for n in d/one.jpg d/two.pdf d/e/three; do head -c 300000 /dev/urandom > "$1/$n"; done"#,
                    a.point)
                try await a.sync()
                try await a.evict("d")
                let said = try await container.dewpoint(["download", "--dry-run", a.point])
                #expect(said.hasPrefix("\(a.point): 3 files, "))

                // An indexer that is a script and starts other programs.
                let indexer = try await a.program(
                    "updatedb", #"find "$1" -type f -exec sh -c 'head -c 4096 "$0" > /dev/null || echo refused' {} \;"#)
                #expect(try await Command.check([indexer, a.path("d")]) == "refused\nrefused\nrefused\n")
                // Already when it opens a file: a program that maps it would be killed by a page that is refused.
                let opener = try await a.program("tumblerd", #"true < "$1" || echo refused"#)
                #expect(try await Command.check([opener, a.path("d/one.jpg")]) == "refused\n")
                // A thumbnailer whose name is longer than the part of it that the kernel keeps.
                let thumbnailer = container.directory + "/gdk-pixbuf-thumbnailer"
                try await Command.check(["cp", "/bin/cat", thumbnailer])
                let refused = try await Command.run([thumbnailer, a.path("d/one.jpg")])
                #expect(refused.status == 1)
                #expect(refused.errors.contains("Resource deadlock avoided"))
                // A worker that is recognized by its arguments.
                let worker = container.directory + "/kioworker"
                try await Command.check(["cp", "/bin/bash", worker])
                let preview = #"read -r -n 1 < "$1""#
                let script = container.directory + "/thumbnail.so"
                try await Command.script(
                    #"printf '%s\n' "$2" > "$1"; cp "$1" "$3""#, script, preview, container.directory + "/file.so")
                let thumbnail = try await Command.run([worker, script, a.path("d/two.pdf")])
                #expect(thumbnail.errors.contains("Resource deadlock avoided"))
                #expect(try await container.dewpoint(["download", "--dry-run", a.point]) == said)

                let copied = try await Command.run([worker, container.directory + "/file.so", a.path("d/two.pdf")])
                #expect(!copied.errors.contains("Resource deadlock avoided"))
                try await eventually("the worker for files brings the file") {
                    try await a.downloadingStatus("d/two.pdf") == .current
                }

                try await a.unmount()
                try await a.mount(options: "no_download=")
                #expect(try await Command.check([indexer, a.path("d")]) == "")
            }
        }

        @Test func `reading metadata downloads nothing, and rsync --checksum can be refused`() async throws {
            try await MountedContainer.with(options: "no_download=+rsync") { container in
                let a = container.a
                try await Command.script(
                    #"mkdir -p "$1/d"; for n in one.jpg two.txt; do head -c 300000 /dev/urandom > "$1/d/$n"; done; cp -a "$1/d" "$2""#,
                    a.point, container.directory + "/copy")
                try await a.sync()
                try await a.evict("d")
                let said = try await container.dewpoint(["download", "--dry-run", a.point])
                #expect(said.hasPrefix("\(a.point): 2 files, "))
                try await Command.script(
                    #"rsync -an "$1/" "$2/"; rsync -an "$1/" "$2-new/"; find "$1" -size +1 -printf ''; ls -lRZ "$1"; du -s --apparent-size "$1"; stat "$1"/*"#,
                    a.path("d"), container.directory + "/copy")
                // The attributes that a file manager reads of each file in a directory.
                try await Command.script(
                    #"! command -v gio > /dev/null || gio list --attributes "$2" "$1""#, a.path("d"),
                    "standard::type,standard::size,standard::icon,standard::content-type,time::modified,access::can-read,thumbnail::path"
                )
                #expect(try await container.dewpoint(["download", "--dry-run", a.point]) == said)
                // Checksums need the bytes; how rsync handles the refusal does not matter here.
                let checksums = ["rsync", "-an", "--checksum", a.path("d") + "/", container.directory + "/copy/"]
                _ = try await Command.run(checksums)
                #expect(try await container.dewpoint(["download", "--dry-run", a.point]) == said)

                try await a.unmount()
                try await a.mount()
                try await Command.check(checksums)
                #expect(
                    try await container.dewpoint(["download", "--dry-run", a.point]) == "\(a.point): 0 files, 0 B\n")
            }
        }
    }
}
