import Coordination
import Model
import Testing

/// The questions to presenters before a grant, for every kind of claim and every location of a presenter.
@Suite struct ClaimMessageTests {
    /// The location of a presenter relative to the claimed item.
    enum Seat: String, CaseIterable, Sendable {
        case item, package, outerPackage, inside, deepInside, parent, elsewhere
    }

    /// A directory with contents in a package, which is in another package: each of them has a presenter.
    static let claimed = directory(
        52, in: [root, InodeNumber(50), InodeNumber(51)], "claimed", packages: [InodeNumber(50), InodeNumber(51)])
    static let seats: [(Seat, ClaimItem)] = [
        (.item, claimed),
        (.package, directory(51, in: [root, InodeNumber(50)], "inner.rtfd", packages: claimed.packages)),
        (.outerPackage, directory(50, in: [root], "outer.rtfd", packages: [InodeNumber(50)])),
        (.inside, plainFile(53, in: claimed.ancestors + [InodeNumber(52)], "inside", packages: claimed.packages)),
        (
            .deepInside,
            plainFile(
                55, in: claimed.ancestors + [InodeNumber(52), InodeNumber(54)], "deep", packages: claimed.packages)
        ),
        (.parent, directory(1, in: [], "root")),
        (.elsewhere, stranger),
    ]

    static func expected(_ kind: AccessKind, _ seat: Seat, _ mode: ClaimSet.Mode) -> [PresenterMessage] {
        let isInside = seat == .inside || seat == .deepInside
        let isPackage = seat == .package || seat == .outerPackage
        guard isInside || isPackage || seat == .item else { return [] }
        if mode == .eviction { return isPackage ? [] : [.accommodateEviction] }
        let isChain = !isInside || mode == .batch
        switch kind {
        case .read(let options):
            guard isChain else { return [] }
            return options.contains(.withoutChanges) ? [.relinquishToReader] : [.relinquishToReader, .save]
        case .write(.plain), .write(.contentIndependentMetadataOnly): return isChain ? [.relinquishToWriter] : []
        case .write(.forMerging): return isChain ? [.relinquishToWriter, .save] : []
        case .write(.forMoving): return [.relinquishToWriter]
        case .write(.forDeleting), .write(.forReplacing):
            return isPackage
                ? [.relinquishToWriter, .accommodateSubitemDeletion(claimed)]
                : [.relinquishToWriter, .accommodateDeletion]
        }
    }

    /// Answers all questions, and returns the messages to each presenter in order.
    static func asked(_ set: ClaimSet, on stage: inout ClaimStage) throws -> [PresenterID: [PresenterMessage]] {
        var asked: [PresenterID: [PresenterMessage]] = [:]
        var open = try stage.request(set).questions
        while !open.isEmpty {
            let question = open.removeFirst()
            asked[question.presenter, default: []].append(question.message)
            open += stage.answer(question).questions
        }
        return asked
    }

    @Test(arguments: allKinds, [ClaimSet.Mode.access, .batch, .eviction])
    func `each presenter is asked the expected questions in order`(kind: AccessKind, mode: ClaimSet.Mode) throws {
        if mode == .batch, kind == .write(.forReplacing) { return }
        if mode == .batch, case .read(let options) = kind, options.contains(.resolvesSymbolicLink) { return }
        var stage = ClaimStage()
        for (index, seat) in Self.seats.enumerated() {
            try stage.register(presenter(UInt64(index + 1), of: seat.1))
        }
        let asked = try Self.asked(claims(1, [(kind, Self.claimed)], mode: mode), on: &stage)
        for (index, seat) in Self.seats.enumerated() {
            let expected = Self.expected(kind, seat.0, mode)
            #expect(asked[PresenterID(UInt64(index + 1))] ?? [] == expected, "\(kind) \(seat.0)")
        }
        // Presenters that do not withdraw prevent an eviction.
        #expect(stage.state(of: 1) == (mode == .eviction ? nil : .granted))
    }

    @Test(arguments: allKinds)
    func `the coordinator's own presenter is never asked`(kind: AccessKind) throws {
        var stage = ClaimStage()
        try stage.register(presenter(1, of: document))
        try stage.hold(claims(1, [(kind, document)], presenter: 1))
    }

    @Test(arguments: allKinds)
    func `a presenter is not asked questions that it does not implement`(kind: AccessKind) throws {
        var stage = ClaimStage()
        try stage.register(presenter(1, of: document, methods: [.save]))
        let asked = try Self.asked(claims(1, [(kind, document)]), on: &stage)
        let saves = Self.expected(kind, .item, .access).contains(.save)
        #expect(asked[1] ?? [] == (saves ? [.save] : []))
        #expect(stage.state(of: 1) == .granted)
    }

    @Test func `a presenter affected by several claims of a call is asked each question once`() throws {
        var stage = ClaimStage()
        try stage.register(presenter(1, of: package))
        let set = claims(
            1, [(.read([]), packageFile), (.write(.forMerging), nestedFile), (.write(.forDeleting), packageFolder)])
        let asked = try Self.asked(set, on: &stage)
        #expect(asked == [1: [.relinquishToWriter, .save, .accommodateSubitemDeletion(packageFolder)]])
    }

    @Test func `a presenter is asked nothing until it has an item`() throws {
        var stage = ClaimStage()
        try stage.register(presenter(1, of: nil))
        try stage.hold(claims(1, [(.write(.forDeleting), folder)]))
        stage.table.setItem(document, of: 1)
        #expect(try stage.request(claims(2, [(.write(.plain), document)], within: [1])).questions == [])
        _ = stage.release(1)
        #expect(stage.state(of: 2) == .messaging)
    }
}
