import Glibc
import Linux
import Model

/// The trash of the desktop. Source: the Trash specification of freedesktop.org, version 1.0.
struct TrashDirectory {
    private let path: String
    /// Paths in `.trashinfo` are relative to it; `nil` for the home trash, whose paths are absolute.
    private let topDirectory: String?

    /// The most names that are tried for an item before giving up: `name`, `name 2`, ...
    private static let nameLimit = 10_000

    /// The directory of the home trash: `$XDG_DATA_HOME/Trash`, by default in `~/.local/share`.
    static func home(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        let data = environment["XDG_DATA_HOME"].flatMap { ItemPath($0).isAbsolute ? $0 : nil }
        return "\(data ?? NSHomeDirectory() + "/.local/share")/Trash"
    }

    /// The trash for an item: that of the home directory if it is on the item's file system, else one at the top of
    /// the item's file system.
    static func of(_ item: String, home: String = home()) throws(FileError) -> TrashDirectory {
        try makeDirectories(home)
        let status = try FileStatus(of: item)
        if try status.isOnFileSystem(of: home) { return TrashDirectory(path: home, topDirectory: nil) }
        let top = try topDirectory(above: item, status)
        let user = geteuid()
        let shared = "\(top)/.Trash"
        if let status = try FileStatus.ifPresent(shared), status.kind == S_IFDIR, status.permissions & S_ISVTX != 0 {
            do throws(FileError) {
                try makeDirectories("\(shared)/\(user)")
                return TrashDirectory(path: "\(shared)/\(user)", topDirectory: top)
            } catch {
                // The specification: then the user's own.
                guard error.code == .denied else { throw error }
            }
        }
        try makeDirectories("\(top)/.Trash-\(user)")
        return TrashDirectory(path: "\(top)/.Trash-\(user)", topDirectory: top)
    }

    /// Moves an item here.
    ///
    /// - Returns: Its new path.
    func take(_ item: String, date: Date) throws(FileError) -> String {
        let name = ItemPath(item).last.map(String.init) ?? item
        try Self.makeDirectories("\(path)/files")
        try Self.makeDirectories("\(path)/info")
        for number in 1...Self.nameLimit {
            let candidate = number == 1 ? name : Self.numbered(name, number)
            // The file in `info` reserves the name.
            let info = "\(path)/info/\(candidate).trashinfo"
            do throws(FileError) {
                try write(info, item: item, date: date)
                try ItemMove.move(item, to: "\(path)/files/\(candidate)")
                return "\(path)/files/\(candidate)"
            } catch {
                if error.code == .exists { continue }
                unlink(info)
                throw error
            }
        }
        throw FileError(.exists, item)
    }

    private func write(_ info: String, item: String, date: Date) throws(FileError) {
        let file = try Descriptor(info, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        let path = topDirectory.flatMap { ItemPath(item).relative(to: ItemPath($0)) }?.string ?? item
        let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "%"))
        let escaped = path.addingPercentEncoding(withAllowedCharacters: allowed) ?? path
        let time = date.formatted(
            .verbatim(
                "\(year: .padded(4))-\(month: .twoDigits)-\(day: .twoDigits)T\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits)",
                locale: Locale(identifier: "en_US_POSIX"), timeZone: .current,
                calendar: Calendar(identifier: .gregorian)))
        let text = Array("[Trash Info]\nPath=\(escaped)\nDeletionDate=\(time)\n".utf8)
        try file.write(text, at: 0)
    }

    private static func numbered(_ name: String, _ number: Int) -> String {
        let rest = (try? ItemName(name)).map(\.pathExtension) ?? ""
        let stem = String(Substring(name.utf8.dropLast(rest.isEmpty ? 0 : rest.utf8.count + 1)))
        return "\(stem) \(number)\(rest.isEmpty ? "" : ".\(rest)")"
    }

    private static func topDirectory(above item: String, _ status: FileStatus) throws(FileError) -> String {
        var top = ItemPath.directory(of: item)
        while top != "/", try status.isOnFileSystem(of: ItemPath.directory(of: top)) {
            top = ItemPath.directory(of: top)
        }
        return top
    }

    private static func makeDirectories(_ path: String) throws(FileError) {
        do throws(FileError) { try SystemCalls.makeDirectory(ifMissing: path) } catch {
            guard error.code == .notFound, path != "/" else { throw error }
            try makeDirectories(ItemPath.directory(of: path))
            try SystemCalls.makeDirectory(ifMissing: path)
        }
    }
}

extension FileManager {
    /// Moves an item to the trash.
    ///
    /// Differences from Apple's: an item in a container is deleted, on all devices, and the container keeps it for 30
    /// days: `dewpoint trash restore` puts it back; then there is no resulting URL. All other items go to the trash of
    /// the desktop (freedesktop.org), in the home directory or at the top of the item's file system.
    ///
    /// - Parameter outResultingURL: Receives the URL in the trash; `nil` for an item in a container.
    /// - Throws: `NSCocoaErrorDomain` 4 for a missing item, 513 without permission or while it is claimed by another
    ///   program, 640 without space.
    public func trashItem(at url: URL, resultingItemURL outResultingURL: UnsafeMutablePointer<NSURL?>?) throws {
        outResultingURL?.pointee = nil
        do throws(FileError) {
            if MountedContainer.containing(url) != nil { return try ItemMove.remove(url.path) }
            let path = url.standardizedFileURL.path
            let result = try TrashDirectory.of(path).take(path, date: Date())
            outResultingURL?.pointee = NSURL(fileURLWithPath: result)
        } catch {
            throw CocoaFailure.error(error, .writing, url)
        }
    }
}
