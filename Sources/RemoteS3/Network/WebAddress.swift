import Foundation

/// The address of a server, as somebody outside wrote it: in an option, a variable, a file or a link.
enum WebAddress {
    /// What is wrong with a URL, in words; `nil` for one that the HTTP client takes. It ends the program at a port that is
    /// none.
    static func fault(of text: String) -> String? {
        guard let url = URLComponents(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            let host = url.host, !host.isEmpty
        else { return "an address must begin with http:// or https:// and the name of a host" }
        guard hasPort(url) else { return portFault }
        return nil
    }

    static let portFault = "a port is a number from 1 to 65535"

    /// Whether its port is one, or it has the scheme's.
    static func hasPort(_ url: URLComponents) -> Bool {
        guard let place = url.rangeOfPort, let text = url.string, !text[place].isEmpty else { return url.port == nil }
        // Of too many digits, no number is made.
        return url.port.map { 1...65535 ~= $0 } ?? false
    }
}
