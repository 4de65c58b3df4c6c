import Model

/// What a program declares of itself in its `Info.plist`: its containers, and the types whose documents are
/// directories.
///
/// `Bundle.main` reads an `Info.plist` beside the executable or in `X.app/Contents`. A program without one has no
/// restrictions.
package struct ProgramInfo: Sendable {
    /// Its containers by identifier; `nil` without `NSUbiquitousContainers`: then it may use every mounted one.
    package let containers: [String: UbiquitousContainerInfo]?

    /// The extensions, in lower case and without a dot, of directories that are its documents: of exported and imported
    /// types that conform to `com.apple.package`, and of document types with `LSTypeIsPackage`.
    package let packageExtensions: Set<String>

    /// The types that it declares, by extension, in lower case and without a dot.
    package let types: [String: DeclaredType]

    /// A uniform type that a program exports or imports.
    package struct DeclaredType: Equatable, Sendable {
        package let identifier: String
        package let conformsTo: [String]
    }

    /// Whether a directory of that name is a file package.
    func isPackage(_ name: String) -> Bool {
        guard let name = try? ItemName(name) else { return false }
        return FilePackage.isPackage(name) || packageExtensions.contains(name.pathExtension.lowercased())
    }

    package static let main = ProgramInfo(Bundle.main.infoDictionary ?? [:])

    package init(_ info: [String: Any]) {
        let declared = info["NSUbiquitousContainers"] as? [String: Any]
        containers = declared?.mapValues { UbiquitousContainerInfo($0 as? [String: Any] ?? [:]) }
        var extensions: Set<String> = []
        var types: [String: DeclaredType] = [:]
        for key in ["UTExportedTypeDeclarations", "UTImportedTypeDeclarations"] {
            for type in info[key] as? [[String: Any]] ?? [] {
                let tags = type["UTTypeTagSpecification"] as? [String: Any] ?? [:]
                let names = Self.strings(tags["public.filename-extension"])
                if Self.isPackage(type) { extensions.formUnion(names) }
                guard let identifier = type["UTTypeIdentifier"] as? String else { continue }
                let declared = DeclaredType(identifier: identifier, conformsTo: Self.strings(type["UTTypeConformsTo"]))
                // What a program exports goes before what it imports.
                for name in names where types[name.lowercased()] == nil { types[name.lowercased()] = declared }
            }
        }
        for type in info["CFBundleDocumentTypes"] as? [[String: Any]] ?? [] {
            guard Self.flag(type["LSTypeIsPackage"]) else { continue }
            extensions.formUnion(Self.strings(type["CFBundleTypeExtensions"]))
        }
        self.types = types
        packageExtensions = Set(extensions.map { $0.lowercased() }.filter { !$0.isEmpty && $0 != "*" })
    }

    private static func isPackage(_ type: [String: Any]) -> Bool {
        if flag(type["LSTypeIsPackage"]) { return true }
        return strings(type["UTTypeConformsTo"]).contains { $0 == "com.apple.package" || $0 == "com.apple.bundle" }
    }

    /// A single string stands for an array of one.
    private static func strings(_ value: Any?) -> [String] {
        if let text = value as? String { return [text] }
        return value as? [String] ?? []
    }

    /// Old property lists write booleans as text.
    static func flag(_ value: Any?) -> Bool {
        if let text = value as? String { return ["yes", "true", "1"].contains(text.lowercased()) }
        return (value as? NSNumber)?.boolValue ?? false
    }
}

/// The settings of one container in `NSUbiquitousContainers`.
package struct UbiquitousContainerInfo: Equatable, Sendable {
    /// How deep directories may nest below `Documents` (`NSUbiquitousContainerSupportedFolderLevels`).
    package enum FolderLevels: String, Sendable, CaseIterable {
        case none, one, any
    }

    /// Whether people see `Documents` (`NSUbiquitousContainerIsDocumentScopePublic`).
    package var isDocumentScopePublic: Bool
    /// The name for people (`NSUbiquitousContainerName`).
    package var name: String?
    package var supportedFolderLevels: FolderLevels

    /// Missing and unknown values mean not public, no name and no folders, as on Apple's systems. `Any`, `One` and
    /// `None` are compared without case.
    package init(_ info: [String: Any]) {
        isDocumentScopePublic = ProgramInfo.flag(info["NSUbiquitousContainerIsDocumentScopePublic"])
        name = info["NSUbiquitousContainerName"] as? String
        let levels = info["NSUbiquitousContainerSupportedFolderLevels"] as? String
        supportedFolderLevels = levels.flatMap { FolderLevels(rawValue: $0.lowercased()) } ?? .none
    }
}
