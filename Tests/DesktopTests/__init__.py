"""Tests of what a desktop shows; run by scripts/test. DEWPOINT_BINARY names the program for those that mount."""
