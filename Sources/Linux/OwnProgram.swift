import Glibc

/// The program that this process runs.
package enum OwnProgram {
    /// Runs it also where its file was replaced or removed meanwhile. Related: proc_pid_exe(5).
    package static let link = "/proc/self/exe"

    /// The file that it was started from, which may be gone by now; `nil` where that cannot be read.
    package static var path: String? {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &target, target.count)
        return count > 0 ? String(decoding: target[..<count], as: UTF8.self) : nil
    }

    /// Where a program is that is installed with this one.
    ///
    /// - Parameter place: From the directory of this one.
    package static func path(beside place: String) -> String {
        let directory = (path ?? "").utf8.split(separator: UInt8(ascii: "/")).dropLast()
        return "/" + (directory.map { String(Substring($0)) } + [place]).joined(separator: "/")
    }
}
