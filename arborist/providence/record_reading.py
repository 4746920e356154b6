"""Reading a record back to answer from it, which is refused unless it is what was recorded."""

from arborist.errors import LedgerError
from arborist.providence.ledger import Ledger
from arborist.providence.record import Ancestor, ProvidenceRecord
from arborist.providence.record_checks import record_faults

_EVENTS_BEFORE = 2


def refuse_changed(ledger: Ledger, record: ProvidenceRecord) -> None:
    """Raises LedgerError, naming stage and fault, for a record that its event and its run DAG contradict."""
    number = record.record_id
    # A record has the number of the event that closed its run; the events of its retrieval stand before it.
    event = ledger.event(number)
    before = list(ledger.events(max(1, number - _EVENTS_BEFORE), number))
    query = "SELECT document_root, cache_key FROM record_ancestors WHERE record_id = ? ORDER BY document_root"
    ancestors = [Ancestor(*row) for row in ledger.rows(query, (number,))]
    for fault in record_faults(record, ledger.sources(number), ancestors, event, before):
        raise LedgerError(
            f"the record {record.cache_key[:16]} is not what was recorded: {fault.stage}: {fault.problem} "
            "(`arborist ledger fsck` lists every fault, `--burn` asks anew)"
        )
