import Remote
import RemoteS3

extension ContainerLocation {
    /// Checks the form of the location, without its store.
    ///
    /// - Parameter variables: Of the process: they may give an endpoint and a region.
    /// - Throws: ``DaemonError`` with `usage` and a sentence with the correct form.
    package func check(variables: [String: String]) throws(DaemonError) {
        do throws(StoreError) {
            if url.prefix(S3Location.scheme.count).lowercased() == S3Location.scheme {
                _ = try S3Location(url, endpoint: endpoint, region: region, environment: variables)
            } else {
                _ = try StoreLocation(url)
            }
        } catch {
            throw DaemonError(error, url: url)
        }
    }
}
