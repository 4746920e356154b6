"""English words the verifier and the extractive model treat in a way of their own. Data, no rules.

A change here changes verdicts: raise `RULES_VERSION` in `verifier_policy.py` with it.
"""


def _words(text: str) -> list[str]:
    return text.split()


def _groups(text: str) -> list[list[str]]:
    return [group.split() for group in text.split("|")]


# Words that state nothing by themselves. Quantity, order, direction and modality are left out: they do.
FUNCTION_WORDS = frozenset(
    _words("""
    a an the this that these those there here it its itself he him his himself she her hers herself they them
    their theirs themselves we us our ours ourselves you your yours i me my mine who whom whose which what
    when where why how is are was were be been being am do does did done doing has have had having will shall
    of in on at by for with from to into onto upon as than then and or so such also too very just about within
    through via per both while whereas because since thus hence therefore however moreover furthermore
    additionally well yes s t d ll ve re m yet even still already if else etc own another each
    """)
)

# Words that carry a sentence without stating anything of their own: the evidence may put it without them.
LIGHT_WORDS = frozenset(
    _words("""
    but although though nonetheless nevertheless instead rather based given gave give context contexts information
    provided evidence accordingly source sources stated mentioned described considered regarded known
    named called termed titled referred located situated found including include includes
    included consist consists such various several certain particular particularly especially specifically
    specific currently current present actually really basically essentially generally simply explanation
    conclusion conclude addition reference hand sum summary example instance case fact type types kind kinds form
    forms way ways thing things person people approximately around roughly now today later then again like able
    want used use uses using name names title also place
    """)
)

# A sentence that opens with one of these may speak of what the title names.
SUBJECT_PRONOUNS = frozenset(_words("it its he his she her they their this these the"))

NEGATIONS = frozenset(
    _words("""
    not no never without neither nor none nobody nothing nowhere cannot fail fails failed failing lack lacks
    lacked lacking unable hardly scarcely barely rarely seldom absence absent refuse refuses refused denies
    deny denied denying
    """)
)

# A statement under one of these is not asserted by the text that holds it.
HEDGES = frozenset(
    _words("""
    according said says argued argues suggested suggests reported reports estimated proposes asserts asserted
    if unless whether may might could would should can perhaps possibly probably allegedly reportedly
    supposedly purportedly myth false falsely untrue hoax fictional rumor rumour rumored rumoured alleged
    allege alleges claim claims claimed claiming believe believes believed suspect suspected hypothesis
    hypothesize hypothesized doubt doubted doubtful unlikely speculate speculated speculation theory suppose
    supposed pretend pretended imagine wrongly mistakenly erroneously incorrectly planned intended hoped
    proposed attempted tried almost nearly
    """)
)

_MONTH_NAMES = _groups("""
    january jan | february feb | march mar | april apr | may | june jun | july jul | august aug |
    september sep sept | october oct | november nov | december dec
""")
MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names}

