package import Model

/// Fetches previews: those that lie close to each other in a pack with one ranged GET.
package struct PreviewReader: Sendable {
    /// How many bytes between two previews are fetched with them: 64 KiB, less than a request costs on most links.
    static let gapByteLimit: Int64 = 64 << 10
    /// The most bytes of one GET: 4 MiB.
    static let rangeByteLimit: Int64 = 4 << 20
    /// How many GETs are under way at a time.
    static let width = 4

    private let packs: PackStore

    package init(packs: PackStore) { self.packs = packs }

    /// A part of a pack, and the previews in it, in order.
    struct Request: Hashable, Sendable {
        let pack: PackID
        var range: Range<Int64>
        var previews: [ItemPreview]
    }

    /// Groups previews into as few requests as the limits allow.
    static func requests(for previews: some Sequence<ItemPreview>) -> [Request] {
        Dictionary(grouping: Set(previews), by: \.pack).flatMap { pack, previews in
            var requests: [Request] = []
            for preview in previews.sorted(by: { $0.offset < $1.offset }) {
                if let last = requests.last?.range, preview.offset - last.upperBound <= gapByteLimit,
                    preview.range.upperBound - last.lowerBound <= rangeByteLimit
                {
                    let end = max(last.upperBound, preview.range.upperBound)
                    requests[requests.count - 1].range = last.lowerBound..<end
                    requests[requests.count - 1].previews.append(preview)
                } else {
                    requests.append(Request(pack: pack, range: preview.range, previews: [preview]))
                }
            }
            return requests
        }
    }

    /// The bytes of previews, by their hashes; those that are damaged or missing are left out.
    ///
    /// - Throws: ``StoreError`` when the store does not answer.
    package func read(_ previews: some Sequence<ItemPreview>) async throws(StoreError) -> [ChunkHash: [UInt8]] {
        let requests = Self.requests(for: previews)
        let results = await withTaskGroup(of: Result<[ChunkHash: [UInt8]], StoreError>.self) { group in
            var results: [Result<[ChunkHash: [UInt8]], StoreError>] = []
            for (index, request) in requests.enumerated() {
                if index >= Self.width, let result = await group.next() {
                    results.append(result)
                    if case .failure = result { break }
                }
                group.addTask {
                    do throws(StoreError) { return .success(try await read(request)) } catch { return .failure(error) }
                }
            }
            return await group.reduce(into: results) { $0.append($1) }
        }
        var found: [ChunkHash: [UInt8]] = [:]
        for result in results { found.merge(try result.get()) { $1 } }
        return found
    }

    private func read(_ request: Request) async throws(StoreError) -> [ChunkHash: [UInt8]] {
        let bytes: [UInt8]
        do throws(StoreError) {
            bytes = try await packs.get(request.pack, range: request.range).collect(upTo: request.range.count)
        } catch {
            // Garbage collection of a device that knows no previews may have deleted the pack.
            guard [.notFound, .corrupt, .invalid].contains(error.code) else { throw error }
            return [:]
        }
        var found: [ChunkHash: [UInt8]] = [:]
        for preview in request.previews {
            let start = Int(preview.offset - request.range.lowerBound)
            guard start + preview.byteCount <= bytes.count else { continue }
            let part = Array(bytes[start..<start + preview.byteCount])
            if ChunkHash(hashing: part) == preview.hash { found[preview.hash] = part }
        }
        return found
    }
}
