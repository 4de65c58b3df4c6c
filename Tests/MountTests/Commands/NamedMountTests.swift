import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Named mounts") struct NamedMounts {
        /// The variables of commands that use a mounts file of their own.
        private func variables(_ container: MountedContainer) -> [String: String] {
            container.environment.merging(
                ["XDG_CONFIG_HOME": container.directory + "/config", "HOME": container.directory + "/home"]
            ) { $1 }
        }

        private func file(_ container: MountedContainer) -> String {
            container.directory + "/config/dewpoint/mounts.toml"
        }

        @discardableResult
        private func run(_ container: MountedContainer, _ arguments: String...) async throws -> String {
            try await Command.check(
                [container.binary] + arguments, limit: .seconds(60), environment: variables(container))
        }

        /// What bash offers for the last of these words.
        private func completions(_ container: MountedContainer, _ words: String...) async throws -> [String] {
            let script = #"""
                source <("$BINARY" --generate-completion-script bash)
                dewpoint() { "$BINARY" "$@"; }
                COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_TYPE=9
                COMP_POINT=${#COMP_LINE}
                _dewpoint dewpoint "${@: -1}" "${@: -2:1}"
                printf '%s\n' "${COMPREPLY[@]%% }"
                """#
            let output = try await Command.check(
                ["bash", "-c", script, "bash"] + words,
                environment: variables(container).merging(["BINARY": container.binary]) { $1 })
            return output.split(separator: "\n").map(String.init)
        }

        /// Runs a command that must fail with a status, and returns its message.
        private func refusal(
            _ container: MountedContainer, status: Int32, _ arguments: String..., environment: [String: String] = [:]
        ) async throws -> String {
            let result = try await Command.run(
                [container.binary] + arguments, environment: variables(container).merging(environment) { $1 })
            #expect(result.status == status, "\(arguments): \(result.errors)")
            return result.errors
        }

        @Test func `a mount is added, mounted, listed, unmounted and removed by its name`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let point = container.directory + "/new/point"
                let added = try await run(
                    container, "add", "notes", container.url, point, "--state", container.a.state, "--device-name",
                    "A", "-o", "nosuid", "--ignore", "*.o")
                #expect(added == "notes is in \(file(container)); mount it with: dewpoint mount notes\n")
                #expect(
                    try await run(container, "list").contains("notes  no       no         \(point)  \(container.url)"))
                try await run(container, "mount", "notes")
                #expect(try await completions(container, "dewpoint", "remove", "no") == ["notes"])
                #expect(try await completions(container, "dewpoint", "mount", "") == ["notes"])
                let mounted = try await completions(container, "dewpoint", "unmount", "")
                #expect(mounted.contains("notes") && mounted.contains(point), "\(mounted)")
                try await Command.script(#"touch "$1/a.o" "$1/a.c""#, point)
                #expect(
                    try await Command.check(
                        [
                            "getfattr", "--only-values", "-n", "user.dewpoint.isUbiquitousItem", "--absolute-names",
                            point + "/a.o",
                        ])
                        == "0")
                #expect(
                    try await Command.check(
                        [
                            "getfattr", "--only-values", "-n", "user.dewpoint.isUbiquitousItem", "--absolute-names",
                            point + "/a.c",
                        ])
                        == "1")
                #expect(try await Command.check(["grep", " \(point) ", "/proc/self/mountinfo"]).contains("nosuid"))
                let listed =
                    try JSONSerialization.jsonObject(
                        with: Data(try await run(container, "list", "--json").utf8)) as? [[String: Any]]
                #expect(listed?.first?["mounted"] as? Bool == true)
                #expect(listed?.first?["mountpoint"] as? String == point)
                #expect(
                    try await refusal(container, status: 75, "mount", "notes")
                        == "dewpoint: notes is already mounted at \(point); nothing is left to do: see dewpoint status \(point)\n"
                )
                #expect(
                    try await refusal(container, status: 75, "remove", "notes")
                        == "dewpoint: notes is mounted at \(point); unmount it first with: dewpoint unmount notes\n")
                try await run(container, "unmount", "notes")
                #expect(
                    try await refusal(container, status: 66, "unmount", "notes")
                        == "dewpoint: notes is not mounted; its mountpoint is \(point)\n")
                #expect(
                    try await run(container, "remove", "notes")
                        == "notes is no longer in \(file(container)); the container \(container.url) is unchanged, and its "
                        + "state stays in \(container.a.state)\n")
                #expect(FileManager.default.fileExists(atPath: container.a.state + "/index.sqlite"))
                #expect(
                    try await refusal(container, status: 66, "mount", "notes")
                        == "dewpoint: there is no mount notes; add one with: dewpoint add notes URL MOUNTPOINT\n")
            }
        }

        @Test func `the command line wins over the file`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let point = container.directory + "/point"
                try await run(
                    container, "add", "notes", container.url, container.directory + "/other", "--state",
                    container.directory + "/other-state", "-o", "ro")
                try FileManager.default.createDirectory(atPath: point, withIntermediateDirectories: true)
                try await run(container, "mount", "notes", point, "--state", container.a.state, "-o", "rw")
                try await Command.check(["touch", point + "/a"])
                #expect(!FileManager.default.fileExists(atPath: container.directory + "/other-state"))
                try await run(container, "unmount", point)
            }
        }

        @Test func `rules of directories in the file apply to the mount, and the attribute wins over them`()
            async throws
        {
            try await MountedContainer.with(devices: []) { container in
                let point = container.directory + "/point"
                try await run(container, "add", "notes", container.url, point, "--state", container.a.state)
                try await Command.script(
                    #"printf '%s\n' '' '[mounts.notes.rules."a, b:c/d"]' 'evict_after = "7d"' 'keep_recent = "off"' >> "$1""#,
                    file(container))
                try await run(container, "edit", "--check")
                try await run(container, "mount", "notes")
                try await Command.script(#"mkdir -p "$1/a, b:c/d""#, point)
                let directory = point + "/a, b:c/d"
                let why = try await run(container, "why", directory)
                #expect(
                    why.contains(
                        """
                          rules      evict_after=7d, for a, b:c/d by the mount's rules
                                     keep_recent=off, for a, b:c/d by the mount's rules
                        """), "\(why)")
                try await Command.check(["setfattr", "-n", "user.dewpoint.evictAfter", "-v", "90d", directory])
                #expect(try await run(container, "why", directory).contains("evict_after=90d, set on a, b:c/d\n"))
                try await run(container, "unmount", point)
            }
        }

        @Test func `all mounts with autostart are mounted, whatever the others do`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let directory = container.directory
                for name in ["a", "b", "c"] {
                    try await run(
                        container, "add", name, container.url, "\(directory)/\(name)", "--state",
                        "\(directory)/state-\(name)", name == "c" ? "--no-autostart" : "--autostart")
                }
                // A mount that cannot be made.
                try await Command.script(#"mkdir "$1"; touch "$1/full""#, directory + "/a")
                let errors = try await refusal(container, status: 75, "mount", "--all")
                #expect(errors.hasPrefix("dewpoint: a: \(directory)/a is not empty"), "\(errors)")
                #expect(Leftovers.mountpoints(below: directory) == [directory + "/b"])
                try await Command.check(["rm", directory + "/a/full"])
                // A daemon that was killed.
                for pid in Leftovers.daemons(mentioning: directory + "/state-b") { kill(pid, SIGKILL) }
                try await run(container, "mount", "--all")
                try await Command.check(["ls", directory + "/b"])
                #expect(Set(Leftovers.mountpoints(below: directory)) == [directory + "/a", directory + "/b"])
            }
        }

        @Test func `mistakes in the file are reported with their places, and edited again`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let editor = container.directory + "/an editor"
                try await Command.script(
                    #"printf '#!/bin/sh\nprintf "[mounts.a]\\nurl = \\"%s\\"\\nmount_point = \\"/x\\"\\n" file:///nowhere > "$1"\n' > "$1"; chmod +x "$1""#,
                    editor)
                let errors = try await refusal(
                    container, status: 64, "edit", environment: ["EDITOR": "'\(editor)'", "VISUAL": ""])
                #expect(
                    errors == """
                        dewpoint: \(file(container)):1:1: the mount a has no mountpoint; add a line: mountpoint = "…"
                        [mounts.a]
                        ^
                        dewpoint: \(file(container)):3:1: a mount has no key mount_point; did you mean mountpoint?
                        mount_point = "/x"
                        ^

                        """)
                #expect(
                    try await refusal(container, status: 64, "mount", "a").hasPrefix(
                        "dewpoint: \(file(container)):1:1:"))
                #expect(try await refusal(container, status: 64, "edit", "--check").contains(":3:1:"))
                try await run(container, "remove", "a")
                #expect(
                    try await run(container, "edit", "--check") == "\(file(container)) is correct: 0 mounts\n")
                #expect(try await Command.check(["stat", "-c", "%a", file(container)]) == "600\n")
            }
        }

        @Test func `two commands at the same time both add their mounts`() async throws {
            try await MountedContainer.with(devices: []) { container in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<6 {
                        group.addTask {
                            try await run(
                                container, "add", "n\(number)", "s3://bucket/n\(number)", "/nonexistent/\(number)")
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await run(container, "list").split(separator: "\n").count == 7)
                #expect(
                    try await refusal(container, status: 73, "add", "n0", "s3://bucket/x", "/nonexistent/x")
                        .contains("choose another name"))
            }
        }

        @Test(arguments: [false, true])
        func `a daemon in the foreground tells a service manager when it is ready and when it stops`(
            _ isAbstract: Bool
        ) async throws {
            try await MountedContainer.with { container in
                try await Command.check(["touch", container.a.path("f")])
                let background = try #require(Leftovers.daemons(mentioning: container.a.state).first)
                let variables = try String(contentsOfFile: "/proc/\(background)/environ", encoding: .utf8)
                let copies = variables.split(separator: "\0").first { $0.hasPrefix("GLIBC_TUNABLES=") } ?? ""
                try await container.a.unmount()
                let address =
                    isAbstract ? "@dewpoint-\(UInt32.random(in: 0...UInt32.max))" : container.directory + "/notify"
                try await run(container, "add", "notes", container.url, container.a.point, "--state", container.a.state)
                let said = try await Driver.run(
                    "notify.py", address, container.a.point, container.binary, "mount", "--foreground", "notes",
                    environment: self.variables(container))
                #expect(
                    said == """
                        STATUS=opening \(container.a.state)
                        STATUS=mounted at \(container.a.point), waiting for the tree
                        READY=1|STATUS=mounted at \(container.a.point)
                        names: f
                        \(copies)
                        STOPPING=1|STATUS=unmounting \(container.a.point)
                        STOPPING=1|STATUS=ending its uploads and downloads
                        STATUS=syncing local bytes to the disk of \(container.a.state)
                        exit status: 0

                        """)
            }
        }
    }
}
