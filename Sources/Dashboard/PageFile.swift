import Foundation

/// The files of the page, which are part of the program.
enum PageFile: String {
    case html = "/"
    case style = "/dashboard.css"
    case script = "/dashboard.js"
    /// Loads the page again with the token that the tab has kept.
    case reopening = "/reopen.js"

    init?(path: some StringProtocol) { self.init(rawValue: String(path)) }

    var contentType: String {
        switch self {
        case .html: "text/html; charset=utf-8"
        case .style: "text/css; charset=utf-8"
        case .script, .reopening: "text/javascript; charset=utf-8"
        }
    }

    /// In the page: where the token stands in the addresses of the two other files.
    private static let tokenMark = "{{token}}"

    func bytes(token: DashboardToken) -> [UInt8] {
        switch self {
        case .html:
            let text = String(decoding: PackageResources.dashboard_html, as: UTF8.self)
            return Array(text.replacing(Self.tokenMark, with: token.text).utf8)
        case .style: return PackageResources.dashboard_css
        case .script: return PackageResources.dashboard_js
        case .reopening: return PackageResources.reopen_js
        }
    }

    /// What a tab gets that asks for the page without the token, as one does that is reloaded.
    static var refused: [UInt8] { PackageResources.refused_html }
}
