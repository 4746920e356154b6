"""The codes of what the verifier finds. They are stored with records: a code is never renamed or reused."""

NO_CITATION = "no-citation"
UNKNOWN_EVIDENCE = "unknown-evidence"
ROLE_NOT_ALLOWED = "role-not-allowed"
EVIDENCE_REFUSED = "evidence-refused"
CLAIM_TOO_LONG = "claim-too-long"
EVIDENCE_TOO_LONG = "evidence-too-long"
TOO_MANY_CLAIMS = "too-many-claims"
NOTHING_STATED = "nothing-stated"

QUOTE_INVENTED = "quote-invented"
QUOTE_SPLICED = "quote-spliced"
QUOTE_MISATTRIBUTED = "quote-misattributed"

OFF_TOPIC = "off-topic"
NUMBER_DIFFERS = "number-differs"
DATE_DIFFERS = "date-differs"
UNIT_DIFFERS = "unit-differs"
NAME_DIFFERS = "name-differs"
NEGATION_DIFFERS = "negation-differs"
OPPOSITE_WORD = "opposite-word"
WORDS_MISSING = "words-missing"
RELATION_MISSING = "relation-missing"
ORDER_DIFFERS = "order-differs"
HEDGE_DROPPED = "hedge-dropped"

SIDECAR_NEUTRAL = "sidecar-neutral"
SIDECAR_CONTRADICTED = "sidecar-contradicted"
SIDECAR_FAILED = "sidecar-failed"

# The evidence speaks against the claim, it does not merely fail to hold it.
CONTRADICTIONS = frozenset(
    {NUMBER_DIFFERS, DATE_DIFFERS, UNIT_DIFFERS, NEGATION_DIFFERS, OPPOSITE_WORD, SIDECAR_CONTRADICTED}
)
