/// The uniform type identifier of an item, by its kind and its name's extension.
///
/// Covers the most common extensions; everything else is `public.data`. Source: Apple's System-Declared Uniform Type
/// Identifiers.
package enum ContentType {
    package static func identifier(kind: ItemKind, name: ItemName?) -> String {
        switch kind {
        case .directory: name.flatMap(package) ?? "public.folder"
        case .symbolicLink: "public.symlink"
        case .file: name.flatMap { byExtension[$0.pathExtension.lowercased()] } ?? "public.data"
        case .fifo, .socket, .characterDevice, .blockDevice: "public.item"
        }
    }

    /// The type of files or file packages with an extension in lower case; `nil` for one that is not known.
    package static func identifier(pathExtension: String) -> String? {
        byExtension[pathExtension] ?? byPackageExtension[pathExtension]
    }

    /// The first extension of a type; `nil` for one that is not known.
    package static func pathExtension(of identifier: String) -> String? {
        byExtension.merging(byPackageExtension) { first, _ in first }.filter { $0.value == identifier }.keys.min()
    }

    /// The type of a file package; `nil` for other directories.
    private static func package(_ name: ItemName) -> String? {
        guard FilePackage.isPackage(name) else { return nil }
        return byPackageExtension[name.pathExtension.lowercased()] ?? "com.apple.package"
    }

    private static let byPackageExtension: [String: String] = [
        "app": "com.apple.application-bundle", "appex": "com.apple.application-and-system-extension",
        "bundle": "com.apple.generic-bundle", "framework": "com.apple.framework", "plugin": "com.apple.plugin",
        "rtfd": "com.apple.rtfd", "pages": "com.apple.iwork.pages.pages", "numbers": "com.apple.iwork.numbers.numbers",
        "key": "com.apple.iwork.keynote.key", "playground": "com.apple.dt.playground",
        "xcodeproj": "com.apple.xcode.project", "xcworkspace": "com.apple.dt.document.workspace",
        "xcassets": "com.apple.dt.assetcatalog", "textbundle": "org.textbundle.package",
        "sketch": "com.bohemiancoding.sketch.drawing", "photoslibrary": "com.apple.photos.library",
    ]

    private static let byExtension: [String: String] = [
        "txt": "public.plain-text", "text": "public.plain-text", "md": "net.daringfireball.markdown",
        "html": "public.html", "htm": "public.html", "xml": "public.xml", "json": "public.json",
        "csv": "public.comma-separated-values-text", "rtf": "public.rtf", "pdf": "com.adobe.pdf",
        "png": "public.png", "jpg": "public.jpeg", "jpeg": "public.jpeg", "gif": "com.compuserve.gif",
        "heic": "public.heic", "tiff": "public.tiff", "tif": "public.tiff", "svg": "public.svg-image",
        "webp": "org.webmproject.webp", "mp3": "public.mp3", "m4a": "public.mpeg-4-audio",
        "wav": "com.microsoft.waveform-audio",
        "flac": "org.xiph.flac", "mp4": "public.mpeg-4", "mov": "com.apple.quicktime-movie", "mkv": "org.matroska.mkv",
        "zip": "public.zip-archive", "gz": "org.gnu.gnu-zip-archive", "tar": "public.tar-archive",
        "c": "public.c-source", "h": "public.c-header", "cpp": "public.c-plus-plus-source",
        "swift": "public.swift-source",
        "py": "public.python-script", "sh": "public.shell-script", "js": "com.netscape.javascript-source",
        "plist": "com.apple.property-list", "docx": "org.openxmlformats.wordprocessingml.document",
        "xlsx": "org.openxmlformats.spreadsheetml.sheet", "pptx": "org.openxmlformats.presentationml.presentation",
        "epub": "org.idpf.epub-container", "ttf": "public.truetype-ttf-font",
    ]
}
