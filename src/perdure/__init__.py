"""Perdure runs generative-agent studies to completion inside a budget."""
