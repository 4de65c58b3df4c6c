import Coordination
import Model
import Testing

// Fixtures of the claim tests:
//
//     root ─┬─ folder (20) ─┬─ file (7)
//           │               └─ inner folder (21) ── deep file (22)
//           ├─ otherFile (8)
//           └─ package (30) ─┬─ its folder (31) ── its file (32)
//                            └─ nested package (33) ── nested file (34)

let root = InodeNumber.root
let folder = directory(20, in: [root], "folder")
let document = plainFile(7, in: [root, InodeNumber(20)], "document")
let innerFolder = directory(21, in: [root, InodeNumber(20)], "inner")
let deepDocument = plainFile(22, in: [root, InodeNumber(20), InodeNumber(21)], "deep")
let stranger = plainFile(8, in: [root], "stranger")
let package = directory(30, in: [root], "book.rtfd", packages: [InodeNumber(30)])
let packageFolder = directory(31, in: [root, InodeNumber(30)], "chapter", packages: [InodeNumber(30)])
let packageFile = plainFile(
    32, in: [root, InodeNumber(30), InodeNumber(31)], "page", packages: [InodeNumber(30)])
let nestedPackage = directory(
    33, in: [root, InodeNumber(30)], "part.rtfd", packages: [InodeNumber(30), InodeNumber(33)])
let nestedFile = plainFile(
    34, in: [root, InodeNumber(30), InodeNumber(33)], "leaf", packages: [InodeNumber(30), InodeNumber(33)])

func name(_ string: String) -> ItemName {
    do throws(FileError) { return try ItemName(string) } catch { fatalError("\(error)") }
}

func directory(
    _ inode: UInt64, in ancestors: [InodeNumber], _ string: String, packages: [InodeNumber] = []
) -> ClaimItem {
    ClaimItem(
        ancestors: ancestors, name: name(string), inode: InodeNumber(inode), isDirectory: true, packages: packages)
}

func plainFile(
    _ inode: UInt64?, in ancestors: [InodeNumber], _ string: String, packages: [InodeNumber] = []
) -> ClaimItem {
    ClaimItem(ancestors: ancestors, name: name(string), inode: inode.map { InodeNumber($0) }, packages: packages)
}

let allReads = (UInt(0)..<16).map { AccessKind.read(ReadingOptions(rawValue: $0)) }
let allWrites = WritingOption.allCases.map { AccessKind.write($0) }
let allKinds = allReads + allWrites

/// The claim set with this number, by default with its own client, coordinator and purpose.
func claims(
    _ number: UInt64, _ pairs: [(AccessKind, ClaimItem)], by process: ProcessID? = nil, coordinator: String? = nil,
    purpose: String? = nil, presenter: PresenterID? = nil, fromPresenter: PresenterID? = nil,
    within: [ClaimSetID] = [], mode: ClaimSet.Mode = .access, deadline: Instant? = nil
) -> ClaimSet {
    let process = process ?? ProcessID(Int32(100 + number))
    return ClaimSet(
        ClaimSetID(number), mode: mode, client: ClientID(UInt64(process.rawValue)), process: process,
        coordinator: CoordinatorID(coordinator ?? "coordinator \(number)"),
        purpose: PurposeID(purpose ?? "purpose \(number)"), presenter: presenter, fromPresenter: fromPresenter,
        within: within, claims: pairs.map { Claim($0.0, $0.1) }, deadline: deadline)
}

func eviction(_ number: UInt64, _ item: ClaimItem) -> ClaimSet {
    claims(number, [(.write(.forDeleting), item)], mode: .eviction)
}

func presenter(
    _ number: UInt64, of item: ClaimItem?, methods: Set<PresenterMethod> = Set(PresenterMethod.allCases),
    process: ProcessID? = nil
) -> Presenter {
    let process = process ?? ProcessID(Int32(200 + number))
    return Presenter(
        PresenterID(number), client: ClientID(UInt64(process.rawValue)), process: process, item: item,
        methods: methods)
}

extension ClaimSetID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: UInt64) { self.init(value) }
}

extension PresenterID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: UInt64) { self.init(value) }
}

extension Effect {
    static func granted(_ set: ClaimSetID) -> Effect { .claim(.granted(set)) }
    static func ended(_ set: ClaimSetID, _ end: ClaimEnd) -> Effect { .claim(.ended(set, end)) }
}

