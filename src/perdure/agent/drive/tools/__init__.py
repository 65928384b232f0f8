"""Tools that a drive can be given: Python functions, a workspace's files and commands, servers."""
