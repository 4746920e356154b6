"""The audit of a record's retrieval, offline, from the bundle that `retrieval_bundle` writes.

The report is that of `arborist.retrieval_audit`, with codes of its own where proofs take the place of paths. Equal
roots before and after take the place of its one-hour rule, because a root does not age. What no audit of retained
files can show stays listed as unverified, and `overall_pass` is always false.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from arborist.answering.run_dag import RunDag
from arborist.errors import InputError
from arborist.hashing import Domain, canonical_json, hash_json, question_hash
from arborist.providence.document_root_binding import (
    REQUIREMENT,
    DocumentRootBinding,
    ProofFailure,
    closed,
    is_digest,
    proven_document,
)
from arborist.providence.record import cache_key_domain, snapshot_root
from arborist.providence.retrieval_bundle import KIND, SHOWN_STAGES, control_question
from arborist.retrieval.context import context_root
from arborist.retrieval.plan import FTS5_KEYWORDS, Frame, RetrievalPlan
from arborist.retrieval_audit import verify_file
from arborist.retrieval_audit.bundle_files import (
    AFTER,
    BEFORE,
    INPUT,
    RESPONSE_LIMIT,
    BundleFiles,
    BundlePath,
    Role,
    bundle_path,
    input_location,
)
from arborist.retrieval_audit.findings import BlockedError, Failure, Findings
from arborist.retrieval_audit.instants import current_instant, instant
from arborist.retrieval_audit.report import AuditRecord, report
from arborist.retrieval_audit.strict_json import JsonObject, same_json

OUTCOME = "record-retrieval-audit"
CUSTOMER = Role("customer", "/input/customer", "/customer", RESPONSE_LIMIT)
UNRELATED = Role("unrelated", "/input/unrelated", "/unrelated", RESPONSE_LIMIT)

_WHOLE_AUDIT = ""
_SNAPSHOT_PARTS = ("shards", "index_versions", "ranking_policy_hash")
_RESULT = ("sources_summary", "context_root")


def verify_bundle_file(input_path: str | os.PathLike[str], *, now: datetime | None = None) -> JsonObject:
    """The report on a bundle of either kind: of our own record, or of a hosted service's responses."""
    verify = verify_record_file if is_record_bundle(input_path) else verify_file
    return verify(input_path, now=now)


def is_record_bundle(input_path: str | os.PathLike[str]) -> bool:
    """Whether the input file says that its bundle is of our own record; what cannot be read does not say so."""
    try:
        directory, name = input_location(input_path)
        document = BundleFiles(directory).document(name, INPUT)
    except BlockedError:
        return False
    return isinstance(document, dict) and document.get("kind") == KIND


def verify_record_file(input_path: str | os.PathLike[str], *, now: datetime | None = None) -> JsonObject:
    """The report on the input file of a record's bundle and the files beside it; otherwise as the next."""

    def audit(record: AuditRecord, moment: int) -> None:
        directory, name = input_location(input_path)
        files = BundleFiles(directory)
        record.files = files.digests
        _audit(files.document(name, INPUT), files, record, moment)

    return _reported(audit, now)


def verify_record_bundle(
    document: Any, bundle_dir: str | os.PathLike[str], *, now: datetime | None = None
) -> JsonObject:
    """The report on a decoded input document whose files lie in `bundle_dir`.

    Whatever the evidence holds becomes a finding, never an exception. `now` is for tests: a time with a zone
    (else ValueError) that stands for the machine's clock.
    """

    def audit(record: AuditRecord, moment: int) -> None:
        files = BundleFiles(Path(bundle_dir))
        record.files = files.digests
        _audit(document, files, record, moment)

    return _reported(audit, now)


def _reported(audit: Callable[[AuditRecord, int], None], now: datetime | None) -> JsonObject:
    moment = current_instant(now)
    record = AuditRecord()
    with record.findings.up_to_the_first_block(_WHOLE_AUDIT):
        audit(record, moment)
    return report(record, OUTCOME)


