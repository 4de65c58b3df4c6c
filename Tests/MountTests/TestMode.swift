import Foundation

/// In which way the tests mount: as `dewpoint mount` does by itself, or, with `DEWPOINT_TEST_OFF`, with fast paths
/// turned off.
///
/// A script stands before the program then, so that every mount is made so, also those of the drivers. The other way,
/// as an ordinary user, is `scripts/as-user`.
enum TestMode {
    /// What follows `off=`: names of fast paths separated by colons, or `all`.
    static let off = ProcessInfo.processInfo.environment["DEWPOINT_TEST_OFF"].flatMap { $0.isEmpty ? nil : $0 }

    /// The program that tests run, made once.
    static let program = Result { try makeProgram() }

    private static func makeProgram() throws -> String {
        let binary = try Requirement.builtBinary()
        guard let off else { return binary }
        // Swept away with what else this process leaves behind.
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
