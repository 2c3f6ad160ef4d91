"""LLVM IR: its values, its text, its control flow, and changes that need no more than these."""
