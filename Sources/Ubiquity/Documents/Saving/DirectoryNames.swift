import Glibc
import Model

/// The names in a directory, without `.` and `..`.
enum DirectoryNames {
    /// Related: `readdir(3)`.
    static func read(_ path: String) throws(FailedCall) -> Set<ItemPath> {
        guard let directory = opendir(path) else { throw FailedCall.current }
        defer { closedir(directory) }
        var names: Set<ItemPath> = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else {
                if errno != 0 { throw FailedCall.current }
                return names
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) {
                    String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.insert(ItemPath(name)) }
        }
    }
}
