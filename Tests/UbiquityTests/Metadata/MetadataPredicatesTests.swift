import Model
import Testing

@testable import Ubiquity

@Suite struct MetadataPredicatesTests {
    private static func item(_ path: String, _ status: DownloadingStatus = .current) -> NSMetadataItem {
        NSMetadataItem(.sample(path, size: 2048, status: status), mountpoint: "/mnt/notes")
    }

    @Test func `the predicates of published samples find their items`() {
        let notDownloaded = NSPredicate(
            format: "%K = %@ AND %K = FALSE AND %K BEGINSWITH %@", NSMetadataUbiquitousItemDownloadingStatusKey,
            NSMetadataUbiquitousItemDownloadingStatusNotDownloaded, NSMetadataUbiquitousItemIsDownloadingKey,
            NSMetadataItemPathKey, URL(fileURLWithPath: "/mnt/notes").path)
        #expect(notDownloaded.evaluate(with: Self.item("Documents/a", .notDownloaded)))
        #expect(!notDownloaded.evaluate(with: Self.item("Documents/a")))
        let shallow = NSPredicate(
            format: "((%K BEGINSWITH[cd] 'h') AND (%K BEGINSWITH %@)) AND (%K.pathComponents.@count == %d)",
            NSMetadataItemFSNameKey, NSMetadataItemPathKey, "/mnt/notes", NSMetadataItemPathKey, 5)
        #expect(shallow.evaluate(with: Self.item("Documents/Hello")))
        #expect(!shallow.evaluate(with: Self.item("Documents/d/Hello")))
        let pdf = NSPredicate(format: "%K LIKE %@", NSMetadataItemFSNameKey, "*.pdf")
        #expect(pdf.evaluate(with: Self.item("a.pdf")) && !pdf.evaluate(with: Self.item("a.txt")))
        #expect(NSPredicate(value: true).evaluate(with: Self.item("a")))
    }

    @Test func `a comparison of an attribute with several values holds for any of them`() {
        let item = Self.item("a.pdf")
        func holds(_ format: String) -> Bool { NSPredicate(format: format).evaluate(with: item) }
        #expect(holds("kMDItemContentTypeTree == 'public.data'") && holds("kMDItemContentTypeTree = 'com.adobe.pdf'"))
        #expect(!holds("kMDItemContentTypeTree == 'public.image'") && holds("kMDItemContentTypeTree != 'public.image'"))
        #expect(!holds("kMDItemContentTypeTree != 'public.data'"))
        #expect(holds("kMDItemContentTypeTree LIKE 'com.*'") && holds("kMDItemContentTypeTree BEGINSWITH 'public.d'"))
        #expect(holds("kMDItemContentTypeTree IN {'a', 'public.item'}") && !holds("kMDItemContentTypeTree IN {'a'}"))
        #expect(!holds("kMDItemContentTypeTree == nil") && holds("kMDItemContentTypeTree CONTAINS 'public.item'"))
        #expect(holds("ALL kMDItemContentTypeTree CONTAINS '.'"))
        // As elsewhere in Foundation, of an array that is no attribute.
        #expect(!NSPredicate(format: "a == 1").evaluate(with: ["a": [1, 2]]))
    }

    @Test(arguments: [
        ("a == 1 and b like[cd] 'x*'", "a == 1 AND b LIKE[cd] \"x*\""),
        (
            "(a = 1 OR b != 2.5) && !(c IN {1, 'x'} AND d <> nil)",
            "(a == 1 OR b != 2.5) AND NOT (c IN {1, \"x\"} AND d != nil)"
        ),
        ("ANY a.b.@count BETWEEN {1, -2} OR TRUEPREDICATE", "ANY a.b.@count BETWEEN {1, -2} OR TRUEPREDICATE"),
        ("SELF CONTAINS 'a\\'\"b' AND #in == YES", "SELF CONTAINS \"a'\\\"b\" AND #in == 1"),
    ])
    func `a parsed predicate gives its format`(_ format: String, _ expected: String) {
        #expect(NSPredicate(format: format).predicateFormat == expected)
        #expect(NSPredicate(format: expected).predicateFormat == expected)
    }

    @Test func `a format has the arguments in their places, and a combination those of its parts`() {
        let one = NSPredicate(format: "%K LIKE %@", "kMDItemFSName", "*.pdf")
        let other = NSPredicate(format: "kMDItemFSSize > %d", 3)
        #expect(one.predicateFormat == "kMDItemFSName LIKE \"*.pdf\"")
        let both: NSPredicate = NSCompoundPredicate(andPredicateWithSubpredicates: [one, other])
        #expect(both.predicateFormat == "kMDItemFSName LIKE \"*.pdf\" AND kMDItemFSSize > 3")
    }

