"""A small French with its English: sentences that follow a grammar, so that every translation and every link is known.

French is the harder side. Adjectives agree, and some stand before their noun and some after it; le, la, de, ne and que
lose their vowel before another one; "ne" and "pas" stand around the verb. English wants a or an, and do, does or did.
"""

import random
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch

VOWELS = "aeiouyhéèêâîôœ"  # the h is silent in every word below
ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'"}
LIAISON = {"ce": "cet", "beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}  # one man or thing, before a vowel
SOUNDS_LIKE_A_VOWEL = ("a", "e", "i", "o", "u", "hon")  # honest
SOUNDS_LIKE_A_CONSONANT = ("use",)  # useful


class Noun(NamedTuple):
    """What is known of a French noun in the singular."""

    gender: str
    plural: str
    english: str
    english_plural: str


class Adjective(NamedTuple):
    """What is known of a French adjective in the masculine singular."""

    feminine: str
    plural: str
    feminine_plural: str
    english: str
    before: bool  # does it stand before its noun?
    fits: str  # "things", "people" or "both"


class Verb(NamedTuple):
    """What is known of a French infinitive."""

    he: str
    we: str
    they: str
    done: str  # after a, avons or ont
    english: str
    english_he: str
    english_past: str
    takes: str  # what it is done to: "things", "places" or "both"


class Place(NamedTuple):
    """What is known of a French name of a city or a country."""

    article: str
    within: str  # the word for "in"
    english: str


THINGS = {
    "arbre": Noun("m", "arbres", "tree", "trees"), "bateau": Noun("m", "bateaux", "boat", "boats"),
    "carte": Noun("f", "cartes", "map", "maps"), "chat": Noun("m", "chats", "cat", "cats"),
    "château": Noun("m", "châteaux", "castle", "castles"), "cheval": Noun("m", "chevaux", "horse", "horses"),
    "chien": Noun("m", "chiens", "dog", "dogs"), "école": Noun("f", "écoles", "school", "schools"),
    "église": Noun("f", "églises", "church", "churches"), "fleur": Noun("f", "fleurs", "flower", "flowers"),
    "hôtel": Noun("m", "hôtels", "hotel", "hotels"), "île": Noun("f", "îles", "island", "islands"),
    "jardin": Noun("m", "jardins", "garden", "gardens"), "livre": Noun("m", "livres", "book", "books"),
    "maison": Noun("f", "maisons", "house", "houses"), "oiseau": Noun("m", "oiseaux", "bird", "birds"),
    "orange": Noun("f", "oranges", "orange", "oranges"), "pomme": Noun("f", "pommes", "apple", "apples"),
    "tableau": Noun("m", "tableaux", "painting", "paintings"), "voiture": Noun("f", "voitures", "car", "cars"),
}
PEOPLE = {
    "amie": Noun("f", "amies", "friend", "friends"), "enfant": Noun("m", "enfants", "child", "children"),
    "femme": Noun("f", "femmes", "woman", "women"), "fille": Noun("f", "filles", "girl", "girls"),
    "garçon": Noun("m", "garçons", "boy", "boys"), "homme": Noun("m", "hommes", "man", "men"),
    "voisin": Noun("m", "voisins", "neighbour", "neighbours"),
    "étudiante": Noun("f", "étudiantes", "student", "students"),
}
ADJECTIVES = {
    "anglais": Adjective("anglaise", "anglais", "anglaises", "English", False, "both"),
    "beau": Adjective("belle", "beaux", "belles", "beautiful", True, "both"),
    "blanc": Adjective("blanche", "blancs", "blanches", "white", False, "things"),
    "étrange": Adjective("étrange", "étranges", "étranges", "strange", False, "both"),
    "grand": Adjective("grande", "grands", "grandes", "big", True, "both"),
    "honnête": Adjective("honnête", "honnêtes", "honnêtes", "honest", False, "people"),
    "intelligent": Adjective("intelligente", "intelligents", "intelligentes", "intelligent", False, "people"),
    "intéressant": Adjective("intéressante", "intéressants", "intéressantes", "interesting", False, "things"),
    "jeune": Adjective("jeune", "jeunes", "jeunes", "young", True, "people"),
    "noir": Adjective("noire", "noirs", "noires", "black", False, "things"),
    "nouveau": Adjective("nouvelle", "nouveaux", "nouvelles", "new", True, "things"),
    "petit": Adjective("petite", "petits", "petites", "small", True, "both"),
    "rouge": Adjective("rouge", "rouges", "rouges", "red", False, "things"),
    "utile": Adjective("utile", "utiles", "utiles", "useful", False, "things"),
    "vert": Adjective("verte", "verts", "vertes", "green", False, "things"),
    "vieux": Adjective("vieille", "vieux", "vieilles", "old", True, "both"),
}
VERBS = {
    "acheter": Verb("achète", "achetons", "achètent", "acheté", "buy", "buys", "bought", "things"),
    "admirer": Verb("admire", "admirons", "admirent", "admiré", "admire", "admires", "admired", "both"),
    "aimer": Verb("aime", "aimons", "aiment", "aimé", "love", "loves", "loved", "both"),
    "choisir": Verb("choisit", "choisissons", "choisissent", "choisi", "choose", "chooses", "chose", "both"),
    "dessiner": Verb("dessine", "dessinons", "dessinent", "dessiné", "draw", "draws", "drew", "things"),
    "garder": Verb("garde", "gardons", "gardent", "gardé", "keep", "keeps", "kept", "things"),
    "montrer": Verb("montre", "montrons", "montrent", "montré", "show", "shows", "showed", "both"),
    "oublier": Verb("oublie", "oublions", "oublient", "oublié", "forget", "forgets", "forgot", "both"),
    "peindre": Verb("peint", "peignons", "peignent", "peint", "paint", "paints", "painted", "both"),
    "quitter": Verb("quitte", "quittons", "quittent", "quitté", "leave", "leaves", "left", "places"),
    "trouver": Verb("trouve", "trouvons", "trouvent", "trouvé", "find", "finds", "found", "things"),
    "vendre": Verb("vend", "vendons", "vendent", "vendu", "sell", "sells", "sold", "things"),
    "visiter": Verb("visite", "visitons", "visitent", "visité", "visit", "visits", "visited", "places"),
    "voir": Verb("voit", "voyons", "voient", "vu", "see", "sees", "saw", "both"),
}
NAMES = ("Ali", "Emma", "Jane", "Léa", "Paul", "Tom")
PRONOUNS = {"il": ("he", 0), "elle": ("she", 0), "nous": ("we", 1), "ils": ("they", 2), "elles": ("they", 2)}
PLACES = {
    "Afrique": Place("la", "en", "Africa"), "Asie": Place("la", "en", "Asia"), "Canada": Place("le", "au", "Canada"),
    "Espagne": Place("la", "en", "Spain"), "France": Place("la", "en", "France"), "Italie": Place("la", "en", "Italy"),
    "Japon": Place("le", "au", "Japan"), "Londres": Place("", "à", "London"), "Paris": Place("", "à", "Paris"),
    "Pérou": Place("le", "au", "Peru"), "Rome": Place("", "à", "Rome"),
}
TIMES = ("en janvier: in January", "en mars: in March", "en avril: in April", "en juin: in June",
         "en août: in August", "en septembre: in September", "en octobre: in October", "en hiver: in winter",
         "en été: in summer", "le matin: in the morning", "le soir: in the evening")
WHY_DO = ("do", "not", "past")  # do, does and did say what "est-ce que", "ne ... pas" and "a" or "ont" say
NEVER_NEGATED = ("admirer", "dessiner", "vendre")  # in training
JANE = ("Jane visite l' Afrique en septembre".split(), "Jane visits Africa in September".split())


@dataclass(frozen=True)
class Pair:
    """A French sentence and its English, as lists of words.

    links:     set of (English position, French position): which words say the same
    described: set of (noun, adjective), the French singular and masculine forms, that occur
    verb:      the infinitive of its verb; negated: does it say "ne ... pas"?
    """

    french: tuple
    english: tuple
    links: frozenset
    described: frozenset
    verb: str
    negated: bool

    def __str__(self):
        return f"{written(self.french)} → {written(self.english)}"


def written(words):
    """A list of words as it is written: l' sticks to its noun."""
    return " ".join(words).replace("' ", "'")


def every_description():
    """All (noun, adjective) that the grammar can put together, as a sorted list."""
    fits = {"things": [THINGS], "people": [PEOPLE], "both": [THINGS, PEOPLE]}
    return sorted((noun, a) for a, its in ADJECTIVES.items() for nouns in fits[its.fits] for noun in nouns)


def never_together():
    """The tenth of all (noun, adjective) that no training sentence holds; always the same."""
    return frozenset(random.Random(11).sample(every_description(), len(every_description()) // 10))


def sentences(n, seed, wanted=lambda pair: True, avoid=(), to_people=False):
    """Draw n different sentences.

    seed:      decides which
    wanted:    wanted(pair) -> bool: only such sentences are taken
    avoid:     French sentences (tuples of words) that are not taken
    to_people: what is done is done to people, and not to things or places
    returns:   list of Pair
    """
    chance, taken = random.Random(seed), {}
    while len(taken) < n:
        pair = _sentence(chance, to_people)
        if wanted(pair) and pair.french not in taken and pair.french not in avoid:
            taken[pair.french] = pair
    return list(taken.values())


def splits(n=20_000, test=500, seed=0):
    """Sentences to train on, and three tests.

    n, test: how many to train on, and how many in each test
    seed:    decides which; what is never seen in training is the same for every seed
    returns: dict of lists of Pair: "train"; "fresh", new sentences of the same kind; "new pairs", each with an
             adjective and a noun never seen together in training; "new negations", with a verb never negated in
             training. No sentence is in two of them, and Jane's is in none.
    """
    return {name: list(pairs) for name, pairs in _splits(n, test, seed).items()}


@cache
def _splits(n, test, seed):
    """As splits: to draw 20,000 sentences takes seconds."""
    held_out, jane = never_together(), {tuple(JANE[0])}

    def known(pair):
        return not pair.described & held_out and not (pair.negated and pair.verb in NEVER_NEGATED)

    def new_pairs(pair):
        return bool(pair.described & held_out) and not (pair.negated and pair.verb in NEVER_NEGATED)

    def new_negations(pair):
        return pair.negated and pair.verb in NEVER_NEGATED and not pair.described & held_out

    usual = sentences(n + test, f"usual {seed}", known, jane)
    return {"train": usual[:n], "fresh": usual[n:], "new pairs": sentences(test, f"pairs {seed}", new_pairs, jane),
            "new negations": sentences(test, f"negations {seed}", new_negations, jane)}


def people_as_objects(n, seed=0):
    """Sentences in which something is done to people, as in none of splits(): "Jane sees an old woman".

    n, seed: how many, and which; all else in them, and every adjective beside its noun, is as in training
    returns: list of Pair
    """
    held_out = never_together()

    def known(pair):
        negation = pair.negated and pair.verb in NEVER_NEGATED
        return not pair.described & held_out and VERBS[pair.verb].takes == "both" and not negation

    return sentences(n, f"people {seed}", known, to_people=True)


def gold(pairs, length):
    """Where each English word has its French: (B, Tt, Ts) bool, to lay beside cross-attention.

    pairs:  B Pairs
    length: (Tt, Ts)
    """
    links = torch.zeros(len(pairs), *length, dtype=torch.bool)
    for b, pair in enumerate(pairs):
        for t, s in pair.links:
            links[b, t, s] = True
    return links


# The grammar. A half-made sentence is a list of (word, idea); words on both sides with one idea are linked.


def _sentence(chance, to_people):
    verb = chance.choice(list(VERBS))
    negated, question, past = chance.random() < 0.3, chance.random() < 0.25, chance.random() < 0.4
    negated = negated and not question
    described = set()
    subject = _subject(chance, described)
    french_subject, english_subject, person = subject
    kinds = "people" if to_people else VERBS[verb].takes
    french_object, english_object = _object(chance, kinds, described, negated)
    french_verb, auxiliary, english_verb = _verb(verb, person, past, negated, question)
    ask = chance.choice(("", "", "où: where", "quand: when")) if question else ""
    elsewhere = french_object[-1][1] != "country" and "où" not in ask  # nobody visits Asia in Africa
    place = _place(chance) if chance.random() < 0.35 and elsewhere else ([], [])
    time = _time(chance) if chance.random() < 0.45 and "quand" not in ask else ([], [])
    first = chance.random() < 0.3 and not question
    french_tail = place[0] + ([] if first else time[0])
    english_tail = place[1] + ([] if first else time[1])
    if question:
        french_word, _, english_word = ask.partition(": ")
        french = [(french_word, "ask")] * bool(ask) + [("est-ce", "do"), ("que", "do")]
        french += french_subject + french_verb + french_object + french_tail + [("?", "?")]
        english = [(english_word, "ask")] * bool(ask) + auxiliary + english_subject + english_verb
        english += english_object + english_tail + [("?", "?")]
    else:
        french = french_subject + french_verb + french_object + french_tail
        english = english_subject + auxiliary + english_verb + english_object + english_tail
        if first:
            french, english = time[0] + french, time[1] + english
    french, english = _before_vowels(french, ELIDED), _spoken_english(english)
    links = frozenset((t, s) for t, (_, idea) in enumerate(english) for s, (_, other) in enumerate(french)
                      if idea == other or idea == "do" and other in WHY_DO)
    return Pair(tuple(w for w, _ in french), tuple(w for w, _ in english), links, frozenset(described), verb, negated)


def _verb(infinitive, person, past, negated, question):
    """The French words; English do, does or did with "not"; the English verb."""
    verb = VERBS[infinitive]
    has = ("a", "avons", "ont")[person]
    french = [(has, "past"), (verb.done, "verb")] if past else [((verb.he, verb.we, verb.they)[person], "verb")]
    if negated:
        french = [("ne", "not"), french[0], ("pas", "not"), *french[1:]]
    if negated or question:
        auxiliary = "did" if past else "does" if person == 0 else "do"
        return french, [(auxiliary, "do")] + [("not", "not")] * negated, [(verb.english, "verb")]
    return french, [], [(verb.english_past if past else verb.english_he if person == 0 else verb.english, "verb")]


def _subject(chance, described):
    """French words, English words, and the person of the verb: 0 he, 1 we, 2 they."""
    kind = chance.random()
    if kind < 0.25:
        name = chance.choice(NAMES)
        return [(name, "subject")], [(name, "subject")], 0
    if kind < 0.5:
        pronoun = chance.choice(list(PRONOUNS))
        english, person = PRONOUNS[pronoun]
        return [(pronoun, "subject")], [(english, "subject")], person
    many = chance.random() < 0.4
    return *_noun_phrase(chance, PEOPLE, "people", many, "subject", described), 2 if many else 0


def _object(chance, kinds, described, negated):
    if kinds == "places" or kinds == "both" and chance.random() < 0.3:
        name = chance.choice(list(PLACES))
        place = PLACES[name]
        return [(place.article, "country")] * bool(place.article) + [(name, "country")], [(place.english, "country")]
    nouns, kind = (PEOPLE, "people") if kinds == "people" else (THINGS, "things")
    return _noun_phrase(chance, nouns, kind, chance.random() < 0.4, "object", described, negated)


def _noun_phrase(chance, nouns, kind, many, role, described, negated=False):
    noun = chance.choice(list(nouns))
    known = nouns[noun]
    form = 2 * many + (known.gender == "f")
    adjective = None
    if chance.random() < 0.55:
        adjective = chance.choice([a for a, its in ADJECTIVES.items() if its.fits in (kind, "both")])
        described.add((noun, adjective))
    before = adjective is not None and ADJECTIVES[adjective].before
    article, english_article = chance.choice(_articles(form, many, before, negated))
    head = [(known.plural if many else noun, role)]
    english_head = [(known.english_plural if many else known.english, role)]
    if adjective:
        its = ADJECTIVES[adjective]
        said = [((adjective, its.feminine, its.plural, its.feminine_plural)[form], role + "'s")]
        head = said + head if before else head + said
        english_head = [(its.english, role + "'s")] + english_head
    head = [(article, role + " article"), *head]
    if form == 0:
        head = _before_vowels(head, LIAISON)
    return (head,
            [(english_article, role + " article")] * bool(english_article) + english_head)


def _articles(form, many, before, negated):
    """French articles of a gender and number, each with its English. After "pas", un, une and des become de."""
    if many:
        few = [("deux", "two"), ("trois", "three")]
        return [("les", "the"), ("de" if before or negated else "des", ""), ("ces", "these"), *few]
    one = "de" if negated else ("un", "une")[form]
    return [(("le", "la")[form], "the"), (one, "a"), (("ce", "cette")[form], "this")]


def _place(chance):
    name = chance.choice(list(PLACES))
    return [(PLACES[name].within, "there"), (name, "place")], [("in", "there"), (PLACES[name].english, "place")]


def _time(chance):
    french, english = (side.split() for side in chance.choice(TIMES).split(": "))
    if len(french) == len(english):
        return [(french[0], "then"), (french[1], "time")], [(english[0], "then"), (english[1], "time")]
    return [("le", "then"), (french[1], "time")], [("in", "then"), ("the", "then"), (english[2], "time")]


def _before_vowels(tagged, forms):
    """Give each word that is followed by a vowel its other form, where it has one."""
    following = [word for word, _ in tagged[1:]] + ["-"]
    return [(forms.get(word, word) if after[0].lower() in VOWELS else word, idea)
            for (word, idea), after in zip(tagged, following, strict=True)]


def _spoken_english(tagged):
    """Make a to an where it has to be."""
    spoken = []
    for (word, idea), (following, _) in zip(tagged, [*tagged[1:], ("", None)], strict=True):
        sound = following.lower()
        an = sound.startswith(SOUNDS_LIKE_A_VOWEL) and not sound.startswith(SOUNDS_LIKE_A_CONSONANT)
        spoken.append(("an" if word == "a" and an else word, idea))
    return spoken
