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
            let list = try await Command.script(#"getfacl -cp "$1/mine/s""#, container.directory)
            #expect(list == "user::rw-\nuser:33:rw-\ngroup::---\nmask::rw-\nother::---\n\n")
        }
    }
}
