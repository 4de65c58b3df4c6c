import Foundation
import Model
import S3Server
import Testing

extension RealMount {
    /// `container import --from rclone:…`, with rclone as it is installed, and remotes on this machine.
    @Suite("Imports from rclone", .needs("rclone")) struct RcloneImports {
        @Test(arguments: [RcloneBench.Kind.local, .crypt, .webdav])
        func `a second import transfers only what has changed`(kind: RcloneBench.Kind) async throws {
            try await importAgain(kind)
        }

        @Test(.enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"))
        func `a second import of a bucket transfers only what has changed`() async throws {
            try await importAgain(.s3, try await S3Server.shared.variables)
        }

        private func importAgain(_ kind: RcloneBench.Kind, _ variables: [String: String] = [:]) async throws {
            try await MountedContainer.with { container in
                let bench = try await RcloneBench(container, variables)
                try await bench.with(kind) { remote, refresh in
                    let planned = try await bench.importing(remote, "--into", "in", "--dry-run")
                    #expect(planned.output == "would be imported: 5 files with 2.9 MiB, 2 directories\n")
                    #expect(try bench.fetchCount() == 0)
                    let first = try await bench.importing(remote, "--into", "in")
                    #expect(first.succeeded && first.errors.isEmpty, "\(first.errors)")
                    #expect(first.output == "imported: 5 files with 2.9 MiB, 3 directories\n")
                    try await expectEqual(bench, kind)

                    let fetched = try bench.fetchCount()
                    #expect(fetched > 0)
                    let second = try await bench.importing(remote, "--into", "in")
                    #expect(second.output == "imported: 0 files with 0 B, 0 directories, 5 already present\n")
                    #expect(try bench.fetchCount() == fetched)

                    try await Command.script(
                        #"cd "$1"; sleep 1.1; echo more >> 'd/b c'; mkdir new; echo new > new/file; rm d/deep/empty"#,
                        bench.source)
                    try await refresh()
                    let third = try await bench.importing(remote, "--into", "in")
                    #expect(
                        third.output == "imported: 2 files with 13 B, 1 directory, 1 replaced, 3 already present, "
                            + "1 gone from the remote\n")
                    #expect(
                        third.errors
                            == "dewpoint: note: d/deep/empty: it is gone from the remote; the container keeps it\n")
                    try await Command.script(#"mkdir -p "$1/d/deep"; : > "$1/d/deep/empty""#, bench.source)
                    try await expectEqual(bench, kind)
                    try await container.a.check()
                }
            }
        }

        /// Adds files for a second batch.
        private func addNumbers(to bench: RcloneBench) async throws {
            try await Command.script(
                #"mkdir "$1/m"; cd "$1/m"; for n in {1..1100}; do echo $n > $n; done"#, bench.source)
        }

        /// Compares the mount with the source: names, bytes and, where the remote keeps them exactly, times.
        private func expectEqual(_ bench: RcloneBench, _ kind: RcloneBench.Kind) async throws {
            let a = bench.container.a
            try await a.sync()
            try await Command.script(#"diff -r "$1" "$2""#, bench.source, a.path("in"))
            let expected = kind == .webdav ? "981173106.000000000\n" : "981173106.500000000\n"
            #expect(try await Command.check(["stat", "-c", "%.9Y", a.path("in/top")]) == expected)
        }

        @Test func `a file that was edited in the container is kept when the remote has a newer one`() async throws {
            try await MountedContainer.with { container in
                let (a, bench) = (container.a, try await RcloneBench(container))
                try bench.configureLocal()
                #expect(try await bench.importing().succeeded)
                try await a.sync()
                // Of the same length and time: only who made the bytes tells that they are others.
                try await Command.script(
                    #"""
                    cd "$1"; cp -p top time; printf 'T\n' > top; touch -r time top; rm time; chmod 600 'd/b c'
                    setfattr -n user.colour -v blue 'd/b c'; echo mine >> d/deep/empty
                    """#, a.point)
                try await a.sync()
                try await Command.script(
                    #"cd "$1"; for f in top 'd/b c' d/deep/empty; do echo theirs >> "$f"; done"#, bench.source)
                let result = try await bench.importing()
                let reason =
                    "the container has another version, which was made there and is kept; rename or remove it to import "
                    + "that of the remote"
                #expect(
                    result.errors == "dewpoint: d/deep/empty: \(reason)\ndewpoint: top: \(reason)\ndewpoint: 2 items "
                        + "could not be imported; to retry them, run the import again\n")
                #expect(result.status == 1)
                #expect(
                    result.output == "imported: 1 file with 11 B, 0 directories, 1 replaced, 2 already present, "
                        + "2 failed\n")
                try await a.sync()
                // What was changed in the container besides the bytes stays.
                #expect(
                    try await Command.script(
                        #"cd "$1"; cat top d/deep/empty 'd/b c'; stat -c %a 'd/b c'; getfattr --only-values -n user.colour 'd/b c'"#,
                        a.point) == "T\nmine\none\ntheirs\n600\nblue")
                try await Command.script(#"cd "$1"; mv top mine; rm d/deep/empty"#, a.point)
                try await a.sync()
                let again = try await bench.importing()
                #expect(
                    again.output == "imported: 2 files with 16 B, 0 directories, 3 already present\n", "\(again.errors)"
                )
                try await a.sync()
                #expect(try await Command.check(["cat", a.path("mine"), a.path("top")]) == "T\nt\ntheirs\n")
                try await a.check()
            }
        }

        @Test func `bytes that arrive wrong are fetched again, and at last left out`() async throws {
            try await MountedContainer.with { container in
                let bench = try await RcloneBench(container)
                try bench.configureLocal()
                // Another byte in the place of one, so that only the hash shows it.
                try bench.put(
                    #"""
                    if [[ "$1" == copy ]]; then
                        "$REAL" "$@"; status=$?
                        place="${@: -1}"; printf X | dd of="${place#*\":}/d/long" bs=1 seek=1000 conv=notrunc status=none
                        exit $status
                    fi
                    """#)
                let first = try await bench.importing()
                #expect(first.output == "imported: 5 files with 2.9 MiB, 2 directories\n", "\(first.errors)")
                try await container.a.sync()
                try await Command.script(#"diff -r "$1" "$2""#, bench.source, container.a.point)

                try await Command.script(#"cp "$1/d/long" "$1/d/other"; echo x >> "$1/d/other""#, bench.source)
                try bench.put(
                    #"""
                    if [[ "$1" == copy* ]]; then
                        "$REAL" "$@"; status=$?
                        place="${@: -1}"; place="${place#*\":}"; [ -f "$place" ] || place="$place/d/other"
                        printf X | dd of="$place" bs=1 seek=1000 conv=notrunc status=none
                        exit $status
                    fi
                    """#)
                let second = try await bench.importing()
                #expect(second.status == 1)
                #expect(
                    second.output == "imported: 0 files with 0 B, 0 directories, 5 already present, 1 failed\n")
                #expect(
                    second.errors.contains(
                        "dewpoint: d/other: what arrived has another SHA-256 than the remote lists: it changed meanwhile, "
                            + "or is damaged there\n"))
                try bench.put("")
                #expect(
                    try await bench.importing().output
                        == "imported: 1 file with 2.9 MiB, 0 directories, 5 already present\n")
            }
        }

        @Test func `a remote that no longer answers ends the import, and the next one goes on`() async throws {
            try await MountedContainer.with { container in
                let (a, bench) = (container.a, try await RcloneBench(container))
                try bench.configureLocal()
                try await addNumbers(to: bench)
                // The second batch, and what is asked then.
                try bench.put(
                    #"""
                    if [[ "$1" == copy ]] && ! mkdir "$BENCH/once" 2>/dev/null || [[ -e "$BENCH/away" ]]; then
                        touch "$BENCH/away"; echo '2026/11/30 02:24:27 ERROR : the network is down' >&2; exit 1
                    fi
                    """#)
                let first = try await bench.importing()
                #expect(first.status == 69)
                #expect(
                    first.errors.hasSuffix("dewpoint: r: cannot be read; rclone: ERROR : the network is down\n"),
                    "\(first.errors)")
                try await a.sync()
                // The first batch is there: a thousand items.
                let there = try await Command.check(["find", a.point, "-mindepth", "1", "-printf", "."])
                #expect(there.utf8.count == 1000)
                try bench.put("")
                let second = try await bench.importing()
                #expect(second.succeeded && second.output.contains("already present"), "\(second.errors)")
                try await a.sync()
                try await Command.script(#"diff -r "$1" "$2""#, bench.source, a.point)
                let third = try await bench.importing()
                #expect(third.output == "imported: 0 files with 0 B, 0 directories, 1105 already present\n")
                try await a.check()
            }
        }

        @Test func `an import that is killed loses and doubles nothing`() async throws {
            try await MountedContainer.with { container in
                let (a, bench) = (container.a, try await RcloneBench(container))
                try bench.configureLocal()
                try await addNumbers(to: bench)
                try bench.put(
                    #"""
                    if [[ "$1" == copy ]] && ! mkdir "$BENCH/once" 2>/dev/null; then
                        sleep 2; touch "$BENCH/second"; sleep 3
                    fi
                    """#)
                try await Command.script(
                    #"""
                    "$1" container import --from rclone:r: "$2" & import=$!
                    for n in {1..600}; do [ -e "$BENCH/second" ] && break; sleep 0.1; done
                    [ -e "$BENCH/second" ]; kill -9 $import; ! wait $import
                    """#, container.binary, container.url, environment: bench.environment)
                try bench.put("")
                let second = try await bench.importing()
                #expect(second.succeeded, "\(second.errors)")
                try await a.sync()
                try await Command.script(#"diff -r "$1" "$2""#, bench.source, a.point)
                try await a.check()
            }
        }

        @Test func `of an incomplete listing, what is listed is imported, and nothing counts as gone`() async throws {
            try await MountedContainer.with { container in
                let bench = try await RcloneBench(container)
                try bench.configureLocal()
                #expect(try await bench.importing().succeeded)
                try await Command.script(#"echo x >> "$1/top""#, bench.source)
                try bench.put(
                    #"""
                    if [[ "$1" == lsjson && "$*" != *--files-from* ]]; then
                        echo '['; "$REAL" "$@" | grep '"top"'
                        echo '2026/11/30 02:24:27 Failed to lsjson: d is away' >&2; exit 1
                    fi
                    """#)
                let result = try await bench.importing()
                #expect(result.status == 1)
                #expect(result.output == "imported: 1 file with 4 B, 0 directories, 1 replaced, 1 failed\n")
                #expect(
                    result.errors == "dewpoint: the listing is incomplete: rclone: Failed to lsjson: d is away\n"
                        + "dewpoint: 1 item could not be imported; to retry them, run the import again\n")
                try bench.put(#"if [[ "$1" == lsjson ]]; then echo '{"Path":1},'; yes; exit 0; fi"#)
                let garbage = try await bench.importing()
                #expect(garbage.status == 1 && garbage.output.isEmpty)
                #expect(
                    garbage.errors
                        == "dewpoint: rclone printed a listing that is not one of rclone lsjson: {\"Path\":1},\n")
                // One that ends before its bracket, without an error.
                try bench.put(#"if [[ "$1" == lsjson ]]; then echo '['; exit 0; fi"#)
                let cut = try await bench.importing()
                #expect(cut.status == 1 && cut.output.isEmpty)
                #expect(
                    cut.errors
                        == "dewpoint: rclone printed no whole list of files, although it ended without an error\n")
                try await container.a.sync()
                try await Command.script(#"diff -r "$1" "$2""#, bench.source, container.a.point)
            }
        }

        @Test func `names that lead elsewhere are skipped, and nothing is written outside`() async throws {
            try await MountedContainer.with { container in
                let (a, bench) = (container.a, try await RcloneBench(container))
                try bench.configureLocal()
                let lines = [
                    "../out", "/out", "d/../../out", "d//out", ".", "d/./out", "new\\nline", "good", ".DS_Store",
                ]
                .map {
                    #"{"Path":"\#($0)","Name":"x","Size":4,"ModTime":"2026-01-02T03:04:05+01:00","IsDir":false}"#
                }
                try Data("[\n\(lines.joined(separator: ",\n"))\n]\n".utf8).write(
                    to: URL(filePath: bench.directory + "/listing"))
                try await Command.script(#"echo abc > "$1/good"; echo out > "$2/out""#, bench.source, bench.directory)
                try bench.put(
                    #"if [[ "$1" == lsjson && "$*" != *--files-from* ]]; then cat "$BENCH/listing"; exit 0; fi"#)
                let result = try await bench.importing()
                #expect(result.output == "imported: 1 file with 4 B, 0 directories, 8 skipped\n", "\(result.errors)")
                #expect(result.status == 0)
                for line in [
                    "skipped: ../out: its path leads elsewhere", "skipped: d/../../out: its path leads elsewhere",
                    "skipped: .: its path leads elsewhere", "skipped: /out: its path has an empty name",
                    "skipped: d//out: its path has an empty name", "its name has control characters",
                    "skipped: .DS_Store: files with such names are not synced",
                ] {
                    #expect(result.errors.contains(line), "\(line)")
                }
                try await a.sync()
                #expect(try FileManager.default.contentsOfDirectory(atPath: a.point) == ["good"])
                #expect(try await Command.check(["stat", "-c", "%Y", a.path("good")]) == "1767319445\n")
                #expect(try await Command.check(["cat", bench.directory + "/out"]) == "out\n")
            }
        }

        @Test func `rclone's own variables choose what is imported, and change nothing else`() async throws {
            try await MountedContainer.with { container in
                let bench = try await RcloneBench(container)
                try bench.configureLocal()
                try await Command.script(#"ln -s top "$1/link""#, bench.source)
                let result = try await bench.importing(variables: [
                    "RCLONE_EXCLUDE": "d/*", "RCLONE_MAX_SIZE": "100M", "RCLONE_PROGRESS": "true",
                    "RCLONE_DRY_RUN": "true", "RCLONE_VERBOSE": "2", "RCLONE_LINKS": "true", "TZ": "Asia/Kolkata",
                ])
                #expect(result.output == "imported: 2 files with 2 B, 2 directories\n", "\(result.errors)")
                let all = try await bench.importing()
                #expect(all.output == "imported: 3 files with 2.9 MiB, 0 directories, 2 already present\n")
                try await container.a.sync()
                try await Command.script(#"rm "$1/link"; diff -r "$1" "$2""#, bench.source, container.a.point)
            }
        }

        @Test func `rclone gets its own configuration, and no passphrase of Dewpoint`() async throws {
            try await MountedContainer.with(isEncrypted: true) { container in
                let (a, bench) = (container.a, try await RcloneBench(container))
                try bench.configureLocal()
                try bench.put(#"env >> "$BENCH/variables""#)
                let result = try await bench.importing()
                #expect(result.output == "imported: 5 files with 2.9 MiB, 2 directories\n", "\(result.errors)")
                let variables = try String(contentsOfFile: bench.directory + "/variables", encoding: .utf8)
                #expect(variables.contains("RCLONE_CONFIG=") && !variables.contains("DEWPOINT_PASSPHRASE"))
                try await a.sync()
                try await Command.script(#"diff -r "$1" "$2""#, bench.source, a.point)
                try await Command.script(#"echo x >> "$1/top""#, bench.source)
                #expect(
                    try await bench.importing().output
                        == "imported: 1 file with 4 B, 0 directories, 1 replaced, 4 already present\n")
                try await a.sync()
                try await a.check()
            }
        }
    }

    @Suite("Imports without rclone") struct ImportsWithoutRclone {
        @Test func `an import that cannot be says why`() async throws {
            try await MountedContainer.with { container in
                let bench = try await RcloneBench(container)
                func importing(_ arguments: String...) async throws -> Command {
                    try await Command.run(
                        ["/usr/bin/env", "PATH=/nonexistent", container.binary, "container", "import"] + arguments,
                        environment: bench.environment)
                }
                let missing = try await importing("--from", "rclone:r:", container.url)
                #expect(missing.status == 66)
                #expect(
                    missing.errors
                        == "dewpoint: rclone is not installed, or not in PATH; install it: apt-get install rclone\n")
                for (arguments, words) in [
                    (["--from", "r:", container.url], "r: is no remote of rclone: give rclone:REMOTE:PATH"),
                    (["--from", "rclone:r", container.url], "rclone:r is no remote of rclone"),
                    (["--from", "rclone:r:", "a", container.url], "give either a directory or --from"),
                    (["--from", "rclone:r:"], "give the directory, or --from, and then the container"),
                    (["--dry-run", "a", container.url], "--dry-run needs --from"),
                ] {
                    let result = try await Command.run(
                        [container.binary, "container", "import"] + arguments, environment: bench.environment)
                    #expect(result.status == 64 && result.errors.contains(words), "\(result.errors)")
                }
            }
        }
    }
}
