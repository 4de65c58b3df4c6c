import Crypto
import Foundation

/// The page that opens a shared file in a browser, as one file: it is the same for all shares, and has no secret.
enum SharePage {
    static let bytes: [UInt8] = {
        let (style, script) = (PackageResources.share_css, PackageResources.share_js)
        return Array(
            text(PackageResources.share_html).replacing("{{policy}}", with: policy(style, script))
                .replacing("{{style}}", with: text(style)).replacing("{{script}}", with: text(script)).utf8)
    }()

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Nothing but this script and style, and requests to the server that the page is from.
    private static func policy(_ style: [UInt8], _ script: [UInt8]) -> String {
        "default-src 'none'; script-src '\(hash(script))'; style-src '\(hash(style))'; connect-src 'self'; "
            + "base-uri 'none'; form-action 'none'"
    }

    private static func hash(_ bytes: [UInt8]) -> String {
        "sha256-" + Data(SHA256.hash(data: bytes)).base64EncodedString()
    }
}