def _audit(document: Any, files: BundleFiles, record: AuditRecord, now: int) -> None:
    asked = _asked(document)
    before = _snapshot(_document(files, asked.before, BEFORE, Failure.SNAPSHOT_INVALID), BEFORE)
    after = _snapshot(_document(files, asked.after, AFTER, Failure.SNAPSHOT_INVALID), AFTER)
    if not before.captured_at <= after.captured_at <= now:
        raise BlockedError(Failure.TIME_ORDER_INVALID, "/after/captured_at")
    record.snapshots_equal = _snapshots_equal(before, after, record.findings)
    customer = _CustomerCase(asked, before)
    with customer.findings.up_to_the_first_block(CUSTOMER.at):
        customer.read(_document(files, asked.customer, CUSTOMER, Failure.RESPONSE_INVALID), after)
    unrelated = _UnrelatedCase(asked, before, customer.plan)
    with unrelated.findings.up_to_the_first_block(UNRELATED.at):
        unrelated.read(_document(files, asked.unrelated, UNRELATED, Failure.RESPONSE_INVALID), after)
    for role, case in ((CUSTOMER, customer), (UNRELATED, unrelated)):
        record.cases[role.name] = case.report()
        record.findings.absorb(case.findings)


def _document(files: BundleFiles, path: BundlePath, role: Role, code: Failure) -> Any:
    """The value in the file. Raises BlockedError, with `code` for one that no digest can be made of."""
    document = files.document(path, role)
    try:
        canonical_json(document)
    except InputError:
        raise BlockedError(code, role.at) from None
    return document


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the input names: the record, and the four files of its bundle."""

    cache_key: str
    run_dag_root: str
    before: BundlePath
    after: BundlePath
    customer: BundlePath
    unrelated: BundlePath


def _asked(document: Any) -> _Asked:
    roles = {"before": BEFORE, "after": AFTER, "customer": CUSTOMER, "unrelated": UNRELATED}
    names = ("kind", "cache_key", "run_dag_root", *roles)
    if not isinstance(document, dict):
        raise BlockedError(Failure.INPUT_NOT_OBJECT, INPUT.at)
    if not document.keys() <= set(names):
        raise BlockedError(Failure.INPUT_FIELD_UNKNOWN, INPUT.at)
    for name in names:
        if name not in document:
            raise BlockedError(Failure.INPUT_FIELD_MISSING, f"{INPUT.at}/{name}")
    if document["kind"] != KIND:
        raise BlockedError(Failure.INPUT_FIELD_INVALID, f"{INPUT.at}/kind")
    for name in ("cache_key", "run_dag_root"):
        if not is_digest(document[name]):
            raise BlockedError(Failure.INPUT_FIELD_INVALID, f"{INPUT.at}/{name}")
    paths = {name: bundle_path(document[name], role.named_at) for name, role in roles.items()}
    return _Asked(document["cache_key"], document["run_dag_root"], **paths)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The searched shards as they stood at one time (nanoseconds), each at its root, and what ranked them."""

    captured_at: int
    members: JsonObject
    shard_roots: Mapping[str, str]


def _snapshot(document: Any, role: Role) -> _Snapshot:
    members = closed(
        document, role.at, ("captured_at", "snapshot_root", *_SNAPSHOT_PARTS), Failure.SNAPSHOT_INVALID
    )
    shards = members["shards"]
    if not isinstance(shards, list) or not all(map(_is_shard, shards)):
        raise BlockedError(Failure.SNAPSHOT_INVALID, f"{role.at}/shards")
    if snapshot_root(shards) != members["snapshot_root"]:
        raise BlockedError(Failure.SNAPSHOT_INVALID, f"{role.at}/snapshot_root")
    return _Snapshot(instant(members["captured_at"], f"{role.at}/captured_at"), members, dict(shards))


def _is_shard(value: Any) -> bool:
    """Whether the value is a shard's name and its root, which is empty where there was no such shard."""
    named = isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)
    return named and (value[1] == "" or is_digest(value[1]))


def _snapshots_equal(before: _Snapshot, after: _Snapshot, findings: Findings) -> bool:
    changed = [name for name in _SNAPSHOT_PARTS if not same_json(before.members[name], after.members[name])]
    for name in changed:
        findings.add(Failure.SNAPSHOT_CHANGED, f"{AFTER.at}/{name}")
    return not changed


