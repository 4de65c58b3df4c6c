import Foundation
import Testing

/// Directories of several users.
extension RealMount.Taking {
    private static let asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    @Test(.needsRoot(to: "act as another user"))
    func `a user who stays in a directory that root takes gains nothing by what he puts into it`() async throws {
        try await MountedContainer.with(devices: []) { container in
            // He makes a link to a program of root where he had a pipe that may do anything.
            try await Command.script(
                #"""
                chmod 755 "$1"; cd "$1"; mkdir -p mine/sub; echo k > mine/sub/k; mkfifo mine/sub/p; mkfifo go; chmod 666 go
                chown -R 65534:65534 mine; chmod 4777 mine/sub/p; cp /bin/true program; chmod 755 program
                cd mine/sub
                setpriv --reuid=65534 --regid=65534 --clear-groups \
                    sh -c 'read -r line < "$1/go"; ln -s "$1/program" p; echo made > "$1/go"' sh "$1" > /dev/null 2>&1 &
                """#, container.directory)
            let result = try await take(
                container, "--id", "iCloud.com.example.Taken", "--state", state(container))
            #expect(result.status == 0, "\(result.errors)")
            let made = try await Command.script(
                #"echo go > "$1/go"; timeout 10 cat "$1/go""#, container.directory)
            #expect(made == "made\n")
            let undone = try await Command.run(
                [container.binary, "take", "--undo", directory(container)], limit: .seconds(60),
                environment: container.environment)
            #expect(undone.status == 0)
            #expect(
                undone.errors.hasSuffix(
                    """
                    dewpoint: 1 item could not be given back as on the mount:
                    dewpoint:   sub/p: another program has put something there

                    """), "\(undone.errors)")
            let seen = try await Command.script(
                #"cd "$1"; stat -c '%a %u' program; readlink mine/sub/p; cat mine/sub/k"#, container.directory)
            #expect(seen == "755 0\n\(container.directory)/program\nk\n")
        }
    }

    @Test(.needsRoot(to: "act as another user"))
    func `an ordinary user gets back what he has in a directory of another user, bits of other groups included`()
        async throws
    {
        try await MountedContainer.with(devices: []) { container in
            try await Command.script(
                #"""
                chmod 755 "$1"; cd "$1"; mkdir -p mine users/home users/run; echo k > mine/k; chown 65534:100 mine/k
                chmod 6755 mine/k; chown -R 65534 users; chmod 700 users/run; chgrp 100 mine; chmod 2777 mine
                """#, container.directory)
            var environment = container.environment
            environment["HOME"] = container.directory + "/users/home"
            environment["XDG_STATE_HOME"] = container.directory + "/users/home/state"
            environment["XDG_RUNTIME_DIR"] = container.directory + "/users/run"
            let url = "file://\(container.directory)/users/store"
            let taken = try await Command.run(
                Self.asNobody + [
                    container.binary, "take", directory(container), url, "--id", "iCloud.com.example.Taken",
                ], limit: .seconds(60), environment: environment)
            #expect(taken.status == 0, "\(taken.errors)")
            let undone = try await Command.run(
                Self.asNobody + [container.binary, "take", "--undo", directory(container)], limit: .seconds(60),
                environment: environment)
            #expect(undone.status == 0, "\(undone.errors)")
            let seen = try await Command.script(
                #"cd "$1"; stat -c '%a %u %g' mine mine/k; cat mine/k"#, container.directory)
            #expect(seen == "2777 0 100\n6755 65534 100\nk\n")
        }
    }

    @Test(.needsRoot(to: "act as another user"))
    func `what an access list gives is listed, and not given on the mount but after a return`() async throws {
        try await MountedContainer.with(devices: []) { container in
            try await Command.script(
                #"""
                chmod 755 "$1"; mkdir "$1/mine"; cd "$1/mine"; echo secret > s; chown 0:65534 s; chmod 600 s
                setfacl -m u:33:rw s
                """#, container.directory)
            let result = try await take(
                container, "--id", "iCloud.com.example.Taken", "--state", state(container))
            #expect(result.status == 0, "\(result.errors)")
            #expect(
                result.errors == """
                    dewpoint: 1 item has what a mount has not, and what it gives to others than owner and group is not given there:
                    dewpoint:   s: an access list (ACL)

                    """)
            let read = try await Command.run(Self.asNobody + ["cat", directory(container) + "/s"])
            #expect(read.status == 1 && read.output.isEmpty, "\(read.output)")
            #expect(
                try await Command.script(#"stat -c %a "$1/mine/s""#, container.directory) == "600\n")
            try await container.dewpoint(["take", "--undo", directory(container)])
            let list = try await Command.script(#"getfacl -cpn "$1/mine/s""#, container.directory)
            #expect(list == "user::rw-\nuser:33:rw-\ngroup::---\nmask::rw-\nother::---\n\n")
        }
    }

    @Test(.needsRoot(to: "mount a file system"))
    func `a mount whose state is on another file system stays mounted, and can be given back beside the state`()
        async throws
    {
        try await MountedContainer.with(devices: []) { container in
            let place = container.directory + "/memory"
            let (mount, other) = (place + "/pictures", container.directory + "/other")
            try await Command.script(#"mkdir "$1" "$2"; mount -t tmpfs none "$1"; mkdir "$1/pictures""#, place, other)
            do {
                try await container.dewpoint(["mount", container.url, mount, "--state", state(container)])
                try await Command.script(#"echo hello > "$1/a""#, mount)
                let refused = try await Command.run(
                    [container.binary, "take", "--undo", mount], limit: .seconds(60), environment: container.environment
                )
                #expect(refused.status == 73)
                #expect(
                    refused.errors == """
                        dewpoint: \(mount) is not on the file system of the state \(state(container)), or on another mount of it, so \
                        that everything would have to be copied; have it given back to an empty directory beside the state, which can \
                        be copied then: dewpoint take --undo DIRECTORY --state \(state(container)), once it is unmounted: dewpoint \
                        unmount \(mount)

                        """)
                #expect(try await Command.script(#"cat "$1/a""#, mount) == "hello\n")
                try await container.dewpoint(["unmount", mount])
                // As of an earlier version, which noted the return first.
                try await Command.script(#"printf 'returning\n755\n0\n%s' "$1" > "$2/taking""#, mount, state(container))
                let again = try await Command.run(
                    [container.binary, "take", "--undo", mount, "--state", state(container)], limit: .seconds(60),
                    environment: container.environment)
                #expect(again.status == 73, "\(again.errors)")
                try await container.dewpoint(["take", "--undo", other, "--state", state(container)])
                #expect(try await Command.script(#"cat "$1/a""#, other) == "hello\n")
            } catch {
                _ = try? await Command.script(#"umount -l "$1/pictures"; umount -l "$1""#, place)
                throw error
            }
            try await Command.script(#"umount -l "$1""#, place)
        }
    }

    @Test(.needsRoot(to: "mount a directory"))
    func `what is mounted in the directory is named, and a state on another mount of its file system refused`()
        async throws
    {
        try await MountedContainer.with(devices: []) { container in
            let (outside, inner) = (container.directory + "/outside", directory(container) + "/sub/inner")
            try await Command.script(
                #"mkdir -p "$1/in" "$2"; echo a > "$1/in/a"; mount --bind "$1" "$2""#, outside, inner)
            do {
                let id = "iCloud.com.example.Taken"
                let first = try await take(container, "--id", id, "--state", state(container))
                #expect(
                    first.errors == """
                        dewpoint: \(directory(container)) cannot be taken over, and nothing was changed: something is mounted in it; \
                        unmount that first
                        \(inner)

                        """)
                #expect(first.status == 73)
                let second = try await Command.run(
                    [
                        container.binary, "take", inner + "/in", container.url + "-taken", "--id", id, "--state",
                        state(container),
                    ], limit: .seconds(60), environment: container.environment)
                #expect(second.errors.contains("or on another mount of it"), "\(second.errors)")
                #expect(second.status == 64)
            } catch {
                _ = try? await Command.script(#"umount -l "$1""#, inner)
                throw error
            }
            try await Command.script(#"umount -l "$1""#, inner)
            #expect(try await Command.script(#"cat "$1/in/a""#, outside) == "a\n")
        }
    }

    @Test(.needsRoot(to: "act as another user"))
    func `a directory in which this user cannot mount is refused before anything is made`() async throws {
        try await MountedContainer.with(devices: []) { container in
            try await Command.script(
                #"chmod 755 "$1"; cd "$1"; mkdir mine store; chown 65534 store; mkdir mine/d; chown 65534 mine/d"#,
                container.directory)
            for (mode, reason) in [
                ("500", "cannot be read; chmod u+rwx it, or run this as root"),
                ("755", "cannot be written; chmod u+rwx it, or run this as root"),
                (
                    "1777",
                    "is sticky (chmod +t) and another user's, where only that user and root may mount; run this as root"
                ),
            ] {
                try await Command.script(#"chmod "$1" "$2""#, mode, directory(container))
                let result = try await Command.run(
                    Self.asNobody + [
                        container.binary, "take", directory(container), "file://\(container.directory)/store/c", "--id",
                        "iCloud.com.example.Taken", "--state", container.directory + "/store/state", "--dry-run",
                    ], limit: .seconds(60), environment: container.environment)
                #expect(
                    result.errors
                        == "dewpoint: \(directory(container)) cannot be taken over, and nothing was changed: the directory itself "
                        + "\(reason)\n")
                #expect(result.status == 73)
            }
        }
    }

    @Test func `a return says what the container has not, and which mount would be made there again`() async throws {
        try await MountedContainer.with(devices: []) { container in
            var environment = container.environment
            environment["XDG_CONFIG_HOME"] = container.directory + "/config"
            let id = "iCloud.com.example.Taken"
            try await Command.script(#"mkdir "$1"; echo a > "$1/a""#, directory(container))
            func run(_ arguments: String...) async throws -> Command {
                try await Command.run([container.binary] + arguments, limit: .seconds(60), environment: environment)
            }
            let url = "file://\(container.directory)/store"
            #expect(try await run("take", directory(container), url, "--id", id).status == 0)
            #expect(try await run("sync", "--wait", directory(container)).status == 0)
            let added = try await run("add", "pictures", url, directory(container))
            #expect(added.status == 0, "\(added.errors)")
            try await Command.script(
                #"mv "$1/store" "$1/away"; echo b > "$2/b""#, container.directory, directory(container))
            let undone = try await run("take", "--undo", directory(container))
            #expect(undone.status == 0)
            #expect(
                undone.errors == """
                    dewpoint: not uploaded: 1 change (2 B), which \(directory(container)) has and the container has not: b
                    dewpoint: the mount pictures is still in the mounts file; remove it: dewpoint remove pictures

                    """)
            // One that ended in the removal of the state is found by what is removed last.
            try await Command.script(
                #"mkdir -p "$1"; printf 'returning\n755\n0\n%s' "$2" > "$1/taking"; chmod 700 "$1""#,
                container.directory + "/state-home/dewpoint/" + id, directory(container))
            let finished = try await run("take", "--undo", directory(container))
            #expect(finished.status == 0, "\(finished.errors)")
            #expect(!FileManager.default.fileExists(atPath: container.directory + "/state-home/dewpoint/" + id))
        }
    }
}
