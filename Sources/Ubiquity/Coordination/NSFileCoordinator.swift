import Synchronization

/// Coordinates access to files and directories among programs, presenters, other devices and plain writers.
open class NSFileCoordinator: NSObject, @unchecked Sendable {
    /// How a coordinated read reads.
    public struct ReadingOptions: OptionSet, Sendable, Hashable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Presenters are not asked to save first.
        public static let withoutChanges = ReadingOptions(rawValue: 1)
        /// The claim, and the URL for the accessor, are those of the link's target.
        public static let resolvesSymbolicLink = ReadingOptions(rawValue: 2)
        /// Only metadata that is available at once is read: nothing is downloaded.
        public static let immediatelyAvailableMetadataOnly = ReadingOptions(rawValue: 4)
        /// The accessor gets a snapshot, a directory as a zip archive, and the claim ends before it runs.
        public static let forUploading = ReadingOptions(rawValue: 8)
    }

    /// What a coordinated write does; at most one option at a time.
    public struct WritingOptions: OptionSet, Sendable, Hashable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let forDeleting = WritingOptions(rawValue: 1)
        public static let forMoving = WritingOptions(rawValue: 2)
        public static let forMerging = WritingOptions(rawValue: 4)
        public static let forReplacing = WritingOptions(rawValue: 8)
        public static let contentIndependentMetadataOnly = WritingOptions(rawValue: 16)
        /// Not in Apple's SDK, but in published samples: a write that neither waits for the download nor starts one.
        public static let forDownloading = WritingOptions(rawValue: 1 << 16)
    }

    public init(filePresenter: (any NSFilePresenter)?) { super.init() }

    public convenience override init() { self.init(filePresenter: nil) }

    open class func addFilePresenter(_ filePresenter: any NSFilePresenter) { fatalError() }
    open class func removeFilePresenter(_ filePresenter: any NSFilePresenter) { fatalError() }
    open class var filePresenters: [any NSFilePresenter] { fatalError() }

    open var purposeIdentifier: String {
        get { fatalError() }
        set { fatalError() }
    }

    open func coordinate(
        readingItemAt url: URL, options: ReadingOptions = [], error outError: NSErrorPointer,
        byAccessor reader: (URL) -> Void
    ) { fatalError() }

    open func coordinate(
        writingItemAt url: URL, options: WritingOptions = [], error outError: NSErrorPointer,
        byAccessor writer: (URL) -> Void
    ) { fatalError() }

    open func coordinate(
        readingItemAt readingURL: URL, options readingOptions: ReadingOptions = [], writingItemAt writingURL: URL,
        options writingOptions: WritingOptions = [], error outError: NSErrorPointer,
        byAccessor readerWriter: (URL, URL) -> Void
    ) { fatalError() }

    open func coordinate(
        writingItemAt url1: URL, options options1: WritingOptions = [], writingItemAt url2: URL,
        options options2: WritingOptions = [], error outError: NSErrorPointer, byAccessor writer: (URL, URL) -> Void
    ) { fatalError() }

    open func coordinate(
        with intents: [NSFileAccessIntent], queue: OperationQueue,
        byAccessor accessor: @escaping @Sendable ((any Error)?) -> Void
    ) { fatalError() }

    open func prepare(
        forReadingItemsAt readingURLs: [URL], options readingOptions: ReadingOptions = [],
        writingItemsAt writingURLs: [URL], options writingOptions: WritingOptions = [],
        error outError: NSErrorPointer, byAccessor batchAccessor: (@escaping @Sendable () -> Void) -> Void
    ) { fatalError() }

    open func item(at oldURL: URL, willMoveTo newURL: URL) { fatalError() }
    open func item(at oldURL: URL, didMoveTo newURL: URL) { fatalError() }
    open func item(at url: URL, didChangeUbiquityAttributes attributes: Set<URLResourceKey>) { fatalError() }
    open func cancel() { fatalError() }
}