@dataclass(slots=True)
class _CustomerCase:
    """The record's own retrieval; counts stand where a finding ended the reading."""

    asked: _Asked
    before: _Snapshot
    findings: Findings = field(default_factory=Findings)
    plan: RetrievalPlan | None = None
    binding: DocumentRootBinding = field(default_factory=lambda: DocumentRootBinding({}))
    used_citations: int = 0

    def read(self, document: Any, after: _Snapshot) -> None:
        """Audit the decoded file. Raises BlockedError where it cannot be read further."""
        at = CUSTOMER.at
        names = ("captured_at", "plan", "retrieval_keywords", "result", "hits", "documents", "run_dag")
        members = closed(document, at, names, Failure.RESPONSE_INVALID)
        _check_window(members, at, self.before, after)
        self.plan = _plan(members["plan"], f"{at}/plan")
        result = _result(members["result"], f"{at}/result")
        dag = _run_dag(members["run_dag"], f"{at}/run_dag")
        self._check_searched(self.plan, f"{at}/plan")
        if not _are_keywords_of(self.plan, members["retrieval_keywords"]):
            self.findings.add(ProofFailure.PLAN_DIGEST_MISMATCH, f"{at}/retrieval_keywords")
        self._check_run(dag, members)
        self._bind_hits(members, result["sources_summary"], at)
        self._check_citations(dag, result["sources_summary"], f"{at}/run_dag")

    def report(self) -> JsonObject:
        return {
            "structural_status": str(self.findings.status),
            "hits": self.binding.hits,
            "proven_hits": self.binding.proven,
            "documents": len(self.binding.documents),
            "used_citations": self.used_citations,
            "no_support_shape": self.binding.hits == 0,
            "original_identity": str(self.binding.identity),
            "original_identity_requirement": REQUIREMENT,
        }

    def _check_searched(self, plan: RetrievalPlan, at: str) -> None:
        """The plan names the very shards and the very policy that the snapshots are of."""
        searched = [[item.shard, item.root] for item in plan.shard_ids]
        then = self.before.members
        if (searched, plan.ranking_policy_hash) != (then["shards"], then["ranking_policy_hash"]):
            self.findings.add(Failure.SNAPSHOT_TARGET_MISMATCH, at)

    def _check_run(self, dag: RunDag, members: JsonObject) -> None:
        """The run has the root and the key that the input names, and binds this very plan and result."""
        at = f"{CUSTOMER.at}/run_dag"
        if dag.root != self.asked.run_dag_root or dag.faults():
            self.findings.add(ProofFailure.RUN_ROOT_MISMATCH, at)
        if hash_json(Domain.RETRIEVAL_PLAN, members["plan"]) != dag.commitment("retrieval_plan_hash"):
            self.findings.add(ProofFailure.PLAN_DIGEST_MISMATCH, f"{CUSTOMER.at}/plan")
        bound = (dag.commitment("retrieval_result_hash"), dag.commitment("context_root"))
        result = members["result"]
        if (hash_json(Domain.RETRIEVAL_RESULT, result), result["context_root"]) != bound:
            self.findings.add(ProofFailure.RESULT_DIGEST_MISMATCH, f"{CUSTOMER.at}/result")
        if not _has_key(dag.with_payloads({"retrieval_plan": members["plan"]}), self.asked.cache_key, members):
            self.findings.add(ProofFailure.CACHE_KEY_MISMATCH, f"{INPUT.at}/cache_key")

    def _bind_hits(self, members: JsonObject, listed: list[JsonObject], at: str) -> None:
        hits, documents = members["hits"], members["documents"]
        if not isinstance(documents, list) or not isinstance(hits, list) or len(hits) != len(listed):
            raise BlockedError(Failure.RESPONSE_INVALID, f"{at}/hits")
        roots = self.before.shard_roots
        proven = [
            proven_document(item, f"{at}/documents/{index}", roots, self.findings)
            for index, item in enumerate(documents)
        ]
        self.binding = DocumentRootBinding({item.document_root: item for item in proven})
        for index, (hit, entry) in enumerate(zip(hits, listed, strict=True)):
            self.binding.bind(hit, entry, f"{at}/hits/{index}", self.findings)

    def _check_citations(self, dag: RunDag, listed: list[JsonObject], at: str) -> None:
        """Every citation leads to an item of the context, and that to a hit."""
        known = {(entry["document_root"], entry["leaf_hash"]) for entry in listed}
        items, cited = _evidence_and_citations(dag, at)
        self.used_citations = len(cited)
        for number in cited:
            if not 1 <= number <= len(items) or items[number - 1] not in known:
                self.findings.add(Failure.CITATION_UNRESOLVED, at)
        if not cited:
            self.findings.add(Failure.CUSTOMER_GROUNDING_MISSING, at)


