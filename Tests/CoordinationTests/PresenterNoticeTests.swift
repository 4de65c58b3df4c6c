import Coordination
import Model
import Testing

@Suite struct PresenterNoticeTests {
    var table = LockTable()

    init() throws {
        for (number, item) in [root: directory(1, in: [], "root"), InodeNumber(20): folder, file: document]
            .sorted(by: { $0.key < $1.key }).enumerated()
        {
            try table.register(presenter(UInt64(number + 1), of: item.value))
        }
    }

    private func published(_ event: ItemEvent, by origin: PresenterID? = nil) -> [PresenterID: [PresenterNotice]] {
        Dictionary(grouping: table.notices(of: event, by: origin), by: \.presenter).mapValues { $0.map(\.notice) }
    }

    @Test mutating func `presenters of an item and of the directories above it are notified of its changes`() throws {
        // 1 presents the root, 2 the document, 3 the folder around it.
        #expect(
            published(.changed(document))
                == [1: [.subitemDidChange(document)], 2: [.didChange], 3: [.subitemDidChange(document)]])
        #expect(published(.changed(stranger)) == [1: [.subitemDidChange(stranger)]])
        let created = plainFile(60, in: document.ancestors, "new")
        #expect(published(.appeared(created)) == [1: [.subitemDidAppear(created)], 3: [.subitemDidAppear(created)]])
        #expect(
            published(.deleted(document)) == [1: [.subitemDidChange(document)], 3: [.subitemDidChange(document)]])
        for change in VersionChange.allCases {
            let above = PresenterNotice.subitemVersion(change, "v", document)
            #expect(published(.version(change, "v", document)) == [1: [above], 2: [.version(change, "v")], 3: [above]])
        }
    }

    @Test mutating func `a move notifies presenters of the item, of its contents and of directories above`() throws {
        let moved = directory(20, in: [root], "renamed")
        let inside = document.following(InodeNumber(20), to: moved)
        let expected: [PresenterID: [PresenterNotice]] = [
            1: [.subitemDidMove(from: folder, to: moved)], 2: [.didMove(to: inside)], 3: [.didMove(to: moved)],
        ]
        #expect(published(.moved(from: folder, to: moved)) == expected)
        // The notices are the same after the table has applied the move.
        _ = table.moved(InodeNumber(20), to: moved, now: .ms(0))
        #expect(published(.moved(from: folder, to: moved)) == expected)
        let out = plainFile(7, in: [root], "out")
        #expect(published(.moved(from: document, to: out))[3] == [.subitemDidMove(from: document, to: out)])
        let incoming = plainFile(8, in: document.ancestors, "in")
        #expect(published(.moved(from: stranger, to: incoming))[3] == [.subitemDidAppear(incoming)])
    }

    @Test mutating func `presenters of a missing item are notified when it is created, or moved there`() throws {
        let place = plainFile(nil, in: document.ancestors, "new")
        try table.register(presenter(4, of: place))
        #expect(published(.appeared(plainFile(60, in: document.ancestors, "new")))[4] == [.didChange])
        let (from, to) = (
            plainFile(61, in: document.ancestors, "new.tmp"), plainFile(61, in: document.ancestors, "new")
        )
        let awaiting = table.presentersAwaiting(to)
        #expect(awaiting == [4])
        try table.register(presenter(5, of: from))
        _ = table.moved(InodeNumber(61), to: to, now: .ms(0))
        let notices = Dictionary(
            grouping: table.notices(of: .moved(from: from, to: to), awaiting: awaiting), by: \.presenter
        ).mapValues { $0.map(\.notice) }
        #expect(notices[4] == [.didChange] && notices[5] == [.didMove(to: to)])
        // From now on it is the item's.
        #expect(table.presentersAwaiting(to) == [])
        #expect(published(.changed(to))[4] == [.didChange])
    }

    @Test mutating func `the presenter that caused an event is notified only of versions`() throws {
        #expect(published(.changed(document), by: 2)[2] == nil)
        #expect(published(.version(.gained, "v", document), by: 2)[2] == [.version(.gained, "v")])
    }

    @Test mutating func `a package presenter without subitem methods is notified that the package changed`() throws {
        let few: Set<PresenterMethod> = [.didChange]
        try table.register(presenter(4, of: package, methods: few))
        try table.register(presenter(5, of: folder, methods: few))
        for event: ItemEvent in [.changed(packageFile), .appeared(packageFile), .deleted(packageFile)] {
            #expect(published(event)[4] == [.didChange])
        }
        #expect(published(.moved(from: packageFile, to: packageFile))[4] == [.didChange])
        #expect(published(.version(.lost, "v", packageFile))[4] == nil)
        // The presenter of an ordinary directory is not notified.
        #expect(published(.changed(document))[5] == nil)
    }

    @Test mutating func `presenters are notified only of the ubiquity attributes that they observe`() throws {
        let keys: Set<String> = ["NSURLUbiquitousItemIsUploadedKey", "NSURLIsUbiquitousItemKey", "NSURLNameKey"]
        #expect(
            published(.ubiquityAttributes(keys, document)) == [
                2: [
                    .didChangeUbiquityAttributes(["NSURLUbiquitousItemIsUploadedKey", "NSURLIsUbiquitousItemKey"])
                ]
            ])
        var picky = presenter(2, of: document)
        picky.observedAttributes = ["NSURLNameKey"]
        try table.register(picky)
        #expect(published(.ubiquityAttributes(keys, document))[2] == [.didChangeUbiquityAttributes(["NSURLNameKey"])])
        picky.observedAttributes = []
        try table.register(picky)
        #expect(published(.ubiquityAttributes(keys, document)) == [:])
    }

    @Test(arguments: PresenterMethod.allCases)
    func `a presenter receives only notices that it implements`(method: PresenterMethod) throws {
        var table = LockTable()
        try table.register(presenter(1, of: folder, methods: [method]))
        let elsewhere = directory(20, in: [root], "renamed")
        let events: [ItemEvent] = [
            .changed(folder), .changed(document), .appeared(document), .moved(from: folder, to: elsewhere),
            .moved(from: document, to: document), .version(.gained, "v", folder), .version(.lost, "v", folder),
            .version(.resolved, "v", folder), .version(.gained, "v", document), .version(.lost, "v", document),
            .version(.resolved, "v", document),
            .ubiquityAttributes(["NSURLUbiquitousItemIsUploadedKey"], folder),
        ]
        let heard = Set(events.flatMap { table.notices(of: $0) }.map(\.notice.method))
        let isQuestion = [
            PresenterMethod.relinquishToReader, .relinquishToWriter, .save, .accommodateDeletion,
            .accommodateSubitemDeletion, .accommodateEviction,
        ].contains(method)
        #expect(heard == (isQuestion ? [] : [method]))
    }
}
