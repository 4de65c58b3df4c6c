import ControlAPI
import Foundation
import Model

/// The output of `--json`: the values of the control API, with sorted keys.
enum JSONOutput {
    static func print(_ value: some Encodable) throws {
        Swift.print(text(try ControlJSON.encode(value, pretty: true)))
    }

    fileprivate static func text(_ json: some Sequence<UInt8>) -> String {
        String(decoding: Array(json), as: UTF8.self).printableJSON
    }
}

/// An array that is printed while its elements arrive, as ``JSONOutput`` prints a whole one.
struct JSONArrayOutput<Element: Encodable> {
    /// How many elements are kept until they are printed.
    private static var elementsPerStep: Int { 1000 }

    private var elements: [Element] = []
    private var isFirst = true

    mutating func add(_ element: Element) throws {
        elements.append(element)
        if elements.count >= Self.elementsPerStep { try flush() }
    }

    mutating func end() throws {
        if isFirst, elements.isEmpty { return try JSONOutput.print(elements) }
        if !elements.isEmpty { try flush() }
        print("\n]")
    }

    private mutating func flush() throws {
        // Without the array's own brackets, which have a line each.
        let json = try ControlJSON.encode(elements, pretty: true).dropFirst().dropLast(2)
        print(isFirst ? "[" : ",", JSONOutput.text(json), separator: "", terminator: "")
        isFirst = false
        elements = []
    }
}