    @Test func `predicates take objects, and are combined`() throws {
        let item = Self.item("Documents/a.pdf")
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [
            NSPredicate(format: "%K > %@", NSMetadataItemFSSizeKey, NSNumber(value: 2000)),
            NSPredicate(
                format: "%K IN %@ AND %K < %@", NSMetadataItemFSNameKey, ["a.pdf"],
                NSMetadataItemFSContentChangeDateKey, NSDate()),
            NSPredicate(format: "%K UTI-CONFORMS-TO 'public.content'", argumentArray: [NSMetadataItemContentTypeKey]),
            NSPredicate(format: "%K == nil", NSMetadataUbiquitousItemUploadingErrorKey),
        ])
        #expect(both.evaluate(with: item))
        #expect(NSPredicate(format: "SELF BEGINSWITH 'a' AND length == %d", 2).evaluate(with: "ab"))
        #expect(NSPredicate(format: "a.b == 1").evaluate(with: ["a": ["b": 1]]))
        #expect(
            throws: NSPredicate.FormatError(
                offset: 2, reason: "unknown operator \"IS\": write for example ==, CONTAINS, BEGINSWITH, LIKE or IN")
        ) { try NSPredicate(parsing: "a IS 1") }
    }

    @Test func `a Swift predicate filters items by properties of the program`() {
        let predicate = NSPredicate(#Predicate<NSMetadataItem> { $0.size > 2000 && $0.name.contains("pdf") })
        #expect(predicate.evaluate(with: Self.item("a.pdf")))
        #expect(!predicate.evaluate(with: Self.item("a.txt")))
        #expect(!predicate.evaluate(with: "a.pdf"))
    }

    @Test func `attributes have Apple's types`() throws {
        let item = NSMetadataItem(.sample("Documents/é.pdf", size: 2048, percent: 12.5), mountpoint: "/mnt/notes")
        let size = item.value(forAttribute: NSMetadataItemFSSizeKey)
        #expect(size as? Int == 2048 && size as? Double == 2048 && size as? NSNumber == 2048 && size as? UInt64 == 2048)
        #expect(item.value(forAttribute: NSMetadataUbiquitousItemPercentDownloadedKey) as? Double == 12.5)
        #expect(item.value(forAttribute: NSMetadataUbiquitousItemIsDownloadingKey) as? Bool == true)
        #expect(
            item.value(forAttribute: NSMetadataItemURLKey) as? URL == URL(fileURLWithPath: "/mnt/notes/Documents/é.pdf")
        )
        #expect(
            item.value(forAttribute: NSMetadataItemFSContentChangeDateKey) as? Date
                == Date(timeIntervalSince1970: 1_769_860_800.5))
        #expect(
            item.value(forAttribute: NSMetadataItemContentTypeTreeKey) as? [String]
                == ["com.adobe.pdf", "public.data", "public.composite-content", "public.item", "public.content"])
        #expect(item.value(forAttribute: NSMetadataItemFSCreationDateKey) == nil)
        #expect(item.value(forAttribute: "kMDItemAuthors") == nil)
        #expect(!item.attributes.contains(NSMetadataItemFSCreationDateKey))
        #expect(item.values(forAttributes: [NSMetadataItemFSNameKey, "x"])?.count == 1)
        var status = ItemStatus.sample("a")
        status.uploadingError = ItemFault(code: 4354, text: "full")
        let error = NSMetadataItem(status, mountpoint: "/m").value(
            forAttribute: NSMetadataUbiquitousItemUploadingErrorKey)
        #expect((error as? NSError)?.domain == NSCocoaErrorDomain && (error as? NSError)?.code == 4354)
        #expect((error as? NSError)?.localizedDescription == "full")
    }

    @Test func `descriptors sort by attributes, and tell them`() throws {
        let byName = NSSortDescriptor(key: NSMetadataItemFSNameKey, ascending: false)
        #expect(byName.key == NSMetadataItemFSNameKey && !byName.ascending)
        #expect(byName.compare(Self.item("a"), to: Self.item("b")) == .orderedDescending)
        let bySize = NSSortDescriptor(key: NSMetadataItemFSSizeKey, ascending: true)
        #expect(bySize.compare(Self.item("a"), to: Self.item("b")) == .orderedSame)
        let byCreation = NSSortDescriptor(key: "n", ascending: true)
        #expect(byCreation.compare(["n": 2] as NSDictionary, to: ["n": 10] as NSDictionary) == .orderedAscending)
        #expect(byCreation.compare([:] as NSDictionary, to: ["n": 1] as NSDictionary) == .orderedAscending)
        let reversed = NSSortDescriptor(key: "n", ascending: true) { left, right in
            (right as? Int ?? 0) < (left as? Int ?? 0) ? .orderedAscending : .orderedDescending
        }
        #expect(reversed.key == "n" && !reversed.isByAttribute)
        #expect(reversed.compare(["n": 2] as NSDictionary, to: ["n": 1] as NSDictionary) == .orderedAscending)
        #expect(try #require(byName.reversedSortDescriptor as? NSSortDescriptor).key == NSMetadataItemFSNameKey)
    }
}

extension NSMetadataItem {
    fileprivate var name: String { value(forAttribute: NSMetadataItemFSNameKey) as? String ?? "" }
    fileprivate var size: Int { value(forAttribute: NSMetadataItemFSSizeKey) as? Int ?? 0 }
}
