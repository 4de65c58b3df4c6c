import ControlAPI
import Foundation
import Testing

/// `scripts/control-api.json` says what the types of ``ControlRequests/all`` declare; `scripts/check-clients` reads it.
@Suite struct ControlSchemaTests {
    private struct Entry: Encodable {
        var fields: [String: String]
        var answer: String
        var isForDashboard: Bool
        var changesSomething: Bool
    }

    /// Written anew with `DEWPOINT_WRITE_SCHEMA=1`.
    @Test func `the schema is that of the declarations`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../scripts/control-api.json")
        let lines = try ControlRequests.all.map { type in
            let entry = String(decoding: try ControlJSON.encode(Self.entry(of: type)), as: UTF8.self)
            return "\"\(type.method.rawValue) \(type.route)\": \(entry)"
        }
        let schema = "{\n\(lines.joined(separator: ",\n"))\n}\n"
        if ProcessInfo.processInfo.environment["DEWPOINT_WRITE_SCHEMA"] != nil { try Data(schema.utf8).write(to: file) }
        #expect(try String(contentsOf: file, encoding: .utf8) == schema)
    }

    private static func entry<Request: ControlRequest>(of request: Request.Type) -> Entry {
        // The properties are the fields, with their names on the wire.
        let fields = Mirror(reflecting: request.example).children.map { ($0.label ?? "", name(type(of: $0.value))) }
        return Entry(
            fields: Dictionary(uniqueKeysWithValues: fields), answer: name(Request.Answer.self),
            isForDashboard: request.isForDashboard, changesSomething: request.changesSomething)
    }

    private static func name(_ type: Any.Type) -> String {
        "\(type)".replacing(/Optional<(.*)>/) { "\($0.output.1)?" }.replacing(/Array<(.*)>/) { "[\($0.output.1)]" }
    }
}
