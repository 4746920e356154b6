"""How the full-text index cuts text into words, and the label under which what is indexed so is known."""

TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")
INDEX_VERSION = f"fts5/{' '.join(TOKENIZER)}/title,text"
