import ControlAPI
import Foundation
import Testing

/// The table of requests in Operations has what the types declare, in the order of ``ControlRequests/all``.
@Suite struct OperationsTableTests {
    private struct Row: Equatable {
        var request: String
        var body: NSDictionary?
        var answers: String
    }

    @Test func `the page lists every request with its example and its answer`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/Model/Documentation.docc/Operations.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
            .drop { $0 != "| request | answer |" }.dropFirst(2).prefix { $0.hasPrefix("|") }
        #expect(try rows.map { try Self.row(String($0)) } == ControlRequests.all.map { try Self.row(of: $0) })
    }

    private static func row(of type: any ControlRequest.Type) throws -> Row {
        let example = type.example
        return Row(
            request: "\(type.method.rawValue) \(example.target)", body: try example.body.map(object),
            answers: type.answers)
    }

    private static func row(_ line: String) throws -> Row {
        let row = try #require(try /\| `curl (.*) "?http:\/\/dewpoint([^ "`]*)"?(.*?)` \| (.*) \|/.wholeMatch(in: line))
        let body = try row.output.3.firstMatch(of: /-d '(.*)'/).map { try object(Data($0.output.1.utf8)) }
        let method = body != nil || row.output.1.contains("-X POST") ? "POST" : "GET"
        return Row(request: "\(method) \(row.output.2)", body: body, answers: String(row.output.4))
    }

    private static func object(_ json: Data) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: json) as? NSDictionary)
    }
}
