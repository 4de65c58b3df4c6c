/// Runs a function and returns its result: memory is not managed by pools on Linux.
///
/// Differences from Apple's: none that a program can see.
public func autoreleasepool<Failure: Error, Result: ~Copyable>(
    invoking body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    try body()
}

extension URL {
    /// Does nothing, since programs on Linux have no sandbox.
    ///
    /// - Returns: `true`.
    @discardableResult
    public func startAccessingSecurityScopedResource() -> Bool { true }

    /// Does nothing, since programs on Linux have no sandbox.
    public func stopAccessingSecurityScopedResource() {}
}

extension NSURL {
    /// Does nothing, since programs on Linux have no sandbox.
    ///
    /// - Returns: `true`.
    @discardableResult
    public func startAccessingSecurityScopedResource() -> Bool { true }

    /// Does nothing, since programs on Linux have no sandbox.
    public func stopAccessingSecurityScopedResource() {}
}
