import Model

/// The uniform type identifier of an item, by its kind and its name's extension.
///
/// Covers the most common extensions; everything else is `public.data`. Source: Apple's System-Declared Uniform Type
/// Identifiers.
enum ContentType {
    static func identifier(kind: ItemKind, name: ItemName?) -> String {
        switch kind {
        case .directory: "public.folder"
        case .symbolicLink: "public.symlink"
        case .file: name.flatMap { byExtension[$0.pathExtension.lowercased()] } ?? "public.data"
        case .fifo, .socket, .characterDevice, .blockDevice: "public.item"
        }
    }

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
