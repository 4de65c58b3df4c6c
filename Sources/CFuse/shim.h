// The low-level API of libfuse 3.14, the version of Debian 12.
#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
