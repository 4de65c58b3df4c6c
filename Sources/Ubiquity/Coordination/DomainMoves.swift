import Synchronization

/// Moves from one domain to another that accessors of this process reported lately.
///
/// Within a domain, a call that waits follows its item by itself; a domain does not know where an item went that left.
final class DomainMoves: Sendable {
    static let shared = DomainMoves()

    /// How many moves are remembered, for calls that have waited since.
    private static let limit = 256

    private struct Move: Sendable {
        let number: UInt64
        let from: ItemPlace
        let to: URL
    }

    private struct State {
        var lastNumber: UInt64 = 0
        var moves: [Move] = []
    }

    private let state = Mutex(State())

    private init() {}

    /// Names this moment.
    var now: UInt64 { state.withLock { $0.lastNumber } }

    func note(_ old: URL, to new: URL) {
        let place = ItemPlace(old)
        state.withLock { state in
            state.lastNumber += 1
            if state.moves.count >= Self.limit { state.moves.removeFirst() }
            state.moves.append(Move(number: state.lastNumber, from: place, to: new))
        }
    }

    /// Where an item is now.
    ///
    /// - Parameter moment: When the item was at the URL.
    /// - Returns: `nil` when it was not moved to another domain since.
    func place(of url: URL, since moment: UInt64) -> URL? {
        var found: URL?
        for move in state.withLock({ $0.moves }) where move.number > moment {
            if let moved = move.from.follow(found ?? url, to: move.to) { found = moved }
        }
        return found
    }
}

/// A move of an item from one domain to another, as an accessor reported it.
struct DomainMove: Sendable {
    let from: URL
    let to: URL
    /// The number of the coordinator's presenter, which knows of it.
    let presenter: UInt64?
}

/// The path of an item in one spelling, compared by its bytes.
struct ItemPlace: Hashable, Sendable {
    private let bytes: [UInt8]

    init(_ url: URL) {
        if let (container, path) = MountedContainer.containing(url) {
            bytes = Array(container.path(path).utf8)
        } else {
            bytes = Array(LocalPlaces.canonical(url.path).utf8)
        }
    }

    /// The URL of an item after this one was moved.
    ///
    /// - Returns: `nil` when the item is neither this one nor in it.
    func follow(_ url: URL, to new: URL) -> URL? {
        let other = ItemPlace(url).bytes
        guard other.starts(with: bytes) else { return nil }
        let rest = other.dropFirst(bytes.count)
        guard let first = rest.first else { return URL(fileURLWithPath: new.path, isDirectory: url.hasDirectoryPath) }
        guard first == UInt8(ascii: "/") else { return nil }
        return URL(
            fileURLWithPath: new.path + String(decoding: rest, as: UTF8.self), isDirectory: url.hasDirectoryPath)
    }
}
