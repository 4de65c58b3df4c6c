"""The modules of scripts/compare-encryption."""