_UNITS_AND_TEENS = _words("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
""")
_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
SMALL_NUMBERS = {name: value for value, name in enumerate(_UNITS_AND_TEENS)} | {
    name: 10 * tens for tens, name in enumerate(_TENS, start=2)
}

SCALES = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_ORDINALS = _words("""
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
""")
ORDINALS = {name: value for value, name in enumerate(_ORDINALS, start=1)}

# Spellings of a unit after a number; the first of a group is what they are compared as.
_UNIT_SPELLINGS = _groups("""
    km kilometre kilometer kilometres kilometers | m metre meter metres meters |
    cm centimetre centimeter centimetres centimeters | mm millimetre millimeter millimetres millimeters |
    nm nanometre nanometer nanometres nanometers | mi mile miles | ft foot feet | yd yard yards |
    inch inches | kg kilogram kilograms kilogramme kilogrammes | g gram grams gramme grammes |
    mg milligram milligrams | lb lbs pound pounds | oz ounce ounces | t tonne tonnes | ton tons |
    l litre liter litres liters | ml millilitre milliliter millilitres milliliters | gal gallon gallons |
    ha hectare hectares | acre acres | s sec second seconds | ms millisecond milliseconds |
    min minute minutes | h hr hrs hour hours | day days | week weeks | month months | year years yr yrs |
    decade decades | century centuries | millennium millennia | % percent percentage pct |
    $ dollar dollars usd | € euro euros eur | £ gbp | °c celsius | °f fahrenheit | k kelvin |
    w watt watts | kw kilowatt kilowatts | mw megawatt megawatts | v volt volts | hz hertz |
    khz kilohertz | mhz megahertz | ghz gigahertz | kb kilobyte kilobytes | mb megabyte megabytes |
    gb gigabyte gigabytes | tb terabyte terabytes | bit bits | byte bytes | pa pascal pascals | mph | kmh |
    am | pm | bc bce | ad ce | degree degrees
""")
UNITS = {spelling: names[0] for names in _UNIT_SPELLINGS for spelling in names}

# Before a word they make its contrary: `known`, `unknown`.
NEGATING_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "mis")

# Inflected forms that no ending gives away, after the form they are compared as.
_IRREGULAR_FORMS = _groups("""
    arise arose arisen | be | bear bore borne born | beat beaten | become became | begin began begun |
    bend bent | bind bound | bite bit bitten | blow blew blown | break broke broken | bring brought |
    build built | buy bought | catch caught | choose chose chosen | come came | deal dealt | dig dug |
    draw drew drawn | drink drank drunk | drive drove driven | eat ate eaten | fall fell fallen |
    feed fed | feel felt | fight fought | find found | flee fled | fly flew flown |
    forbid forbade forbidden | forget forgot forgotten | freeze froze frozen | get got gotten |
    give gave given | go went gone | grow grew grown | hang hung | hear heard | hide hid hidden |
    hold held | keep kept | know knew known | lay laid | lead led | leave left | lend lent | lie lay lain |
    lose lost | make made | mean meant | meet met | pay paid | prove proven | ride rode ridden |
    ring rang rung | rise rose risen | run ran | say said | see saw seen | seek sought | sell sold |
    send sent | shake shook shaken | shine shone | shoot shot | show shown | sing sang sung |
    sink sank sunk | sit sat | sleep slept | speak spoke spoken | spend spent | stand stood |
    steal stole stolen | stick stuck | strike struck | swear swore sworn | sweep swept | swim swam swum |
    take took taken | teach taught | tear tore torn | tell told | think thought | throw threw thrown |
    understand understood | wake woke | wear wore worn | win won | wind wound | write wrote written |
    man men | woman women | child children | foot feet | tooth teeth | mouse mice | person people |
    life lives | wife wives | leaf leaves | half halves | wolf wolves | species | series | datum data |
    bacterium bacteria | criterion criteria | phenomenon phenomena | analysis analyses | crisis crises |
    basis bases | axis axes | thesis theses | hypothesis hypotheses | virus viruses
""")
IRREGULAR = {form: forms[0] for forms in _IRREGULAR_FORMS for form in forms}

# Pairs of which one word turns a statement into its opposite.
OPPOSITES = _groups("""
    increase decrease | increase reduce | rise fall | raise lower | gain lose | more less | more fewer |
    most least | high low | higher lower | highest lowest | large small | larger smaller |
    largest smallest | big small | great small | long short | longer shorter | longest shortest | old new |
    old young | older newer | older younger | oldest youngest | oldest newest | early late |
    earlier later | earliest latest | first last | before after | above below | over under | up down |
    north south | east west | northern southern | eastern western | left right | inside outside |
    internal external | inner outer | upper lower | maximum minimum | begin end | start end |
    start finish | open close | win lose | victory defeat | defeat lose | accept reject | approve reject |
    allow forbid | allow prohibit | permit prohibit | enable prevent | cause prevent | promote inhibit |
    promote suppress | activate inhibit | activate suppress | induce inhibit | induce suppress |
    enhance reduce | enhance inhibit | stimulate inhibit | upregulate downregulate | positive negative |
    good bad | better worse | best worst | strong weak | stronger weaker | hard soft | hot cold |
    warm cool | warmer cooler | fast slow | faster slower | rich poor | richer poorer | cheap expensive |
    true false | right wrong | correct incorrect | legal illegal | possible impossible | common rare |
    frequent rare | public private | male female | man woman | king queen | father mother | son daughter |
    brother sister | husband wife | boy girl | buy sell | import export | import sell | include exclude |
    join leave | enter leave | arrive depart | attack defend | support oppose | agree disagree |
    love hate | create destroy | build destroy | born die | alive dead | birth death | dark light |
    dry wet | full empty | major minor | majority minority | many few | all none | all some | every some |
    always never | always sometimes | everyone nobody | everything nothing | present absent |
    remember forget | succeed fail | success failure | safe dangerous | simple complex | easy difficult |
    ancient modern | rural urban | domestic foreign | military civilian | offensive defensive |
    ascending descending | expand contract | expand shrink | advance retreat | friend enemy | ally enemy |
    guilty innocent | acid base | solid liquid | optimistic pessimistic | benefit harm |
    beneficial harmful | protect harm | protect endanger | improve worsen | strengthen weaken |
    widen narrow | wide narrow | thick thin | deep shallow | heavy light | near far | visible invisible |
    voluntary mandatory | optional mandatory | optional required | temporary permanent | add remove |
    add subtract | connect disconnect | employ dismiss | hire fire | love despise | day night |
    summer winter | morning evening | teacher student | parent child | stable unstable |
    sensitive resistant | sensitivity resistance | susceptible resistant | homozygous heterozygous |
    benign malignant | acute chronic | exclusive inclusive | similar different | same different |
    equal unequal | conservative liberal | separate unite | divide unite | asleep awake | gradual sudden |
    direct indirect | partial complete | partly completely | encourage discourage | praise criticize |
    ignore notice | reveal hide | reveal conceal | show hide | natural artificial | horizontal vertical |
    absolute relative | formal informal | active passive | only also
""")
