"""One tool-using agent's run: dispatch, turns, freeze. The authority for what it leaves behind."""
