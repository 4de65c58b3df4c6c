import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Download throttle") struct Storm {
        private func storms(_ container: MountedContainer) async throws -> [StormReport] {
            let output = try await container.statusOfAll()
            let status = try JSONDecoder().decode([ContainerStatus].self, from: Data(output.utf8)).first {
                $0.mountpoint == container.a.point
            }
            return try #require(status?.storms)
        }

        private func missingFileCount(_ container: MountedContainer) async throws -> Int {
            let said = try await container.dewpoint(["download", "--dry-run", container.a.point])
            let words = said.dropFirst(container.a.point.count + 2).split(separator: " ")
            return try #require(words.first.flatMap { Int($0) })
        }

        private func withFiles(_ body: (MountedContainer) async throws -> Void) async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"mkdir -p "$1/d"; for n in $(seq 10 29); do head -c 9000 /dev/urandom > "$1/d/$n"; done"#, a.point)
                try await a.sync()
                try await a.evict("d")
                try await a.unmount()
                try await a.mount(options: "storm_files=5")
                try await body(container)
            }
        }

        @Test func `a process that downloads too many files is held, reported, and resumed on request`() async throws {
            try await withFiles { container in
                let a = container.a
                let grep = Task {
                    try await Command.run(["grep", "-r", "no such line", a.path("d")], limit: .seconds(60))
                }
                try await eventually("it is held") {
                    try await storms(container).first?.state == .held
                }
                let storm = try #require(try await storms(container).first)
                #expect(storm.fileCount == 5 && storm.byteCount == 45000 && storm.waitingReadCount == 1)
                #expect(try await missingFileCount(container) == 15)
                let text = try await container.statusText()
                #expect(text.contains("resume with: dewpoint allow-download \(storm.group)"))
                // Other processes can read, and explicit downloads are not counted.
                try await Command.check(["cat", a.path("d/29")])
                try await container.dewpoint(["download", "--wait", a.path("d/28"), a.path("d/27"), a.path("d/26")])
                #expect(try await storms(container).first?.state == .held)

                try await container.dewpoint(["allow-download", "\(storm.group)"])
                let result = try await grep.value
                #expect(result.status == 1 && result.errors.isEmpty)
                #expect(try await missingFileCount(container) == 0)
                // A process that has ended is no longer reported.
                #expect(try await storms(container) == [])
                let unknown = try await Command.run(
                    [container.binary, "allow-download", "\(storm.group)"], environment: container.environment)
                // 69 if other mounts of the machine do not answer.
                #expect([66, 69].contains(unknown.status))
            }
        }

        @Test
        func `processes of one command count together, fail when refused, and can be killed when held`() async throws {
            try await withFiles { container in
                let a = container.a
                let find = Task {
                    try await Command.run(
                        ["find", a.path("d"), "-type", "f", "-exec", "head", "-c", "1", "{}", ";"], limit: .seconds(60))
                }
                try await eventually("it is held") {
                    try await storms(container).first?.state == .held
                }
                let storm = try #require(try await storms(container).first)
                try await container.dewpoint(["allow-download", "--refuse", "\(storm.group)"])
                let result = try await find.value
                #expect(
                    result.errors.split(separator: "\n").count { $0.contains("Resource deadlock avoided") } == 15
                )
                #expect(try await missingFileCount(container) == 15)

                let killed = try await Command.run(["grep", "-r", "no such line", a.path("d")], limit: .seconds(3))
                #expect(killed.status == Command.timedOut)
                #expect(killed.seconds < 6)
                #expect(try await missingFileCount(container) == 10)
            }
        }
    }
}
