import Foundation
import FoundationXML

/// An element of S3's XML responses: a name, and text or children.
struct S3Document: Sendable {
    let name: String
    fileprivate(set) var text = ""
    fileprivate(set) var children: [S3Document] = []

    /// The maximum nesting of elements: S3's own have three levels.
    private static let depthLimit = 16

    /// - Returns: The root element; `nil` for text that is not XML.
    static func parse(_ bytes: [UInt8]) -> S3Document? {
        let builder = Builder(depthLimit: depthLimit)
        let parser = XMLParser(data: Data(bytes))
        // External entities are never loaded.
        parser.externalEntityResolvingPolicy = .never
        parser.delegate = builder
        return parser.parse() ? builder.root : nil
    }

    func child(_ name: String) -> S3Document? { children.first { $0.name == name } }

    /// The text of a child; `nil` when there is none or it is empty.
    func text(_ name: String) -> String? {
        guard let text = child(name)?.text, !text.isEmpty else { return nil }
        return text
    }

    private final class Builder: NSObject, XMLParserDelegate {
        private let depthLimit: Int
        private var open: [S3Document] = []
        private(set) var root: S3Document?

        init(depthLimit: Int) { self.depthLimit = depthLimit }

        func parser(
            _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
            qualifiedName qName: String?,
            attributes attributeDict: [String: String]
        ) {
            guard open.count < depthLimit else { return parser.abortParsing() }
            open.append(S3Document(name: elementName))
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) {
            if !open.isEmpty { open[open.count - 1].text += string }
        }

        func parser(
            _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName qName: String?
        ) {
            guard let element = open.popLast() else { return }
            if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
        }
    }
}
