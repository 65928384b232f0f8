"""Keeping a run alive: started or resumed, watched, stopped, and accepted on what it left.

The supervisor imports nothing of what it supervises: it runs commands and reads what they print.
What an end means, how patience is spent and when a run stalls are functions from values to values;
processes, locks, logs and files are kept apart from them.
"""
