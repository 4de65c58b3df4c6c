"""The differential tester behind scripts/compare."""
