package import Foundation

/// The previews of files: small pictures, without a download of the files themselves.
package struct PreviewsRequest: ControlOrder {
    package typealias Answer = PreviewsAnswer

    /// How many paths it may name.
    package static let pathLimit = 256

    package static let route = "/v1/previews"
    package static let answers =
        #"the JPEGs of files that have a preview, for at most 256 paths: `{"previews":[{"path":"a.jpg","preview":"…"}]}`, in "#
        + "base64; without those that have none. They are fetched with few requests to the store"
    package static let example = Self(paths: ["Photos/a.jpg"])
    package static let isForDashboard = true
    package static let changesSomething = false

    package var paths: [String]

    package init(paths: [String]) { self.paths = paths }
}

package struct PreviewsAnswer: Codable, Hashable, Sendable {
    package struct Preview: Codable, Hashable, Sendable {
        /// As the request has it.
        package var path: String
        /// A JPEG, of at most 16 KiB. It is another device's: decode it with care.
        package var preview: Data

        package init(path: String, preview: [UInt8]) {
            self.path = path
            self.preview = Data(preview)
        }
    }

    package var previews: [Preview]

    package init(previews: [Preview]) { self.previews = previews }
}
