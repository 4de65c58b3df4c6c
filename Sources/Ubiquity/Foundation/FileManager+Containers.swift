extension FileManager {
    /// The root of a container of this program; `nil` when it cannot be used.
    ///
    /// The program's containers are the keys of `NSUbiquitousContainers` in its `Info.plist`, or all mounted containers
    /// if it has none. The reason for `nil` is logged on standard error: the program does not declare the container, it
    /// is not mounted, or the variable `UBIQUITY_MOUNTPOINTS` leaves it out. May block while the daemon is busy. Safe
    /// on any thread.
    ///
    /// Differences from Apple's: creates nothing. `Documents` may not exist yet.
    /// - Parameter containerIdentifier: With or without `iCloud.` or a team prefix; `nil` for the first of the
    ///   program's containers that is mounted.
    public func url(forUbiquityContainerIdentifier containerIdentifier: String?) -> URL? {
        switch ProgramContainers.find(containerIdentifier) {
        case .success(let container):
            return URL(fileURLWithPath: container.mountpoint, isDirectory: true)
        case .failure(let absence):
            ProgramContainers.log(absence)
            return nil
        }
    }

    /// Identifies the account whose containers this program uses; `nil` when none of its containers is mounted.
    ///
    /// Compare it with `isEqual(_:)` to one that was archived: the same users with the same mounted containers give
    /// equal tokens, in all processes. Cheap, and safe on any thread; its first use starts the watch that posts
    /// `NSUbiquityIdentityDidChange`.
    ///
    /// Differences from Apple's: also changes when another container of the program is mounted or unmounted.
    public var ubiquityIdentityToken: (any NSCoding & NSCopying & NSObjectProtocol)? {
        IdentityWatch.start()
        return IdentityToken.current()
    }
}
