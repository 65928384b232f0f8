"""Recompute every hash of a run, from docs/format.md alone. Usage: python format_check.py RUN."""

# ruff: noqa: ANN001, ANN002, ANN201, D103
import hashlib
import json
import sqlite3
import struct
import sys
from pathlib import Path
from urllib.parse import quote


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def need(holds, place, wrong):
    if not holds:
        sys.exit(f"{place}: {wrong}")


def rows(path, query):
    name = f"file:{quote(str(path))}?mode=ro"
    return sqlite3.connect(name, uri=True).execute(query).fetchall()


def check_world(path, witness, log):
    world, header = path.stem, rows(path, "SELECT payload FROM header")[0][0]
    bodies, ends = [], {-1: (sha(b"perdure-chain-1\0", sha(header)), sha(b"perdure-digest-1\0"), 0)}
    query = "SELECT seq, content, tick, kind, persona, payload, hash FROM events ORDER BY seq"
    for seq, content, tick, kind, persona, payload, stored in rows(path, query):
        chain, digest, count = ends.get(seq - 1, (b"", b"", None))
        need(count is not None and content in {None, count}, f"{world}:{seq}", "misnumbered")
        words, number = (kind.encode(), persona.encode()), -1 if content is None else content
        frame = struct.pack(">qqqII", seq, number, tick, *map(len, words)) + b"".join(words)
        if content is not None:
            bodies, count = [*bodies, frame[8:], payload], count + 1
        if kind == "tick_closed":
            digest, bodies = sha(digest, *bodies) if bodies else digest, []
        ends[seq] = (sha(chain, frame, payload), digest, count)
        need(ends[seq][0] == stored, f"{world}:{seq}", "the chain does not match")
    head = rows(path, "SELECT seq, chain, digest, content, log_seq, log_chain FROM head")[0]
    need(head[0] == max(ends) and ends[head[0]] == head[1:4], world, "the head does not match")
    need(head[4] < 0 or log.get(head[4]) == head[5], world, "the run log that it saw is gone")
    seen = tuple(part.hex() for part in ends.get(witness["seq"], (b"", b"", 0))[:2])
    need(seen == (witness["chain"], witness["digest"]), world, "it is not as it was witnessed")
    for key, data in rows(path, "SELECT sha256, bytes FROM blobs"):
        need(sha(data) == key, world, f"the blob {key.hex()} does not match")
    print(world, head[0] + 1, head[1].hex(), head[2].hex())


registry, log = Path(sys.argv[1]) / "run.db", {}
log[-1] = sha(b"perdure-log-1\0", sha(rows(registry, "SELECT entry FROM run")[0][0]))
for seq, kind, payload, stored in rows(registry, "SELECT * FROM log ORDER BY seq"):
    log[seq] = sha(
        log.get(seq - 1, b""), struct.pack(">qI", seq, len(kind)), kind.encode(), payload
    )
    need(log[seq] == stored, f"run log {seq}", "the chain does not match")
for world, witness in rows(registry, "SELECT world_id, witness FROM worlds WHERE witness NOT NULL"):
    check_world(registry.parent / "worlds" / f"{world}.db", json.loads(witness), log)
