import Model

/// How many references the kernel holds to each inode.
///
/// The kernel may know millions of inodes, whose numbers are mostly consecutive: so the counts are kept in pages, at eight
/// bytes for each inode. A page without counts is freed.
struct ReferenceCounts {
    private static let pageLength = 64

    private struct Page {
        var counts = [UInt64](repeating: 0, count: ReferenceCounts.pageLength)
        /// How many of them are not zero.
        var used = 0
    }

    private var pages: [UInt64: Page] = [:]

    /// How many pages are allocated.
    var pageCount: Int { pages.count }

    subscript(number: InodeNumber) -> UInt64 {
        pages[number.rawValue / UInt64(Self.pageLength)]?.counts[Self.index(number)] ?? 0
    }

    mutating func add(_ number: InodeNumber) {
        let index = Self.index(number)
        Self.change(&pages[number.rawValue / UInt64(Self.pageLength), default: Page()]) { page in
            if page.counts[index] == 0 { page.used += 1 }
            page.counts[index] += 1
        }
    }

    /// - Parameter count: More than there are count as all of them.
    /// - Returns: Whether none are left.
    mutating func remove(_ number: InodeNumber, _ count: UInt64) -> Bool {
        let key = number.rawValue / UInt64(Self.pageLength)
        let index = Self.index(number)
        let held = self[number]
        guard held > 0 else { return true }
        let left = held - min(held, count)
        let isEmpty = Self.change(&pages[key, default: Page()]) { page in
            page.counts[index] = left
            if left == 0 { page.used -= 1 }
            return page.used == 0
        }
        if isEmpty { pages[key] = nil }
        return left == 0
    }

    private static func index(_ number: InodeNumber) -> Int { Int(number.rawValue % UInt64(pageLength)) }

    /// Changes a page in place.
    private static func change<Result>(_ page: inout Page, _ body: (inout Page) -> Result) -> Result { body(&page) }
}
