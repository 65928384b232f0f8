"""Recompute a drive's ledger, from docs/format.md alone. Usage: python drive_check.py DIR."""

import hashlib, json, sqlite3, struct, sys
from pathlib import Path

sha = lambda *parts: hashlib.sha256(b"".join(parts)).digest()
need = lambda holds, place, wrong: holds or sys.exit(f"{place}: {wrong}")
ledger = sqlite3.connect(f"{(Path(sys.argv[1]) / 'drive.db').resolve().as_uri()}?mode=ro", uri=True)
rows = lambda what: ledger.execute(f"SELECT * FROM {what}").fetchall()
whole = {key.hex() for key, data in rows("blobs") if sha(data) == key}
chain, last, own = sha(b"perdure-drive-1\0", sha(rows("asked")[0][1])), -1, {}
for seq, run, kind, data, stored in rows("lines ORDER BY seq"):
    need(seq == last + 1, f"line {last + 1}", "it is missing")
    words, sizes = (run.encode(), kind.encode()), struct.pack(">q", seq)
    sizes += b"".join(struct.pack(">I", len(word)) for word in words)
    chain, last, line = sha(chain, sizes, *words, data), seq, json.loads(data)
    need(chain == stored, f"line {seq}", "the chain does not match")
    need(line["run"] == run, f"line {seq}", "it is one of another drive")
    cited = {one["sha256"] for one in line.get("segments", ()) if kind[0] == "p" and one["size"]}
    cited |= {line["inherited"]} if line.get("inherited") else set()
    need(cited <= whole, f"line {seq}", "bytes that it cites are not there")
    shown = [own[run][number : number + 1] for number in line.get("evidence", ())]
    answers = all(one[0][1] in ("model_returned", "harness_answered") for one in shown if one)
    need(all(shown) and answers, f"line {seq}", "what it cites is no answer")
    own.setdefault(run, []).append((seq, kind))
    for ((place, _),) in shown:
        print(f"{run} is done, as line {place} shows")
need([last, chain] == list(rows("head")[0][1:]), "head", "it does not match")
print(last + 1, chain.hex())
