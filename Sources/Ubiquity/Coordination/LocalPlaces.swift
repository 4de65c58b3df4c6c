import Coordination
import Model

/// Locates files outside all containers for the lock table: by device, inode and the time when that was created, so that
/// they keep their claims and presenters when they are renamed.
enum LocalPlaces {
    /// The item at a path, or the empty place if there is none.
    ///
    /// - Parameter path: Absolute.
    /// - Throws: ``FileError`` with `badName` or `nameTooLong`.
    static func item(at path: String) throws(FileError) -> ClaimItem {
        let path = canonical(path)
        var ancestors: [InodeNumber] = []
        var packages: [InodeNumber] = []
        var place = ""
        let parts = ItemPath(path).components.map(String.init)
        guard let last = parts.last else {
            return ClaimItem(ancestors: [], name: nil, inode: .root, isDirectory: true)
        }
        ancestors.append(.root)
        for part in parts.dropLast() {
            place += "/\(part)"
            // A directory that does not exist yet has a number of its path.
            let number = FileStamp(place).map(number) ?? number(of: place)
            ancestors.append(number)
            if isPackage(try ItemName(part)) { packages.append(number) }
        }
        let name = try ItemName(last)
        let stamp = FileStamp(path)
        let inode = stamp.map(number)
        if let inode, stamp?.isDirectory == true, isPackage(name) { packages.append(inode) }
        return ClaimItem(
            ancestors: ancestors, name: name, inode: inode, isDirectory: stamp?.isDirectory ?? false,
            packages: packages)
    }

    private static func isPackage(_ name: ItemName) -> Bool {
        FilePackage.isPackage(name)
            || ProgramInfo.main.packageExtensions.contains(name.pathExtension.lowercased())
    }

    static func number(_ stamp: FileStamp) -> InodeNumber {
        var hash = Fingerprint()
        hash.add(stamp.device)
        hash.add(stamp.inode)
        hash.add(UInt64(bitPattern: stamp.born))
        return hash.number
    }

    private static func number(of path: String) -> InodeNumber {
        var hash = Fingerprint()
        for byte in path.utf8 { hash.add(UInt64(byte)) }
        return hash.number
    }

    /// Without symbolic links, except in the last component.
    static func canonical(_ path: String) -> String {
        let url = URL(fileURLWithPath: path).standardizedFileURL
        guard url.path != "/" else { return "/" }
        return url.deletingLastPathComponent().resolvingSymlinksInPath().appendingPathComponent(url.fileName)
            .path
    }

    /// FNV-1a of 64 bits (Fowler, Noll, Vo): equal numbers of different files, one in 2^64, would only make claims wait
    /// for each other.
    private struct Fingerprint {
        private var value: UInt64 = 0xcbf2_9ce4_8422_2325

        mutating func add(_ word: UInt64) {
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                value = (value ^ ((word >> shift) & 0xff)) &* 0x0000_0100_0000_01b3
            }
        }

        /// 0 and 1 are reserved.
        var number: InodeNumber { InodeNumber(max(value, 2)) }
    }
}
