"""What was asked: a study file becomes a frozen study, its identities, its cells, its forecast.

Modules are imported by name: a worker tells of a study, and loads nothing that reads one.
"""
