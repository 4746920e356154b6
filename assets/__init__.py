"""Software-defined assets and their checks, one module a domain.

An asset here reads its resources, calls the engine, and reports what came of it; it computes nothing itself. The
engine is imported inside what calls it: every process of Dagster loads the definitions, and most compute nothing.
"""
