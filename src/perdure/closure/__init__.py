"""What code decides a run: import closures and fingerprints, for our runs and for any program.

Everything is read from source; nothing is imported or run to find out what it imports. Modules are
imported by name: a worker holds what it has loaded against a fingerprint, and takes none.
"""
