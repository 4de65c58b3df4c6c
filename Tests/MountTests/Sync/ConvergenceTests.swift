import Foundation
import Model
import Testing

extension RealMount {
    /// Changes that two devices make while neither reaches the store, and the result of merging them.
    @Suite("Changes made offline on two devices") struct Convergence {
        private static let options = "network_timeout=2s"

        /// Everything that must be equal on two devices, one line per item, bytes included.
        private static let inventory = #"""
            cd "$1"; find . -mindepth 1 -printf '%P %y %m %l\n' | LC_ALL=C sort
            find . -type f -printf '%P %s %T@\n' | LC_ALL=C sort; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum
            """#

        /// Both devices get the result of `before`, lose the store, make their changes one after the other, and
        /// reconnect.
        private func meet(
            before: String, onA: String, onB: String, _ body: (MountedContainer) async throws -> Void
        ) async throws {
            try await MountedContainer.with(devices: ["A", "B"], options: Self.options, isDisconnectable: true) {
                container in
                let (a, b) = (container.a, container.b)
                try await Command.script(#"cd "$1"; "# + before, a.point)
                try await converge(container)
                // Downloads the bytes too, so that the files can be edited without the store.
                for device in [a, b] { try await container.dewpoint(["download", device.point, "--wait"]) }
                try await container.disconnect()
                try await Command.script(#"cd "$1"; "# + onA, a.point)
                // The modification times must differ.
                try await Task.sleep(for: .milliseconds(20))
                try await Command.script(#"cd "$1"; "# + onB, b.point)
                try await container.reconnect()
                try await converge(container)
                try await body(container)
                for device in [a, b] { try await device.check() }
            }
        }

        /// Syncs both devices until each has the other's changes and the result of merging them.
        private func converge(_ container: MountedContainer) async throws {
            for _ in 1...3 { for device in [container.a, container.b] { try await device.sync() } }
        }

        private func versions(_ device: Device, _ name: String) async throws -> [ItemVersion] {
            let text = try await device.container.dewpoint(["versions", device.path(name), "--json"])
            return try JSONDecoder().decode([ItemVersion].self, from: Data(text.utf8))
        }

        private func text(_ device: Device, _ name: String) async throws -> String {
            try await Command.check(["cat", device.path(name)]).trimmingCharacters(in: .newlines)
        }

        @Test(arguments: ["A", "B"], ["current", "loser"])
        func `devices agree on the winner of two edits, and a resolution on either applies to both`(
            resolver: String, keeping: String
        ) async throws {
            try await meet(
                before: "echo base > f", onA: "echo 'from A' > f", onB: "echo 'from B' > f"
            ) { container in
                let devices = [container.a, container.b]
                var losers: [ItemVersion] = []
                for device in devices {
                    // The later edit wins.
                    #expect(try await text(device, "f") == "from B")
                    #expect(try await device.attribute("conflictCount", of: "f") == "1")
                    #expect(try await device.attribute("hasUnresolvedConflicts", of: "f") == "1")
                    let conflicts = try await versions(device, "f").filter { $0.kind == .conflict }
                    losers.append(try #require(conflicts.first))
                    #expect(conflicts.count == 1)
                }
                #expect(losers[0].id == losers[1].id)
                #expect(losers.allSatisfy { $0.computer == "A" && $0.size == 7 })

                let device = container.device(resolver)
                try await container.dewpoint(
                    ["resolve", device.path("f"), "--keep", keeping == "current" ? "current" : losers[0].id])
                try await converge(container)
                for device in devices {
                    #expect(try await text(device, "f") == (keeping == "current" ? "from B" : "from A"))
                    #expect(try await device.attribute("conflictCount", of: "f") == "0")
                    #expect(try await device.attribute("hasUnresolvedConflicts", of: "f") == "0")
                    #expect(try await versions(device, "f").allSatisfy { $0.kind != .conflict })
                }
                guard keeping == "loser" else { return }
                // The version that was current until then is still available.
                let earlier = try await versions(device, "f").filter { $0.kind == .earlier && $0.computer == "B" }
                let winner = try #require(earlier.first)
                try await container.dewpoint(["versions", device.path("f"), "--restore", winner.id])
                try await converge(container)
                for device in devices { #expect(try await text(device, "f") == "from B") }
            }
        }

        /// The changes on two devices, and the result that both must have.
        struct Meeting: Sendable, CustomTestStringConvertible {
            let what: String
            var before = "true"
            let onA: String
            let onB: String
            /// The texts of all files, sorted.
            let texts: [String]
            /// The expected paths; `nil` if they depend on which device was first.
            var paths: [String]?

            var testDescription: String { what }
        }

        static let meetings = [
            Meeting(
                what: "edit and delete", before: "echo base > f", onA: "echo edited > f", onB: "rm f",
                texts: ["edited"],
                paths: ["f"]),
            Meeting(
                what: "delete and edit", before: "echo base > f", onA: "rm f", onB: "echo edited > f",
                texts: ["edited"],
                paths: ["f"]),
            Meeting(what: "rename and rename", before: "echo base > f", onA: "mv f a", onB: "mv f b", texts: ["base"]),
            Meeting(
                what: "rename and edit", before: "echo base > f", onA: "mv f g", onB: "echo edited > f",
                texts: ["edited"], paths: ["g"]),
            Meeting(
                what: "two files renamed to one name", before: "echo one > 1; echo two > 2", onA: "mv 1 x",
                onB: "mv 2 x", texts: ["one", "two"], paths: ["x", "x 2"]),
            Meeting(
                what: "the same new name", onA: "echo one > new.txt", onB: "echo two > new.txt", texts: ["one", "two"],
                paths: ["new 2.txt", "new.txt"]),
            Meeting(
                what: "the same new file", onA: "echo one > new.txt", onB: "echo one > new.txt", texts: ["one"],
                paths: ["new.txt"]),
            Meeting(
                what: "a directory and a file of one name", onA: "mkdir x; echo inside > x/f", onB: "echo file > x",
                texts: ["file", "inside"]),
            Meeting(
                what: "a file and a directory of one name", onA: "echo file > x", onB: "mkdir x; echo inside > x/f",
                texts: ["file", "inside"]),
            Meeting(
                what: "two directories of one name", onA: "mkdir x; echo one > x/1; echo same > x/s",
                onB: "mkdir x; echo two > x/2; echo same > x/s", texts: ["one", "same", "two"],
                paths: ["x", "x/1", "x/2", "x/s"]),
            Meeting(
                what: "names that differ in case", onA: "echo one > Readme", onB: "echo two > README",
                texts: ["one", "two"], paths: ["README", "Readme"]),
            Meeting(
                what: "names that differ in composition", onA: #"echo one > $'caf\xc3\xa9'"#,
                onB: #"echo two > $'cafe\xcc\x81'"#, texts: ["one", "two"], paths: ["cafe\u{301}", "caf\u{e9}"]),
            Meeting(
                what: "a directory deleted and something new in it", before: "mkdir d; echo old > d/old",
                onA: "rm -r d",
                onB: "echo new > d/new", texts: ["new"], paths: ["d", "d/new"]),
            Meeting(
                what: "a directory deleted and a file in it edited", before: "mkdir d; echo old > d/f; echo old > d/g",
                onA: "rm -r d", onB: "echo edited > d/f", texts: ["edited"], paths: ["d", "d/f"]),
            Meeting(
                what: "moves that would make a cycle", before: "mkdir a b; echo one > a/1; echo two > b/2",
                onA: "mv a b/", onB: "mv b a/", texts: ["one", "two"]),
            Meeting(
                what: "a file moved into a directory that is renamed", before: "mkdir d; echo one > f", onA: "mv f d/",
                onB: "mv d e", texts: ["one"], paths: ["e", "e/f"]),
            Meeting(
                what: "an atomic save and an edit in place", before: "echo base > f",
                onA: "echo saved > t; mv t f", onB: "echo edited >> f", texts: ["base\nedited"], paths: ["f"]),
        ]

        @Test(arguments: meetings)
        func `both devices agree and no content is lost`(meeting: Meeting) async throws {
            try await meet(before: meeting.before, onA: meeting.onA, onB: meeting.onB) { container in
                let (a, b) = (container.a, container.b)
                let ours = try await Command.script(Self.inventory, a.point)
                #expect(try await Command.script(Self.inventory, b.point) == ours)
                let texts = try await Command.script(
                    #"cd "$1"; find . -type f -print0 | while read -r -d '' f; do cat "$f"; printf '\0'; done"#, a.point
                ).split(separator: "\0").map { $0.trimmingCharacters(in: .newlines) }
                #expect(texts.sorted() == meeting.texts)
                guard let paths = meeting.paths else { return }
                let found = try await Command.script(#"cd "$1"; find . -mindepth 1 -printf '%P\n'"#, a.point)
                func bytes(_ paths: [String]) -> Set<[UInt8]> { Set(paths.map { Array($0.utf8) }) }
                #expect(bytes(found.split(separator: "\n").map(String.init)) == bytes(paths), "\(found)")
            }
        }
    }
}