@dataclass(slots=True)
class _UnrelatedCase:
    """The control question: a word that no shard holds, searched for as the record's question was."""

    asked: _Asked
    before: _Snapshot
    plan: RetrievalPlan | None
    findings: Findings = field(default_factory=Findings)
    hits: int | None = None

    def read(self, document: Any, after: _Snapshot) -> None:
        """Audit the decoded file. Raises BlockedError where it cannot be read further."""
        at = UNRELATED.at
        members = closed(document, at, ("captured_at", "question", "plan", "result"), Failure.RESPONSE_INVALID)
        _check_window(members, at, self.before, after)
        question = control_question(self.asked.run_dag_root)
        if members["question"] != question:
            raise BlockedError(Failure.QUESTION_BASIS_INVALID, f"{at}/question")
        if self.plan is not None and not same_json(members["plan"], _control_plan(self.plan, question)):
            self.findings.add(Failure.REQUEST_NOT_EXACT, f"{at}/plan")
        result = _result(members["result"], f"{at}/result")
        self.hits = len(result["sources_summary"])
        if self.hits:
            self.findings.add(Failure.UNRELATED_SUPPORT_PRESENT, f"{at}/result/sources_summary")
        if result["context_root"] != context_root([]):
            self.findings.add(ProofFailure.RESULT_DIGEST_MISMATCH, f"{at}/result/context_root")

    def report(self) -> JsonObject:
        return {
            "structural_status": str(self.findings.status),
            "hits": self.hits or 0,
            "no_support_shape": self.hits == 0,
        }


def _control_plan(plan: RetrievalPlan, question: str) -> JsonObject:
    """The plan of a record turned to the control question: all else as it was, but no keywords."""
    mode = Frame.choose(()).retrieval_mode
    control = replace(plan, question_hash=question_hash(question), retrieval_keywords=(), retrieval_mode=mode)
    return control.canonical()


def _check_window(members: JsonObject, at: str, before: _Snapshot, after: _Snapshot) -> None:
    if not before.captured_at <= instant(members["captured_at"], f"{at}/captured_at") <= after.captured_at:
        raise BlockedError(Failure.RESPONSE_OUTSIDE_WINDOW, f"{at}/captured_at")


def _plan(value: Any, at: str) -> RetrievalPlan:
    try:
        plan = RetrievalPlan.from_canonical(value)
        is_canonical = same_json(plan.canonical(), value)
    except (InputError, TypeError):
        raise BlockedError(Failure.RESPONSE_INVALID, at) from None
    if not is_canonical:
        raise BlockedError(Failure.RESPONSE_INVALID, at)
    return plan


def _are_keywords_of(plan: RetrievalPlan, keywords: Any) -> bool:
    """Whether the plan may have been searched with these; a policy may have left out those of its mode."""
    if not isinstance(keywords, list) or not all(isinstance(keyword, str) for keyword in keywords):
        return False
    is_unbound = not plan.retrieval_keywords and plan.retrieval_mode == FTS5_KEYWORDS
    return is_unbound or keywords == list(plan.retrieval_keywords)


def _result(value: Any, at: str) -> JsonObject:
    members = closed(value, at, _RESULT, Failure.RESPONSE_INVALID)
    listed = members["sources_summary"]
    if not isinstance(listed, list) or not all(map(_is_listed, listed)) or not is_digest(members["context_root"]):
        raise BlockedError(Failure.RESPONSE_INVALID, at)
    return members


def _is_listed(value: Any) -> bool:
    """Whether the value is an entry of a result that names a leaf of a document."""
    return isinstance(value, dict) and is_digest(value.get("document_root")) and is_digest(value.get("leaf_hash"))


def _run_dag(value: Any, at: str) -> RunDag:
    members = closed(value, at, ("nodes",), Failure.RESPONSE_INVALID)
    try:
        dag = RunDag.from_blob(canonical_json(members))
    except InputError:
        raise BlockedError(Failure.RESPONSE_INVALID, at) from None
    is_as_written = same_json([node.canonical() for node in dag.nodes], members["nodes"])
    if not is_as_written or dag.payloads().keys() != set(SHOWN_STAGES):
        raise BlockedError(Failure.RESPONSE_INVALID, at)
    return dag


def _has_key(dag: RunDag, key: str, members: JsonObject) -> bool:
    """Whether the run is the one of that cache key, whatever the policy binds in it."""
    try:
        return cache_key_domain(key, dag, members["retrieval_keywords"]) is not None
    except (InputError, TypeError):
        return False


def _evidence_and_citations(dag: RunDag, at: str) -> tuple[list[tuple[str, str]], list[int]]:
    """Document root and leaf of each item of the context, and the numbers that claims cite, with repeats."""
    payloads = dag.payloads()
    try:
        items = [(str(item["document_root"]), str(item["leaf_hash"])) for item in payloads["context"]["items"]]
        cited = [int(number) for claim in payloads["verify"]["claims"] for number in claim["citations"]]
    except (KeyError, TypeError, ValueError):
        raise BlockedError(Failure.RESPONSE_INVALID, at) from None
    return items, cited
