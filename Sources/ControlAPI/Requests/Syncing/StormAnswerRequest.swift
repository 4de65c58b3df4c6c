/// Resumes a process blocked for exceeding the download limit, or makes its reads fail.
package struct StormAnswerRequest: ControlOrder {
    package static let route = "/v1/storms/answer"
    package static let answers =
        "`{}`; resumes a held process, or its group; `false` refuses it; 404 for one that has downloaded nothing"
    package static let example = Self(process: 4711, allowed: true)
    package static let isForDashboard = true

    /// A process, or the number of its group, as shown by ``ContainerStatusRequest``.
    package var process: Int32
    /// Whether its reads proceed rather than fail.
    package var allowed: Bool

    package init(process: Int32, allowed: Bool) {
        self.process = process
        self.allowed = allowed
    }
}