/// A lock table with a stand-in for the engine, which locates and downloads items at once.
struct ClaimStage {
    var table: LockTable
    var now = Instant.ms(0)
    /// The locations of files, for writers and for `locate`.
    var whereabouts: [InodeNumber: ClaimItem] = [
        file: document, otherFile: stranger, InodeNumber(22): deepDocument, InodeNumber(32): packageFile,
    ]
    var downloadsAtOnce = true

    init(_ configure: (inout ClaimLimits) -> Void = { _ in }) {
        var limits = LockTable.Limits()
        configure(&limits.claims)
        table = LockTable(limits: limits)
    }

    /// Performs the effects that the stand-in performs at once, and returns the others.
    mutating func converge(_ effects: [Effect]) -> [Effect] {
        var left: [Effect] = []
        for effect in effects {
            switch effect {
            case .claim(.locate(let inodes)):
                let places = inodes.map { ($0, whereabouts[$0] ?? ClaimItem(orphan: $0)) }
                left += converge(table.located(Dictionary(uniqueKeysWithValues: places), now: now))
            case .claim(.download(let set, _)) where downloadsAtOnce:
                left += converge(table.downloaded(set, now: now))
            default:
                left.append(effect)
            }
        }
        return left
    }

    mutating func request(_ set: ClaimSet) throws(ClaimError) -> [Effect] {
        converge(try table.request(set, now: now))
    }

    mutating func release(_ set: ClaimSetID) -> [Effect] { converge(table.release(set, now: now)) }

    /// Requests a set that must be granted at once.
    mutating func hold(_ set: ClaimSet) throws {
        let effects = try request(set)
        #expect(effects == [.granted(set.id)])
    }

    mutating func register(_ presenters: Presenter...) throws {
        for presenter in presenters { try table.register(presenter) }
    }

    mutating func answer(_ question: Question, _ answer: PresenterAnswer = .done) -> [Effect] {
        converge(table.answered(question.id, answer, now: now))
    }

    mutating func pass(to moment: Instant) -> [Effect] {
        now = moment
        return converge(table.timePassed(now: now))
    }

    /// A write as the engine performs it: the file's location is supplied when the table needs it.
    mutating func write(
        _ inode: InodeNumber = file, by writer: Writer, ancestors: Set<ProcessID> = [], ticket: UInt64 = 900
    ) -> WriteVerdict {
        let verdict = table.write(Ticket(ticket), inode, by: writer, now: now)
        guard verdict == .unplaced else { return verdict }
        return table.write(
            Ticket(ticket), inode, by: writer, now: now,
            context: context(inode, writer, ancestors))
    }

    /// An open for writing, likewise.
    mutating func open(
        _ inode: InodeNumber = file, by writer: Writer, rewriting: Bool = true, ancestors: Set<ProcessID> = [],
        ticket: UInt64 = 900
    ) -> WriteVerdict {
        let verdict = table.open(
            Ticket(ticket), inode, by: writer, isRewriting: rewriting, now: now)
        guard verdict == .unplaced else { return verdict }
        return table.open(
            Ticket(ticket), inode, by: writer, isRewriting: rewriting, now: now,
            context: context(inode, writer, ancestors))
    }

    private func context(_ inode: InodeNumber, _ writer: Writer, _ ancestors: Set<ProcessID>) -> WriterContext {
        WriterContext(
            item: whereabouts[inode] ?? ClaimItem(orphan: inode), ancestors: ancestors.union([writer.process]))
    }

    mutating func close(_ inode: InodeNumber = file, _ writer: Writer) -> [Effect] {
        converge(table.handleClosed(inode, writer.handle!, now: now))
    }

    mutating func finish(_ inode: InodeNumber = file, by writer: Writer) -> [Effect] {
        converge(table.finished(inode, by: writer, byteCount: 1, now: now))
    }

    func state(of set: ClaimSetID) -> ClaimState? {
        table.snapshot(now: now).flatMap(\.claims).first { $0.set == set }?.state
    }
}

extension [Effect] {
    var questions: [Question] {
        compactMap { if case .claim(.ask(let question)) = $0 { question } else { nil } }
    }

    var granted: [ClaimSetID] {
        compactMap { if case .claim(.granted(let set)) = $0 { set } else { nil } }
    }

    /// The effects that are not questions.
    var others: [Effect] {
        filter { if case .claim(.ask) = $0 { false } else { true } }
    }
}
