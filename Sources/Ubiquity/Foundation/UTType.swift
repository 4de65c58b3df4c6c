import Model

/// A uniform type, such as `public.plain-text`.
///
/// Differences from Apple's: known are the types that `dewpoint` knows and those that the program's Info.plist declares.
public struct UTType: Hashable, Sendable, CustomStringConvertible {
    /// The identifier.
    public let identifier: String

    private init(known identifier: String) { self.identifier = identifier }

    /// The type with an identifier; `nil` for one that is not known.
    public init?(_ identifier: String) {
        guard UniformType.isKnown(identifier) || Self.declared(identifier) != nil else { return nil }
        self.identifier = identifier
    }

    /// A type that the program exports, known or not.
    public init(exportedAs identifier: String, conformingTo parentType: UTType? = nil) { self.identifier = identifier }

    /// A type that the program imports, known or not.
    public init(importedAs identifier: String, conformingTo parentType: UTType? = nil) { self.identifier = identifier }

    /// The type of an item that exists: as the program declares it, as the container says, or by its kind and name.
    init(of url: URL) {
        let known = DocumentTypes.type(of: url)
        guard known == "public.data" || known == "public.folder" else {
            identifier = known
            return
        }
        let kind: ItemKind =
            switch (try? ItemSignature(url))?.kind {
            case .directory: .directory
            case .symbolicLink: .symbolicLink
            default: .file
            }
        identifier = ContentType.identifier(kind: kind, name: try? ItemName(url.fileName))
    }

    /// The type of files with an extension; `nil` for one that is not known.
    ///
    /// - Parameter supertype: What the type has to conform to.
    public init?(filenameExtension: String, conformingTo supertype: UTType = .data) {
        let name = filenameExtension.lowercased()
        let declared = ProgramInfo.main.types[name]?.identifier
        guard let identifier = declared ?? ContentType.identifier(pathExtension: name) else { return nil }
        let type = UTType(known: identifier)
        guard type.conforms(to: supertype) || supertype == .data && type.conforms(to: .package) else { return nil }
        self = type
    }

    /// Whether the type is the other one, or a kind of it.
    public func conforms(to type: UTType) -> Bool { tree.contains(type.identifier) }

    /// Whether the type is a kind of the other one, and another one.
    public func isSubtype(of type: UTType) -> Bool { self != type && conforms(to: type) }

    /// Whether the other one is a kind of the type, and another one.
    public func isSupertype(of type: UTType) -> Bool { type.isSubtype(of: self) }

    /// All types that it conforms to, without itself.
    public var supertypes: Set<UTType> { Set(tree.dropFirst().map { UTType(known: $0) }) }

    /// The extension of files of the type; `nil` if none is known.
    public var preferredFilenameExtension: String? {
        ProgramInfo.main.types.filter { $0.value.identifier == identifier }.keys.min()
            ?? ContentType.pathExtension(of: identifier)
    }

    /// The identifier.
    public var description: String { identifier }

    private var tree: [String] {
        guard let declared = Self.declared(identifier) else { return UniformType.tree(of: identifier) }
        return [identifier] + declared.conformsTo.flatMap { UniformType.tree(of: $0) }
    }

    private static func declared(_ identifier: String) -> ProgramInfo.DeclaredType? {
        ProgramInfo.main.types.values.first { $0.identifier == identifier }
    }

    /// `public.item`.
    public static let item = UTType(known: "public.item")
    /// `public.content`.
    public static let content = UTType(known: "public.content")
    /// `public.data`.
    public static let data = UTType(known: "public.data")
    /// `public.directory`.
    public static let directory = UTType(known: "public.directory")
    /// `public.folder`.
    public static let folder = UTType(known: "public.folder")
    /// `com.apple.package`.
    public static let package = UTType(known: "com.apple.package")
    /// `com.apple.bundle`.
    public static let bundle = UTType(known: "com.apple.bundle")
    /// `public.symlink`.
    public static let symbolicLink = UTType(known: "public.symlink")
    /// `public.text`.
    public static let text = UTType(known: "public.text")
    /// `public.plain-text`.
    public static let plainText = UTType(known: "public.plain-text")
    /// `public.html`.
    public static let html = UTType(known: "public.html")
    /// `public.xml`.
    public static let xml = UTType(known: "public.xml")
    /// `public.json`.
    public static let json = UTType(known: "public.json")
    /// `public.rtf`.
    public static let rtf = UTType(known: "public.rtf")
    /// `com.apple.rtfd`.
    public static let rtfd = UTType(known: "com.apple.rtfd")
    /// `com.adobe.pdf`.
    public static let pdf = UTType(known: "com.adobe.pdf")
    /// `public.image`.
    public static let image = UTType(known: "public.image")
    /// `public.png`.
    public static let png = UTType(known: "public.png")
    /// `public.jpeg`.
    public static let jpeg = UTType(known: "public.jpeg")
    /// `public.audio`.
    public static let audio = UTType(known: "public.audio")
    /// `public.movie`.
    public static let movie = UTType(known: "public.movie")
    /// `public.archive`.
    public static let archive = UTType(known: "public.archive")
    /// `public.zip-archive`.
    public static let zip = UTType(known: "public.zip-archive")
    /// `public.source-code`.
    public static let sourceCode = UTType(known: "public.source-code")
    /// `com.apple.property-list`.
    public static let propertyList = UTType(known: "com.apple.property-list")
}

extension URLResourceKey {
    /// The uniform type of an item. A ``UTType``.
    public static let contentTypeKey = URLResourceKey(rawValue: "NSURLContentTypeKey")
}

extension URLResourceValues {
    /// The uniform type of the item, by its name and kind.
    public var contentType: UTType? { allValues[.contentTypeKey] as? UTType }
}
