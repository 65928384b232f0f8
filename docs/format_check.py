"""Recompute every hash of a run, from docs/format.md alone. Usage: python format_check.py RUN."""

import hashlib, json, pathlib, re, sqlite3, struct, sys

sha = lambda *parts: hashlib.sha256(b"".join(parts)).digest()
need = lambda holds, place, wrong: holds or sys.exit(f"{place}: {wrong}")
opened = lambda path: sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
rows = lambda path, what: opened(path).execute(f"SELECT * FROM {what}").fetchall()
run = json.loads(entry := rows(registry := pathlib.Path(sys.argv[1]) / "run.db", "run")[0][1])
study, hashes, kinds = json.loads(run["study"]), run["hashes"], ""
log = {-1: sha(b"perdure-log-1\0", sha(entry))}
for seq, kind, data, stored in rows(registry, "log ORDER BY seq"):
    kinds += f" {kind}"
    log[seq] = sha(log.get(seq - 1, b""), struct.pack(">qI", seq, len(kind)), kind.encode(), data)
    need(log[seq] == stored, f"run log {seq}", "the chain does not match")
ordered = lambda name: rows(registry, f"{name} ORDER BY position")
joined = lambda name: sha(b"[", b",".join(row[-1] for row in ordered(name)), b"]").hex()
need(joined("personas") == hashes["population"], "personas", "another population")
need("graph" not in hashes or joined("graph") == hashes["graph"], "graph", "another graph")
real = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
real = real(dict(rows(registry, "held_out ORDER BY id"))).encode()
need(sha(real).hex() == hashes["held_out"], "held_out", "other values")
worlds = [(row[1], *(json.loads(one or "{}") for one in row[2:])) for row in ordered("worlds")]
grid = [(one["id"], seed) for one in study.get("scenarios", ()) for seed in study["seeds"]]
found = [(entry["scenario"], entry["replicate_seed"]) for _, entry, *_ in worlds]
strays = {path.stem for path in registry.parent.glob("worlds/*.db")} - {row[0] for row in worlds}
need(grid in ([], found) and not strays, "worlds", "a row is missing or another")
kind = re.sub(" (opened )?(budget_changed|rescored)", "", kinds).rpartition(" ")[2]
ended, done = kind == "closed", {"completed"} == {one.get("state") for *_, one in worlds}
need(kind in {"closed", "paused"} or not done, "run log", "its end is missing")
for world, entry, witness, _ in worlds:
    path, cited, bodies = registry.parent / "worlds" / f"{world}.db", set(), []
    if not path.exists() and need(not witness, world, "its record is missing"):
        continue
    header = rows(path, "header")[0][1]
    said = (told := json.loads(header)) | told["scenario"] | {"scenario": told["scenario"]["id"]}
    entry |= {f"{one}_hash": hashes[one] for one in ("population", "graph") if one in hashes}
    need(said | entry | {"world_id": world} == said, world, "the header has another")
    ends = {-1: (sha(b"perdure-chain-1\0", sha(header)), 0, sha(b"perdure-digest-1\0"), -1)}
    for seq, tick, kind, persona, content, data, stored in rows(path, "events ORDER BY seq"):
        chain, count, digest, last = ends.get(seq - 1, (b"", 0, b"", -1))
        words, number = (kind.encode(), persona.encode()), -1 if content is None else content
        frame = struct.pack(">qqqII", seq, number, tick, *map(len, words)) + b"".join(words)
        bodies += [frame[8:], data] * (number >= 0)
        if kind == "tick_closed":
            digest, bodies, last = sha(digest, *bodies) if bodies else digest, [], tick
        ends[seq] = (sha(chain, frame, data), count + (number >= 0), digest, last)
        need(ends[seq][0] == stored and number in {-1, count}, f"{world}:{seq}", "the chain breaks")
        text = data.split(b'"skills":')[0] * (kind not in {"job_pinned", "prompt_shape_compared"})
        cited |= {*re.findall(rb'"(?:sha256|vectors?|inherited)":"(\w{64})"(?!,"size":0)', text)}
    _, *head, log_seq, log_chain = rows(path, "head")[0]
    need(head == [max(ends), *ends[max(ends)]], world, "the head does not match")
    need(log_seq < 0 or log.get(log_seq) == log_chain, world, "the run log that it saw is gone")
    at = witness.get("seq", -1 if ended else head[0])
    chain, count, digest, last = ends.get(at, (b"", 0, b"", -1))
    seen = {"seq": at, "chain": chain.hex(), "content": count, "digest": digest.hex(), "tick": last}
    need(witness.items() <= seen.items() and (at == head[0] or not ended), world, "not witnessed")
    whole = {key.hex().encode() for key, data in rows(path, "blobs") if sha(data) == key}
    need(cited <= whole, world, f"the blob {min(cited - whole, default=b'').decode()} is not there")
    print(world, head[0] + 1, head[1].hex(), head[3].hex())
