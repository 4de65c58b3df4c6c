import Foundation

/// How the tests mount: as `dewpoint mount` does by default, or, with `DEWPOINT_TEST_OFF`, with fast paths turned off.
///
/// With `DEWPOINT_TEST_OFF`, the tests run a script that adds the option to every mount, including those of the
/// drivers. To run the tests as an ordinary user, use `scripts/as-user`.
enum TestMode {
    /// The value of `off=`: names of fast paths separated by colons, or `all`.
    static let off = ProcessInfo.processInfo.environment["DEWPOINT_TEST_OFF"].flatMap { $0.isEmpty ? nil : $0 }

    /// The program that tests run, created once.
    static let program = Result { try makeProgram() }

    private static func makeProgram() throws -> String {
        let binary = try Requirement.builtBinary()
        guard let off else { return binary }
        // Removed with everything else that this process leaves behind.
        let path = try Leftovers.newDirectory() + "/dewpoint"
        let script = """
            #!/bin/sh
            if [ "$1" = mount ]; then shift; exec '\(binary)' mount -o 'off=\(off)' "$@"; fi
            exec '\(binary)' "$@"

            """
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }
}
