/// The uniform type identifiers of documents.
enum DocumentTypes {
    /// The type of an item: as the program's Info.plist declares it for the name's extension, else as the container
    /// says, else `public.data` or `public.folder`.
    static func type(of url: URL) -> String {
        if let declared = declarations().first(where: { $0.extensions.contains(url.pathExtension.lowercased()) }) {
            return declared.identifier
        }
        if let type = DocumentAttributes(path: url.path)?.status("contentType") { return type }
        return (try? ItemSignature(url))?.kind == .directory ? "public.folder" : "public.data"
    }

    /// The first extension that the program's Info.plist declares for a type.
    static func fileNameExtension(of type: String) -> String? {
        declarations().first { $0.identifier == type }?.extensions.first
    }

    private struct Declaration {
        let identifier: String
        let extensions: [String]
    }

    private static func declarations() -> [Declaration] {
        let information = Bundle.main.infoDictionary ?? [:]
        return ["UTExportedTypeDeclarations", "UTImportedTypeDeclarations"]
            .flatMap { information[$0] as? [[String: Any]] ?? [] }
            .compactMap { type in
                guard let identifier = type["UTTypeIdentifier"] as? String,
                    let tags = type["UTTypeTagSpecification"] as? [String: Any]
                else { return nil }
                // One extension is written as a string or as an array.
                let tag = tags["public.filename-extension"]
                let extensions = tag as? [String] ?? (tag as? String).map { [$0] } ?? []
                return Declaration(identifier: identifier, extensions: extensions.map { $0.lowercased() })
            }
    }
}
