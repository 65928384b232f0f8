"""The frozen records that cross rooms. No I/O, no logic.

A record omits fields that equal their defaults when it is encoded, so a default never changes once
it is released, and a record that grows moves no old hash.
"""
