import CLinux
import Foundation
import Glibc
import Linux

/// How the C library of a daemon copies memory.
///
/// glibc copies more than some kilobytes with `rep movsb` where the processor says that it does so fast. Those of AMD
/// since Zen 3 say it, and are up to twenty times slower at it than a loop when source and target are not aligned alike
/// (lunnova.dev/articles/ryzen-slow-short-rep-mov; sourceware.org bug 30994). Nothing that a daemon sends or receives is:
/// it has a header before it, or a nonce. A sixth of the processor time of an upload into an
/// encrypted container was spent with that.
///
/// Only the environment can say so, before the process starts. A daemon in the background is started with it; one in the
/// foreground, as systemd has it, starts itself anew, as the same process.
package enum MemoryCopies {
    private static let variable = "GLIBC_TUNABLES"
    /// From this number of bytes on, which no copy has: 1 GiB.
    private static let value = "glibc.cpu.x86_rep_movsb_threshold=1073741824"
    private static let vendors = ["AuthenticAMD", "HygonGenuine"]
    /// Of `/proc/cpuinfo`, which names the vendor for each processor: 4 KiB.
    private static let readByteCount = 4 << 10

    /// What the environment of a daemon has to say, as `NAME=VALUE`; `nil` for nothing.
    ///
    /// - Parameters:
    ///   - own: What the user has set there, which stays.
    ///   - processors: The beginning of `/proc/cpuinfo`.
    static func setting(
        besides own: String? = ProcessInfo.processInfo.environment[variable], processors: String = Self.processors()
    ) -> String? {
        guard own == nil, vendors.contains(where: processors.contains) else { return nil }
        return "\(variable)=\(value)"
    }

    /// Starts this program anew with the setting, if it is about to serve in the foreground.
    ///
    /// To be called before anything is opened or taken from the environment. Returns if there is nothing to set or
    /// the program cannot be started: then the C library decides.
    package static func startAnew() {
        guard servesInForeground(CommandLine.arguments), setting() != nil else { return }
        setenv(variable, value, 1)
        // A program with privileges of its own loses the setting at its start: it would start anew for ever.
        if CLinux_secure_getenv(variable) != nil {
            // Not as text: a mountpoint is any bytes.
            execv(DaemonLauncher.program(), CommandLine.unsafeArgv)
        }
        unsetenv(variable)
    }

    /// Whether this command line, the program's name included, is that of a daemon in the foreground.
    static func servesInForeground(_ arguments: [String]) -> Bool {
        arguments.dropFirst().first == "mount" && arguments.prefix { $0 != "--" }.contains("--foreground")
    }

    /// So that the programs that a daemon starts do not inherit it.
    static func keepFromChildren() {
        if let text = getenv(variable), String(cString: text) == value { unsetenv(variable) }
    }

    /// Empty where there is no `/proc`: then the C library decides.
    private static func processors() -> String {
        guard let bytes = try? Descriptor("/proc/cpuinfo").read(byteCount: readByteCount, at: 0) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
