/// What a mount may set.
package struct EngineOptions: Sendable, Hashable {
    /// How long a write session that someone waits for may be silent. Default 500 ms; 10 ms to 60 s.
    package var sessionQuiet: Duration = .milliseconds(500)
    /// How long a write session that someone waits for may last in all. Default 30 s; 1 s to 1 h.
    package var sessionLimit: Duration = .seconds(30)
    /// How long an operation that needs the store goes on trying while the store does not answer. Default 20 s; 1 s to 1 h.
    package var networkTimeout: Duration = .seconds(20)

    package init() {}
}
