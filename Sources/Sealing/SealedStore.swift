import Crypto
import Foundation
package import Model
package import Remote

/// A store that need not be trusted for anything but being there: seals what goes down and opens what comes up, object
/// by object. It knows neither records nor commits.
///
/// Lengths of listings are those with ``Padding``; what is read has the true one. Objects beside the container are
/// refused: they are plain. What is shared by a link has a key of its own (``ShareKey``), and beside it a page that opens
/// it in a browser; the page comes and goes with it, and is not shown above.
package struct SealedStore: ObjectStore {
    /// How many headers of packs are remembered, of some 300 bytes each: 4096.
    static let headerLimit = 4096
    /// Keys below these are not sealed, since they are read before the keys are known.
    private static let plainPrefixes = ["keyring/", "enrol/"]

    private let base: any ObjectStore
    private let source: any SealingKeySource
    let history: SealedHistory?
    private let makeSalt: @Sendable (_ key: String) -> [UInt8]
    private let headers = PackHeaders(limit: Self.headerLimit)

    var keys: SealingKeys { source.keys }

    /// - Parameters:
    ///   - keys: ``SealingKeys``, or where they are renewed.
    ///   - history: Signs and verifies commits and snapshots; `nil` for none of that.
    ///   - makeSalt: Makes 32 random bytes for an object.
    package init(
        _ base: any ObjectStore, keys: any SealingKeySource, history: SealedHistory? = nil,
        makeSalt: @escaping @Sendable (_ key: String) -> [UInt8] = { _ in Self.randomSalt() }
    ) {
        self.base = base
        source = keys
        self.history = history
        self.makeSalt = makeSalt
    }

    package static func randomSalt() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<SealedHeader.saltByteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    // MARK: Reading

    package func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        guard try containerKey(address) == SealingKeys.description else { return try await open(address, range: range) }
        // Two objects have that key: errors are about the sealed one.
        let (stored, shown) = (keys.storedDescription, SealingKeys.description)
        let source: ByteStream
        do throws(StoreError) { source = try await open(address, range: range) } catch {
            throw error.about(stored, insteadOf: shown)
        }
        return ByteStream(key: stored) { () async throws(StoreError) in
            do throws(StoreError) { return try await source.next() } catch {
                throw error.about(stored, insteadOf: shown)
            }
        }
    }

    private func open(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        let key = try containerKey(address)
        if isPlain(key) { return try await base.get(address, range: range) }
        if let history, let place = SealedHistory.place(key) {
            guard range == nil else {
                throw StoreError(.invalid, key: key, "what is signed as a whole is read as a whole")
            }
            let endorsed = try await endorsed(key, at: place, history, reading)
            return ByteStream(key: key) { () async throws(StoreError) in try await endorsed.pull() }
        }
        guard let range = range?.clamped(to: 0..<SealedLayout.byteLimit) else {
            return try await whole(key, try await load(key, nil))
        }
        guard !range.isEmpty, let known = headers.header(of: key) else { return try await first(range, of: key) }
        return try await segments(range, of: key, known)
    }

    /// A commit or a snapshot, which was signed.
    private func endorsed(
        _ key: String, at place: SealedHistory.Place, _ history: SealedHistory, _ reading: SealedHistory.Reading?
    ) async throws(StoreError) -> EndorsedStream {
        let sealed = HashedStream(try await load(key, nil))
        let source = ByteStream(key: key) { () async throws(StoreError) in try await sealed.pull() }
        return EndorsedStream(
            try await whole(key, source), from: sealed, history, at: place, key: key, read: reading)
    }

    private func whole(_ key: String, _ source: ByteStream) async throws(StoreError) -> ByteStream {
        let (header, start) = try await header(from: source, key: key)
        let layout = header.layout
        return opened(
            source, header, segments: 0..<layout.segmentCount, range: 0..<layout.byteCount, key: key, start: start)
    }

    /// A range of an object whose header is not known: it is fetched at the same time.
    private func first(_ range: Range<Int64>, of key: String) async throws(StoreError) -> ByteStream {
        let segments = range.isEmpty ? 0..<0 : SealedLayout.segments(of: range)
        let wanted = SealedLayout.sealedRange(ofSegments: segments)
        let start = Int64(SealedHeader.byteCount)
        if segments.lowerBound == 0 {
            let source = try await load(key, 0..<wanted.upperBound)
            let (header, rest) = try await header(from: source, key: key)
            let clipped = range.clamped(to: 0..<header.layout.byteCount)
            if clipped.isEmpty { return .empty(key) }
            return opened(source, header, segments: segments, range: clipped, key: key, start: rest)
        }
        // The bytes are requested by this task, which need not be started: they take longer than the header.
        async let headerResult = result { () async throws(StoreError) in
            try await self.headers.header(of: key) { () async throws(StoreError) in
                try await self.header(from: self.load(key, 0..<start), key: key).0
            }
        }
        // With the first of them: otherwise they would be on their way only once the header is there.
        let body = await result { () async throws(StoreError) in
            let source = try await self.load(key, wanted)
            return (source, try await source.next() ?? [])
        }
        // Whose error it is: without a header nothing is known of the object.
        let header = try await headerResult.get()
        let (source, piece) = try body.get()
        let clipped = range.clamped(to: 0..<header.layout.byteCount)
        if clipped.isEmpty { return .empty(key) }
        return opened(source, header, segments: segments, range: clipped, key: key, start: piece)
    }

    private func segments(
        _ range: Range<Int64>, of key: String, _ header: SealedHeader
    ) async throws(StoreError) -> ByteStream {
        let clipped = range.clamped(to: 0..<header.layout.byteCount)
        if clipped.isEmpty { return .empty(key) }
        let segments = SealedLayout.segments(of: clipped)
        let source = try await load(key, SealedLayout.sealedRange(ofSegments: segments))
        return opened(source, header, segments: segments, range: clipped, key: key)
    }

    private func opened(
        _ source: ByteStream, _ header: SealedHeader, segments: Range<Int64>, range: Range<Int64>, key: String,
        start: [UInt8] = []
    ) -> ByteStream {
        let opening = SegmentStream(source, header, segments: segments, range: range, key: key, start: start)
        return ByteStream(key: key) { [headers] () async throws(StoreError) in
            do throws(StoreError) { return try await opening.pull() } catch {
                // A write that was repeated may have landed twice, each time with a header of its own.
                if error.code == .corrupt { headers.forget(key) }
                throw error
            }
        }
    }

    /// The header at the beginning of a stream, and what was read behind it.
    private func header(
        from source: ByteStream, key: String
    ) async throws(StoreError) -> (SealedHeader, rest: [UInt8]) {
        let (start, rest) = try await SealedHeader.take(from: source)
        if let epoch = SealedHeader.epoch(of: start), keys.epochKeys[epoch] == nil { try await self.source.renew() }
        let header = try SealedHeader(reading: start, key: key, keys: keys)
        headers.remember(header, of: key)
        return (header, rest)
    }

    private func load(_ key: String, _ range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        let stored = stored(key)
        let source: ByteStream
        do throws(StoreError) { source = try await base.get(.container(stored), range: range) } catch {
            throw error.about(key, insteadOf: stored)
        }
        return ByteStream(key: key) { () async throws(StoreError) in
            do throws(StoreError) { return try await source.next() } catch { throw error.about(key, insteadOf: stored) }
        }
    }

    // MARK: Writing

    /// A body is sealed as a whole before it is sent.
    package var bodyCopyCount: Int { 1 + base.bodyCopyCount }

    package func put(_ key: String, _ body: Body) async throws(StoreError) {
        try await write(key, body) { (key, body) throws(StoreError) in try await base.put(key, body) }
    }

    package func create(_ key: String, _ body: Body) async throws(StoreError) {
        try await write(key, body) { (key, body) throws(StoreError) in try await base.create(key, body) }
    }

    static let queue = BlockingQueue(name: "dewpoint.sealing")

    private func write(
        _ key: String, _ body: Body, _ call: (String, Body) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        try ObjectKey.validate(key)
        if isPlain(key) { return try await call(key, body) }
        try await source.renewIfOld()
        try await putPage(beside: key)
        let salt = makeSalt(key)
        let place = SealedHistory.place(key)
        let endorsement = try await endorsement(of: body, at: place, key: key)
        let sealed = try await Self.queue.run { [keys = source.keys] () throws(StoreError) in
            try body.sealed(after: endorsement?.bytes ?? [], key: key, salt: salt, keys: keys)
        }
        let stored = stored(key)
        do throws(StoreError) { try await call(stored, sealed) } catch {
            throw error.about(key, insteadOf: stored)
        }
        if let endorsement, case .commit(let number) = place, case .bytes(let bytes) = sealed {
            history?.note(commit: number, endorsement, hash: Data(SHA256.hash(data: bytes)))
        }
    }

    /// - Returns: `nil` for what is not signed, and for a commit that is trimmed.
    private func endorsement(
        of body: Body, at place: SealedHistory.Place?, key: String
    ) async throws(StoreError) -> Endorsement? {
        guard let history, let place, body.byteCount > 0 else { return nil }
        return try await history.endorsement(of: body, at: place, key: key, read: reading)
    }

    private var reading: SealedHistory.Reading {
        SealedHistory.Reading(
            note: { key throws(StoreError) in try await note(key) },
            ring: { key throws(StoreError) in try await ring(of: key) },
            commits: { () throws(StoreError) in try await commits() })
    }

    private func commits() async throws(StoreError) -> [SealedHistory.LoggedCommit] {
        var commits: [SealedHistory.LoggedCommit] = []
        var last: String?
        while true {
            let page = try await list(.container(ChangeLog.prefix), after: last, limit: ObjectListing.limit)
            guard let end = page.last else { return commits }
            for line in page {
                guard let number = ChangeLog.number(of: line.key) else { continue }
                commits.append(SealedHistory.LoggedCommit(number: number, isTrimmed: line.byteCount == 0))
            }
            last = end.key
        }
    }

    private func ring(of key: String) async throws(StoreError) -> Int? {
        guard let history, let place = SealedHistory.place(key) else { return nil }
        do throws(StoreError) {
            let object = try await endorsed(key, at: place, history, nil)
            while try await object.pull() != nil {}
            return object.ring > 0 ? object.ring : nil
        } catch {
            switch error.code {
            case .notFound, .corrupt, .invalid: return nil
            case .preconditionFailed, .throttled, .unavailable, .denied, .full, .cancelled: throw error
            }
        }
    }

    /// Has the history see an object.
    private func note(_ key: String) async throws(StoreError) -> SealedHistory.Found {
        do throws(StoreError) {
            let object = try await get(.container(key), range: nil)
            var isEmpty = true
            while let piece = try await object.next() { isEmpty = isEmpty && piece.isEmpty }
            return isEmpty ? .trimmed : .present
        } catch {
            guard error.code == .notFound else { throw error }
            return .missing
        }
    }

    /// Every part is read and sent: what the store has of them is sealed for another place.
    ///
    /// - Throws: ``StoreError`` with `invalid` for what is no share.
    package func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) {
        guard SharedObject(key: key) != nil else { throw StoreError(.invalid, key: key, "only shares are assembled") }
        try await source.renewIfOld()
        let sealed = try SealedParts(parts, key: key, salt: makeSalt(key), keys: source.keys)
        try await putPage(beside: key)
        let stored = stored(key)
        do throws(StoreError) { try await base.assemble(stored, from: sealed.sealed) } catch {
            throw error.about(key, insteadOf: stored)
        }
    }

    /// Before the bytes of a share, so that they are never without it.
    private func putPage(beside key: String) async throws(StoreError) {
        guard let share = SharedObject(key: key) else { return }
        try await base.put(share.pageKey, .bytes(SharePage.bytes))
    }

    package func delete(_ key: String) async throws(StoreError) {
        try ObjectKey.validate(key)
        headers.forget(key)
        if let share = SharedObject(key: key) { try await base.delete(share.pageKey) }
        let stored = stored(key)
        do throws(StoreError) { try await base.delete(stored) } catch { throw error.about(key, insteadOf: stored) }
    }

    // MARK: Listing

    package func list(
        _ prefix: ObjectAddress, after: String?, limit: Int
    ) async throws(StoreError) -> [ObjectListing] {
        _ = try containerKey(prefix)
        var last = after.map(stored)
        while true {
            let lines = try await base.list(prefix, after: last, limit: limit)
            let page = lines.compactMap(shown)
            // A page of other programs' objects is not the end.
            guard page.isEmpty, let next = lines.last?.key else { return page }
            last = next
        }
    }

    /// A line as it is above; `nil` for what is no object of the container.
    ///
    /// A length that no sealed object has is passed on: it stops nobody from listing the others, and who reads the object
    /// learns of it. It is not 0, which a trimmed commit has.
    private func shown(_ line: ObjectListing) -> ObjectListing? {
        guard let key = keys.shownKey(of: line.key) else { return nil }
        if key == line.key, isPlain(key) { return line }
        let padded = SealedLayout.paddedByteCount(ofSealed: line.byteCount)
        return ObjectListing(key: key, byteCount: padded.map { shownByteCount($0, key) } ?? max(1, line.byteCount))
    }

    package func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing {
        let key = try containerKey(address)
        if isPlain(key) { return try await base.head(address) }
        let stored = stored(key)
        do throws(StoreError) {
            let line = try await base.head(.container(stored))
            guard let padded = SealedLayout.paddedByteCount(ofSealed: line.byteCount) else {
                throw StoreError(.corrupt, key: key, "\(line.byteCount) bytes long, which no sealed object is")
            }
            return ObjectListing(key: key, byteCount: shownByteCount(padded, key))
        } catch {
            throw error.about(key, insteadOf: stored)
        }
    }

    package func listedByteCount(_ byteCount: Int64, of key: String) -> Int64 {
        // What is trimmed is not endorsed.
        guard byteCount > 0, !isPlain(key) else { return byteCount }
        let isEndorsed = history != nil && SealedHistory.place(key) != nil
        let whole = byteCount + (isEndorsed ? Int64(Endorsement.byteCount) : 0)
        return shownByteCount(Padding.of(key: key).paddedByteCount(whole), key)
    }

    /// Without the endorsement. It is 0 for a trimmed commit only.
    private func shownByteCount(_ padded: Int64, _ key: String) -> Int64 {
        guard history != nil, padded > 0, SealedHistory.place(key) != nil else { return padded }
        return max(1, padded - Int64(Endorsement.byteCount))
    }

    // MARK: Sharing

    /// A link with the key of a share, which is a secret from then on: see ``ShareLink``.
    ///
    /// - Throws: ``StoreError`` with `notFound` or `corrupt` where the object is not there or does not open, with `invalid`
    ///   for what is no share.
    package func link(to key: String, for request: ObjectLinkRequest) async throws(StoreError) -> ObjectLink {
        guard let share = SharedObject(key: key), case .file(let fileName) = request.use else {
            throw StoreError(.invalid, key: key, "an encrypted container has no links but those to shared files")
        }
        let bytes = try await base.link(to: key, for: ObjectLinkRequest(.bytes, lifetime: request.lifetime))
        let page = try await base.link(to: share.pageKey, for: ObjectLinkRequest(.page, lifetime: request.lifetime))
        // Of the epoch in which it was sealed, whatever the reader's is.
        let (start, _) = try await header(from: load(key, 0..<Int64(SealedHeader.byteCount)), key: key)
        guard let epochKey = keys.epochKeys[start.epoch] else { throw SegmentCipher.damage(key) }
        let shareKey = ShareKey(of: share.id, container: keys.container, epochKey: epochKey)
        guard let text = ShareLink.text(page: page.url, bytes: bytes.url, key: shareKey, fileName: fileName) else {
            throw StoreError(
                .invalid, key: key, "the store's links to the page and to the bytes are not beside each other")
        }
        return ObjectLink(url: text, expires: min(page.expires, bytes.expires))
    }

    package func changes(prefix: String) -> AsyncStream<Void>? { base.changes(prefix: prefix) }

    package var isSealed: Bool { true }

    /// That is the sealed one which is read here, and the one in plain text by which others find the container.
    package func verifyDescription() async throws(StoreError) {
        try await ContainerStub(uuid: keys.container).verify(in: base)
        try await source.verify()
    }

    package func goOn(fromSnapshot number: CommitNumber) { history?.goOn(from: number) }

    package var formerMemberCount: Int { history?.formerMemberCount ?? 0 }
    package var isBaseDoubtful: Bool { history?.isBaseDoubtful ?? false }

    package func isSignedByFormerMember(_ key: String) async throws(StoreError) -> Bool {
        guard let history, history.formerMemberCount > 0, SealedHistory.place(key) != nil else { return false }
        let start = try await first(0..<Int64(Endorsement.byteCount), of: key).collect(upTo: Endorsement.byteCount)
        return Endorsement(bytes: start).map { !history.mayWrite($0.signer) } ?? false
    }

    package func keyProblems() async throws(StoreError) -> [String] {
        var problems = try await source.problems()
        do throws(StoreError) { try await ContainerStub(uuid: keys.container).verify(in: base) } catch {
            problems.append(try Self.problem(error))
        }
        do throws(StoreError) {
            _ = try await get(.container(SealingKeys.description), range: nil).collect(upTo: Self.descriptionLimit)
        } catch {
            problems.append(try Self.problem(error))
        }
        return problems
    }

    /// The longest description that is read: 64 KiB.
    private static let descriptionLimit = 64 << 10

    private static func problem(_ error: StoreError) throws(StoreError) -> String {
        switch error.code {
        case .notFound, .corrupt, .invalid: "\(error.key): \(error.detail.isEmpty ? "it is missing" : error.detail)"
        case .preconditionFailed, .throttled, .unavailable, .denied, .full, .cancelled: throw error
        }
    }

    // MARK: Keys

    private func isPlain(_ key: String) -> Bool { Self.plainPrefixes.contains { key.utf8.starts(with: $0.utf8) } }

    private func stored(_ key: String) -> String { keys.storedKey(of: key) }

    private func containerKey(_ address: ObjectAddress) throws(StoreError) -> String {
        guard case .container(let key) = address else {
            throw StoreError(
                .invalid, key: address.key,
                "an encrypted container cannot adopt objects, which are plain by nature: import them")
        }
        return key
    }
}

/// Calls the work and catches its error with its type, which `async let` does not keep.
private func result<Value: Sendable>(
    _ work: @Sendable () async throws(StoreError) -> Value
) async -> Result<Value, StoreError> {
    do throws(StoreError) { return .success(try await work()) } catch { return .failure(error) }
}

extension ByteStream {
    fileprivate static func empty(_ key: String) -> ByteStream { ByteStream(key: key) { () throws(StoreError) in nil } }
}

extension StoreError {
    /// The same error about an object's own key, where it is about the one in the store.
    fileprivate func about(_ key: String, insteadOf stored: String) -> StoreError {
        guard self.key == stored, key != stored else { return self }
        return StoreError(code, key: key, detail, remedy: remedy, retryAfter: retryAfter)
    }
}
