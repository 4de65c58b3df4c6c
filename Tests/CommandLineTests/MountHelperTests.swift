import Foundation
import Programs
import Testing

/// `scripts/packaging/mount.dewpoint`, which mount(8) runs, with a program of its own in place of dewpoint.
@Suite struct MountHelperTests {
    private static let helper = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../../scripts/packaging/mount.dewpoint").standardized.path()

    /// The arguments that dewpoint gets, and the variables.
    private func run(options: String) async throws -> (arguments: [String], variables: [String]) {
        let directory = FileManager.default.temporaryDirectory.appending(path: "helper-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // Another process writes it: while this one has it open for writing, a child that another test starts has so
        // too until it runs its own program, and a program that is open for writing is ETXTBSY for execve(2).
        let program = "#!/bin/sh\nprintf '<%s>\\n' \"$@\"; env"
        _ = try await Program.run(
            ["/bin/sh", "-c", #"printf '%s\n' "$1" > "$2" && chmod 755 "$2""#, "sh", program, "\(directory)/dewpoint"])
        let output = try await Program.run(
            ["/bin/sh", Self.helper, "file:///a", "/mnt", "-o", options],
            environment: ["PATH": "\(directory):/usr/bin:/bin", "AWS_SECRET_ACCESS_KEY": "of-root"])
        let lines = output.split(separator: "\n").map(String.init)
        return (lines.filter { $0.hasPrefix("<") }, lines.filter { !$0.hasPrefix("<") })
    }

    @Test func `a comma within a value does not split it`() async throws {
        let (arguments, _) = try await run(
            options: #"nofail,device_name=a\,b\\c,ignore=x\,y\\,allow_other,ignore=\*,state=/p\,q\\,_netdev"#)
        #expect(
            arguments == [
                "<mount>", "<--device-name>", #"<a,b\c>"#, "<--state>", #"</p,q\>"#, "<-o>",
                #"<ignore=x\,y\\,allow_other,ignore=\*>"#, "<-->", "<file:///a>", "</mnt>",
            ])
    }

    @Test func `the manual page has the options with a value that the helper takes for itself`() throws {
        let script = try String(contentsOfFile: Self.helper, encoding: .utf8)
        let page = try String(contentsOfFile: Self.helper + ".8", encoding: .utf8)
        let taken = script.matches(of: /\b([a-z_]+)=\*/).map { String($0.output.1) }.filter { $0 != "comment" }
        let explained = page.matches(of: /\n\.It Cm (\w+) Ns =/).map { String($0.output.1) }
        #expect(taken == explained && !taken.isEmpty)
    }

    @Test(.enabled(if: geteuid() == 0, "another user's mount takes root"))
    func `a user's daemon gets nothing of root's environment`() async throws {
        let (arguments, variables) = try await run(options: "setuid=nobody,allow_other")
        #expect(arguments == ["<mount>", "<-o>", "<allow_other>", "<-->", "<file:///a>", "</mnt>"])
        #expect(!variables.contains { $0.contains("of-root") })
        #expect(variables.contains("USER=nobody") && variables.contains("LOGNAME=nobody"))
        #expect(variables.contains { $0.hasPrefix("HOME=/nonexistent") })
        let own = try await run(options: "allow_other").variables
        #expect(own.contains("AWS_SECRET_ACCESS_KEY=of-root"))
    }
}
