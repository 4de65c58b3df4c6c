#include <zlib.h>

/// `deflateInit2` is a macro, which Swift does not import. Writes the gzip framing (window bits 15 + 16).
static inline int dewpoint_gzip_deflate_init(z_streamp stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

/// `inflateInit2` is a macro, which Swift does not import. Accepts the gzip framing only.
static inline int dewpoint_gzip_inflate_init(z_streamp stream) {
    return inflateInit2(stream, 15 + 16);
}
