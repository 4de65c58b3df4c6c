import ControlAPI
import Foundation
import Model

/// The output of `--json`: the values of the control API, with sorted keys.
enum JSONOutput {
    static func print(_ value: some Encodable) throws {
        Swift.print(String(decoding: try ControlJSON.encode(value, pretty: true), as: UTF8.self).printableJSON)
    }
}
