import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Fast paths") struct FastPaths {
        /// Operations that use every fast path: small files and a large one are downloaded, read again, listed, mapped
        /// and written.
        private static let work = #"""
            cd "$1"
            for pass in away here again; do
              sha256sum small/* large; stat -c '%n %s %a' small/*; ls small missing 2>&1 || true; readlink link
            done
            python3 -c 'import mmap, sys
            with open("large", "r+b") as file, mmap.mmap(file.fileno(), 0) as map:
                map[0:6] = b"mapped"; sys.stdout.write(map[1 << 20:(1 << 20) + 20].hex() + "\n")'
            head -c 10 large | od -c; printf XX | dd of=large bs=1 seek=3000000 conv=notrunc status=none; sha256sum large
            chmod 4755 small/1; echo more >> small/1; stat -c %a small/1; mv small/2 small/two; ls small | sha256sum; cat small/two
            """#

        private static let expected = Task { try await run(off: nil).printed }

        private static func run(off: String?) async throws -> (printed: String, status: ContainerStatus) {
            var result: (String, ContainerStatus)?
            try await MountedContainer.with(options: off.map { "off=" + $0 }) { container in
                let a = container.a
                try await Command.script(
                    #"""
                    cd "$1"; mkdir small; ln -s small/1 link
                    for n in $(seq 40); do echo "small $n" > small/$n; done
                    python3 -c 'import random; open("large", "wb").write(random.Random(1).randbytes(5 << 20))'
                    """#, a.point)
                try await a.sync()
                try await a.evict("")
                let printed = try await Command.script(work, a.point)
                let all = try JSONDecoder().decode(
                    [ContainerStatus].self, from: Data(try await container.statusOfAll().utf8))
                result = (printed, try #require(all.first { $0.mountpoint == a.point }))
                try await a.sync()
                try await a.check()
            }
            return try #require(result)
        }

        @Test(arguments: FastPath.allCases.map(\.rawValue) + ["all"])
        func `programs see the same results with fast paths turned off`(off: String) async throws {
            let (printed, status) = try await Self.run(off: off)
            let expected = try await Self.expected.value
            #expect(printed == expected)
            for path in status.fastPaths where off == "all" || off == path.name.rawValue {
                #expect(path.state == .off, "\(path)")
            }
        }

        @Test func `turning off read_ahead turns off the kernel's read-ahead`() async throws {
            try await MountedContainer.with(options: "off=read_ahead") { container in
                let ahead = try await Self.readAhead(at: container.a.point)
                #expect(ahead == "0\n")
            }
            guard TestMode.off == nil else { return }
            try await MountedContainer.with { container in
                let ahead = try await Self.readAhead(at: container.a.point)
                #expect(ahead != "0\n")
            }
        }

        /// The kernel's read-ahead in KiB.
        private static func readAhead(at point: String) async throws -> String {
            try await Command.script(#"cat "/sys/class/bdi/$(mountpoint -d "$1")/read_ahead_kb""#, point)
        }

        @Test func `an unknown fast path is refused with a list of the known ones`() async throws {
            try await MountedContainer.with { container in
                let result = try await Command.run(
                    [container.binary, "mount", container.url, container.b.point, "-o", "off=splice:fast"],
                    environment: container.environment)
                #expect(result.status == 64)
                #expect(FastPath.allCases.allSatisfy { result.errors.contains($0.rawValue) }, "\(result.errors)")
            }
        }
    }
}
