import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Quotas") struct QuotaTests {
        /// Runs a command that must fail, and returns its status and message.
        private func refused(_ container: MountedContainer, _ arguments: String...) async throws -> String {
            let result = try await Command.run([container.binary] + arguments, environment: container.environment)
            return "\(result.status) \(result.errors)"
        }

        @Test func `df, quota and the attributes show the quota, and what is too large waits until there is room`()
            async throws
        {
            try await MountedContainer.with(creating: ["--quota", "10M"]) { container in
                let a = container.a
                let none = """
                      used       0 B (0 bytes)
                      total      10.0 MiB (10485760 bytes)
                      remaining  10.0 MiB (10485760 bytes)

                    """
                #expect(try await container.dewpoint(["quota", a.point]) == none)
                try await a.write("f", byteCount: 6 << 20)
                try await a.sync()
                let json = #"{"remaining":4194304,"total":10485760,"used":6291456}"#
                let printed = try await container.dewpoint(["quota", a.path("f"), "--json"])
                #expect(printed.filter { !$0.isWhitespace } == json)
                #expect(
                    try await Command.script(#"df --output=size,used,avail -B1 "$1" | tail -n 1 | xargs"#, a.point)
                        == "10485760 6291456 4194304\n")
                #expect(try await a.attribute("quotaTotal", of: "") == "10485760")
                #expect(try await a.attribute("quotaUsed", of: "") == "6291456")
                #expect(try await a.call("getxattr", "f", "user.dewpoint.quotaUsed") == "ENODATA")
                #expect(try await a.call("setxattr", "", "user.dewpoint.quotaTotal", "1") == "EACCES")
                #expect(
                    try await container.dewpoint(["status", a.point]).contains("6.0 MiB of 10.0 MiB used, 4.0 MiB left")
                )

                try await a.write("g", byteCount: 5 << 20)
                let sentence =
                    "the container's quota has no room for it: 6.0 MiB of 10.0 MiB are used, and it needs 5.0 MiB more; delete "
                    + "something, or raise the quota with: dewpoint container quota \(container.url) SIZE"
                #expect(try await refused(container, "sync", "--wait", a.point) == "73 dewpoint: \(sentence)\n")
                #expect(try await a.attribute("uploadingError", of: "g") == "NSCocoaErrorDomain 4354 \(sentence)")
                #expect(try await container.dewpoint(["why", a.path("g")]).contains(sentence))
                try await container.dewpoint(["container", "quota", container.url, "20M"])
                try await a.sync()
                #expect(try await a.attribute("quotaUsed", of: "") == "11534336")
                #expect(try await a.attribute("isUploaded", of: "g") == "1")

                try await a.write("h", byteCount: 10 << 20)
                #expect(try await refused(container, "sync", "--wait", a.point).hasPrefix("73 "))
                try await container.dewpoint(["container", "quota", container.url, "none"])
                try await a.sync()
                let unlimited = try await container.dewpoint(["quota", a.point])
                #expect(
                    unlimited
                        == "  used  21.0 MiB (22020096 bytes)\nthe container has no quota; to set one, run: dewpoint container "
                        + "quota \(container.url) SIZE\n")
                #expect(try await a.call("getxattr", "", "user.dewpoint.quotaTotal") == "ENODATA")
                try await a.check()
            }
        }

        @Test func `the quota of a container is printed and changed, and a wrong size is refused`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let name = MountedContainer.identifier
                func quota(_ arguments: String...) async throws -> String {
                    try await container.dewpoint(["container", "quota", container.url] + arguments)
                }
                #expect(try await quota() == "\(name): no quota\n")
                #expect(try await quota("1536K") == "\(name): 1.5 MiB (1572864 bytes)\n")
                #expect(try await quota() == "\(name): 1.5 MiB (1572864 bytes)\n")
                #expect(
                    try await quota("--json").filter { !$0.isWhitespace }
                        == #"{"container":"\#(name)","quota":1572864}"#)
                for size in ["0", "4097P", "50GB", "much", ""] {
                    let refusal =
                        "64 dewpoint: \(size) is not a quota: write a whole number of bytes from 1 to 4096P, with K, M, G, T or P, "
                        + "as in 50G\n"
                    #expect(try await refused(container, "container", "quota", container.url, size) == refusal)
                    #expect(
                        try await refused(
                            container, "container", "create", container.url + "-2", "--id", name, "--quota", size)
                            == refusal)
                }
                #expect(try await quota("none", "--json").filter { !$0.isWhitespace } == #"{"container":"\#(name)"}"#)
                let missing = try await refused(container, "container", "quota", container.url + "-2", "1G")
                #expect(missing.hasPrefix("66 dewpoint: "), "\(missing)")
            }
        }

        @Test func `an import that is over the quota is refused`() async throws {
            try await MountedContainer.with(devices: [], creating: ["--quota", "1M"]) { container in
                let tree = container.directory + "/tree"
                try await Command.script(#"mkdir "$1"; head -c 1048577 /dev/urandom > "$1/f""#, tree)
                let refusal = try await refused(container, "container", "import", tree, container.url)
                #expect(
                    refusal.hasPrefix(
                        "73 dewpoint: the container's quota has no room for it: 0 B of 1.0 MiB are used, and it needs 1.0 MiB more; "
                    ),
                    "\(refusal)")
            }
        }
    }
}
