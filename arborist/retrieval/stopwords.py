"""Words that say nothing of a question's subject; left out of a search unless nothing else is left."""

ENGLISH_V1 = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each either else
    ever every few for from further get gets got had hadn has hasn have haven having he her here hers herself him
    himself his how i if in into is isn it its itself just ll m many may me might mightn more most much must mustn
    my myself need neither no nor not of off on once one only or other our ours ourselves out over own please re s
    same shall shan she should shouldn so some such t tell than that the their theirs them themselves then there
    these they this those through to too under until up upon us ve very was wasn we were weren what when where
    whether which while who whom whose why will with won would wouldn you your yours yourself yourselves
    """.split()  # noqa: SIM905
)
