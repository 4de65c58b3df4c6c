// `import Ubiquity` replaces `import Foundation`: with both imports, the members that this module overrides are ambiguous.
@_exported public import AsyncAlgorithms
@_exported public import Foundation
