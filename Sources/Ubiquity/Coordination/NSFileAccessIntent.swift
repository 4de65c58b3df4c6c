/// One item of a coordinated access with several items, and how it is accessed.
///
/// Differences from Apple's: none known.
public final class NSFileAccessIntent: NSObject, @unchecked Sendable {
    // Unchecked, since `url` changes: written by the coordinator before the accessor runs, read by the accessor: the
    // queue orders them.

    /// The current URL of the item: use it in the accessor, since the item may have moved while the call waited.
    public internal(set) var url: URL

    let access: Access

    enum Access: Sendable {
        case reading(NSFileCoordinator.ReadingOptions)
        case writing(NSFileCoordinator.WritingOptions)
    }

    init(_ url: URL, _ access: Access) {
        self.url = url
        self.access = access
    }

    /// - Returns: The intent to read an item.
    public class func readingIntent(
        with url: URL, options: NSFileCoordinator.ReadingOptions = []
    ) -> NSFileAccessIntent {
        NSFileAccessIntent(url, .reading(options))
    }

    /// - Returns: The intent to write an item.
    public class func writingIntent(
        with url: URL, options: NSFileCoordinator.WritingOptions = []
    ) -> NSFileAccessIntent {
        NSFileAccessIntent(url, .writing(options))
    }
}
