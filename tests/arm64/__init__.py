"""Compiling for arm64 on another machine: see scripts/arm64."""
