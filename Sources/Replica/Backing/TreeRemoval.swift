import Glibc
package import Linux
package import Model

/// Removes a directory and its contents, by descriptors: no link is followed and no other file system is entered.
package enum TreeRemoval {
    /// - Parameter owner: The user who must own the directory.
    /// - Throws: `notPermitted` when another user owns it; files that could not be removed remain.
    package static func remove(_ name: String, in parent: Descriptor, owner: UInt32) throws(FileError) {
        let place = BackingPlace(directory: parent, name: name)
        let directory = try SystemCalls.open(place, O_RDONLY | O_DIRECTORY)
        let status = try directory.status()
        guard status.owner == owner else { throw FileError(.notPermitted, "\(name) belongs to user \(status.owner)") }
        try empty(directory, device: status.device)
        try SystemCalls.unlink(place, directory: true)
    }

    /// A descriptor is open for each level, so the descriptor limit bounds the depth.
    private static func empty(_ directory: Descriptor, device: UInt64) throws(FileError) {
        for name in try SystemCalls.names(in: directory) {
            let place = BackingPlace(directory: directory, name: name)
            guard try SystemCalls.status(place).isDirectory else {
                try SystemCalls.unlink(place)
                continue
            }
            let child = try SystemCalls.open(place, O_RDONLY | O_DIRECTORY)
            guard try child.status().device == device else {
                throw FileError(.crossDevice, "another file system is mounted on \(name)")
            }
            try empty(child, device: device)
            try SystemCalls.unlink(place, directory: true)
        }
    }
}
