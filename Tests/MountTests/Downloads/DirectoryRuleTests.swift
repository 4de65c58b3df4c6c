import Model
import Testing

extension RealMount {
    @Suite("Rules of directories") struct DirectoryRules {
        @Test func `a directory's rule is set, read below it, moved and removed as an attribute`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("d/e/f", byteCount: 10)
                let name = "user.dewpoint.evictAfter"
                #expect(try await a.call("getxattr", "d/e/f", name) == "OK off")
                #expect(try await a.call("setxattr", "d", name, "7d") == "OK")
                #expect(try await a.call("getxattr", "d/e/f", name) == "OK 7d")
                #expect(try await !a.call("listxattr", "d").contains("user."))
                #expect(try await a.call("setxattr", "d", name, "soon") == "EINVAL")
                #expect(try await a.call("setxattr", "d/e/f", name, "7d") == "EOPNOTSUPP")
                #expect(try await a.call("setxattr", "d/e", "user.dewpoint.downloadSmall", "off") == "OK")
                try await Command.script(#"mv "$1/d/e" "$1/g""#, a.point)
                #expect(try await a.call("getxattr", "g/f", name) == "OK off")
                let why = try await container.dewpoint(["why", a.path("g/f")])
                #expect(why.contains("\n  rules      download_small=off, set on g\n"), "\(why)")
                #expect(try await container.dewpoint(["why", a.path("d")]).contains("evict_after=7d, set on d\n"))
                #expect(try await a.call("removexattr", "d", name) == "OK")
                #expect(try await a.call("getxattr", "d", name) == "OK off")
            }
        }

        @Test func `rules of the mount for a path apply on a mount that refuses changes, and download what is small`()
            async throws
        {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                try await container.a.write("in/small", byteCount: 2000)
                try await container.a.write("out", byteCount: 2000)
                try await container.a.sync()
                try await container.b.unmount()
                try await container.b.mount(options: "ro,rules=in:download_small=4K:evict_after=off")
                try await eventually("the small file is local") {
                    try await container.b.downloadingStatus("in/small") == .current
                }
                #expect(try await container.b.downloadingStatus("out") == .notDownloaded)
                let why = try await container.dewpoint(["why", container.b.path("in/small")])
                #expect(why.contains("evict_after=off, for in by the mount's rules\n"), "\(why)")
                #expect(try await container.b.call("setxattr", "in", "user.dewpoint.evictAfter", "7d") == "EROFS")
            }
        }
    }
}
