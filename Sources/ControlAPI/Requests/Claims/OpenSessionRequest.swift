package import Model

/// Opens a session for claims and presenters: its body is ``SessionRequest`` lines, its answer ``SessionEvent`` lines,
/// both ways at once. Claims end with their session, so that it changes nothing.
package struct OpenSessionRequest: ControlRequest {
    package typealias Answer = JSONLines<SessionEvent>

    package static let method = ControlMethod.post
    package static let route = "/v1/session"
    package static let answers = "lines in both directions; see below"
    package static let example = Self()
    package static let isStream = true
    package static let changesSomething = false

    package var downloads: Downloads?

    /// `withheld`: reads of its process and child processes never download meanwhile.
    package enum Downloads: String, Sendable { case withheld }

    package init(downloads: Downloads? = nil) { self.downloads = downloads }

    package var query: ControlQuery { ControlQuery([("downloads", downloads?.rawValue)]) }

    package init(query: ControlQuery) { downloads = query["downloads"].flatMap(Downloads.init) }
}
