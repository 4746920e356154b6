"""Retrieval measured on golden questions, and compared only with measurements of the same thing."""
