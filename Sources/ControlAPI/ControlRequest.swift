package import Foundation
package import Model

/// A request of the control API: one type in one file, which declares all that is known of it.
///
/// HTTP and JSON on a Unix socket, so `curl --unix-socket` works too. A path is below the container's root and has no
/// leading `/`; the empty path is the root. Every failure is answered with a ``ControlFault``. A client that closes its
/// connection cancels the wait, not the work.
///
/// The names of the properties are those of the fields on the wire, in the query of a ``ControlQuestion`` or in the body
/// of a ``ControlOrder``. ``ControlRequests/all`` lists the types; whoever performs them does so in extensions of them.
package protocol ControlRequest: Hashable, Sendable {
    /// A value in JSON, or how it is not one: ``JSONLines``, ``RawBytes``, ``PlainText``.
    associatedtype Answer

    static var method: ControlMethod { get }
    /// For example `/v1/items/status`.
    static var route: String { get }
    /// What it answers, as Markdown: its cell of the table in Operations.
    static var answers: String { get }
    /// The one in that table.
    static var example: Self { get }
    /// Whether its answer lasts as long as the client reads it.
    static var isStream: Bool { get }
    /// Whether the container, or what its daemon does, is another afterwards: root asks no such thing of another user's
    /// daemon. All others, of that user and of root, may be asked by both.
    static var changesSomething: Bool { get }
    /// Whether the dashboard passes it on.
    static var isForDashboard: Bool { get }
    /// Whether it may be sent again to the daemon that takes the place of one that was killed before it had answered: then it does
    /// nothing twice.
    static var mayBeRepeated: Bool { get }
    /// How long a daemon may take for its answer; `nil` for those that wait for the store or for other programs.
    static var answerLimit: Duration? { get }

    var query: ControlQuery { get }
    /// The body, in JSON.
    var body: Data? { get throws }
}

/// A request with GET: its fields are in the query.
package protocol ControlQuestion: ControlRequest {
    /// - Throws: ``FileError`` with `invalid`.
    init(query: ControlQuery) throws(FileError)
}

/// A request with POST: its fields are a JSON object.
package protocol ControlOrder: ControlRequest, Codable {
    associatedtype Answer = Done
    /// What a refusal calls the body.
    static var bodyName: String { get }
    /// Whether it is cancelled when the daemon stops; when the client disconnects, it is in any case.
    static var endsWithDaemon: Bool { get }
}

/// The answer to requests without a result: `{}`.
package struct Done: Codable, Hashable, Sendable {
    package init() {}
}

/// A question without fields.
package protocol PlainQuestion: ControlQuestion {
    init()
}

/// A question about one item.
package protocol ItemQuestion: ControlQuestion, ItemRequest {
    init(path: String)
}

/// An order about one item.
package protocol ItemOrder: ControlOrder, ItemRequest {}

/// A request about one item.
package protocol ItemRequest: ControlRequest {
    /// As the client gave it; see ``item``.
    var path: String { get }
}

extension ControlRequest {
    package static var isStream: Bool { false }
    package static var isForDashboard: Bool { false }
    package static var changesSomething: Bool { method == .post }
    package static var mayBeRepeated: Bool { !changesSomething }
    package static var answerLimit: Duration? { method == .get ? ControlRequests.quickLimit : nil }

    package var query: ControlQuery { ControlQuery() }
    package var body: Data? { nil }

    /// The route with the query.
    package var target: String { query.text.isEmpty ? Self.route : "\(Self.route)?\(query.text)" }
}

extension ControlQuestion {
    package static var method: ControlMethod { .get }
}

extension ControlOrder {
    package static var method: ControlMethod { .post }
    package static var bodyName: String { "\(Self.self)" }
    package static var endsWithDaemon: Bool { true }

    package var body: Data? { get throws { try ControlJSON.encode(self) } }

    /// - Throws: ``FileError`` with `invalid`.
    package init(body: Data) throws(FileError) {
        do {
            self = try ControlJSON.decode(Self.self, from: body)
        } catch {
            throw FileError(
                .invalid, "the body must be a JSON object of \(Self.bodyName): \(DecodingFault.sentence(error))",
                cause: error)
        }
    }
}

extension PlainQuestion {
    package static var example: Self { Self() }

    package init(query: ControlQuery) { self.init() }
}

extension ItemQuestion {
    package var query: ControlQuery { ControlQuery([("path", path)]) }

    package init(query: ControlQuery) throws(FileError) { self.init(path: try query.path) }
}

extension ItemRequest {
    /// The path without slashes at both ends: the file system takes none.
    package var item: String { ItemPath(ItemPath(path).components).string }
}
